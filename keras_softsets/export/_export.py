"""A classifier for production: the model, its threshold and its label in one SavedModel, laid out for TF Serving."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from keras_softsets._backend import require_tensorflow
from keras_softsets._checks import check_folder
from keras_softsets.decisions._decision import DecisionLike
from keras_softsets.export._classifier import as_classifier
from keras_softsets.export._files import check_version, flush, publish, write_warmup
from keras_softsets.export._signature import Inputs, inputs_of

if TYPE_CHECKING:
    import tensorflow as tf


def trace(classifier: keras.Model, inputs: Inputs) -> Any:
    """Returns the function from named tensors to `probability` and `label`."""
    import tensorflow as tf

    def serve(tensors: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return classifier(inputs.packed(tensors), training=False)

    def traced(any_batch_size: bool) -> Any:
        specs = inputs.specs(any_batch_size=any_batch_size)
        function = tf.function(serve, input_signature=[specs], autograph=False)
        function.get_concrete_function()
        return function

    if is_stateful(classifier):  # it would accept any batch size and fail on most
        return traced(any_batch_size=False)
    try:
        return traced(any_batch_size=True)
    except Exception:
        if not inputs.declare_batch_size():
            raise
        return traced(any_batch_size=False)


def is_stateful(model: keras.Model) -> bool:
    """Returns whether a layer keeps a state with a fixed number of rows from one batch to the next."""
    # Keras 3 has no public name for all layers, including those in wrappers and in models.
    return any(getattr(layer, "stateful", False) for layer in model._flatten_layers())


def check_probabilities(probability: tf.Tensor) -> None:
    """Raises if the model's answers to an example cannot be probabilities."""
    values = probability.numpy()
    if not np.all((values >= -1e-6) & (values <= 1 + 1e-6)):  # an average of probabilities can be 1.0000001
        raise ValueError(
            "`model` must answer `warmup` with probabilities; for logits, pass from_logits=True. "
            f"Received: outputs from {values.min():g} to {values.max():g}"
        )


def export_classifier(
    model: keras.Model,
    path: str | bytes | os.PathLike[str],
    threshold: DecisionLike = 0.5,
    version: int | None = None,
    *,
    from_logits: bool = False,
    warmup: Any = None,
    shift: float | Sequence[float] = 0.0,
) -> pathlib.Path:
    """Writes `path/<version>/`, a SavedModel that answers with probabilities and with labels.

    Its signature `serving_default` returns `probability` (float32) and `label` (int32), both of the shape of the
    model's output, where `label` is 1 if `probability >= threshold` in float32, as in `keras_softsets.metrics`. With
    `threshold="argmax"`, or an `Argmax` with offsets, the label is the id of the class that wins, without the output's
    last axis. Neither Keras nor keras_softsets is needed to load it.

    The inputs keep their names:

    * They are those of the model's `Input` layers, or the keys if it takes a dictionary. If a key holds a list
      (`{"u": [a, b]}`), the names are those of the `Input` layers, or else `u_0` and `u_1`.
    * Inputs that only Keras has named (`keras_tensor_3`) are called `inputs`, or `inputs_0`, `inputs_1` and so on if
      there are several.
    * Characters other than letters, digits and `_` become `_`. Names that Python (`class`, `1x`) or TensorFlow (`_x`)
      refuses as the name of an argument get the prefix `input_`.
    * A subclassed model declares no inputs: it gets float32 inputs of the shapes it was built with. To say more, wrap
      it: `keras.Model(inputs, model(inputs))`.

    Batches may have any size, unless the model needs the size that its `Input` layers declare, as stateful layers do.
    Such layers keep their state from one request to the next, in the server as in Keras.

    The version appears by a single rename of a finished and flushed folder. A server that watches `path` never sees
    half of it, and exports that run at the same time get different versions. A crash can leave a hidden folder
    `.export-*` in `path`, which servers ignore and which may be deleted.

    Args:
        model: A functional, sequential or subclassed model with one output; it must be built.
        path: Local folder that holds the versions, created if needed.
        threshold: A number in [0, 1], or inf, which is never reached; `PerClass([...])` for each class (the last axis
            of the output); `"argmax"`, or an `Argmax` with offsets; or what `tune_threshold` returns. Defaults to
            `0.5`.
        version: Number of the version. Defaults to `None`: one more than the highest that exists, starting with 1.
        from_logits: Whether the model's output needs a sigmoid, or with the argmax a softmax, to become a probability.
            Defaults to `False`, which is refused for a functional or sequential model that ends in a linear layer.
        warmup: A batch of inputs as the model takes them, which TF Serving answers before it reports the version as
            ready: `assets.extra/tf_serving_warmup_requests`. The model must answer it with probabilities, which also
            detects logits that the layers do not reveal. Defaults to `None`: no request.
        shift: A number, or one for each class, that is taken off the logit of `probability`, as in `as_classifier`:
            `GuidedCrossentropy.shift()` makes it calibrated. The label stays as it is. Defaults to `0.0`.

    Returns:
        The folder of the new version.

    Raises:
        ValueError: If an argument is not as described.
        FileExistsError: If `version` exists. Nothing is ever overwritten.

    Examples:
        >>> import tensorflow as tf
        >>> model = keras.Sequential([keras.Input((2,), name="x"), keras.layers.Dense(1, kernel_initializer="ones")])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     served = tf.saved_model.load(export_classifier(model, folder, threshold=0.7, from_logits=True))
        >>> answer = served.signatures["serving_default"](x=tf.constant([[0.0, 0.0], [1.0, 0.0]]))
        >>> [f"{p:.4f}" for p in answer["probability"].numpy().ravel()], answer["label"].numpy().ravel().tolist()
        (['0.5000', '0.7311'], [0, 1])

    Reference:
        [TF Serving's REST API](https://www.tensorflow.org/tfx/serving/api_rest).
    """
    require_tensorflow("export_classifier, which writes a SavedModel,")
    folder = check_folder("path", path)
    check_version(folder, version)
    classifier, inputs = as_classifier(model, threshold, shift, from_logits=from_logits), inputs_of(model)
    serve = trace(classifier, inputs)
    example = None if warmup is None else _example(model, inputs, serve, warmup)
    archive = keras.export.ExportArchive()
    archive.track(classifier)  # for lookup tables; variables would be found anyway
    archive.add_endpoint("serving_default", serve)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=folder) as temporary:
        finished = pathlib.Path(temporary) / "model"  # not the temporary folder itself, which is private (0700)
        archive.write_out(finished, verbose=False)
        if example is not None:
            write_warmup(finished, folder.absolute().name, example)
        flush(finished)
        return publish(finished, folder, version)


def _example(model: keras.Model, inputs: Inputs, serve: Any, warmup: Any) -> dict[str, tf.Tensor]:
    """Returns the server's warm-up request, after trying it on the model itself."""
    if is_stateful(model):
        raise ValueError(
            "`warmup` must be None for a model with stateful layers, because each request changes its later answers. "
            f"Received: model={model.name!r}"
        )
    (specs,) = serve.input_signature
    example = inputs.unpacked(warmup, specs)
    check_probabilities(serve(example)["probability"])
    return example
