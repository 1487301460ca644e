"""`load`: a prepared data set, split and standardised."""

import contextlib
import os
import sys
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from keras_softsets._checks import check_flag
from keras_softsets.datasets._catalog import lookup
from keras_softsets.datasets._data_set import DataSet, Description, check_counts
from keras_softsets.datasets._files import RAW_DIR_VARIABLE
from keras_softsets.datasets._splits import fit_scaling, pipeline, stratified_indices

_VALIDATION, _TEST = 0.16, 0.20
_VALIDATION_OF_CIFAR10 = 0.20
_BATCH_OF_ROWS, _BATCH_OF_IMAGES = 1024, 128  # the paper's


class Splits(NamedTuple):
    """The three parts of a data set, each `(x, y)` or a `tf.data.Dataset` of such batches."""

    train: Any
    validation: Any
    test: Any


def load(
    name: str,
    seed: int = 0,
    raw_dir: str | os.PathLike[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    as_numpy: bool = True,
    *,
    batch_size: int | None = None,
    distinct: bool = False,
) -> Splits:
    """Loads a data set, ready to train on.

    Tables are split at random into 64 % training, 16 % validation and 20 % test data. For CIFAR-10, the official test
    set is the test part, and the 50,000 training images are split into 40,000 and 10,000. Splits are stratified by the
    label, or for CIFAR-10 by its ten classes: each stratum is divided in the same proportions (rounded to whole
    samples). They depend only on the data and `seed`; both CIFAR-10 tasks get the same split. The unit is the row, as
    in the paper, so rows that occur twice in the original (a third of mammography's, for instance) can be in two parts.

    Every feature, or colour channel of an image, is then centred and scaled to unit variance with the mean and the
    standard deviation of the *training* part.

    The first call downloads the official files or reads them from `raw_dir`, checks them against their published
    digests and prepares them with TensorFlow Datasets, which takes from seconds to about a minute. Later calls read
    the prepared data. An interrupted preparation leaves nothing behind that a later call would read. Without a network,
    a `ConnectionError` names the official files within seconds.

    Args:
        name: One of the names that `describe` lists.
        seed: Decides which sample goes where, and how pipelines shuffle. Defaults to `0`.
        raw_dir: Folder with the raw files under their own names, plain, `.gz` or `.xz`, either directly or in a folder
            for each data set (`adult/adult.data`). If given, nothing is downloaded. Defaults to the environment
            variable `KERAS_SOFTSETS_RAW_DIR`, and without it to a download. `"wine_quality"` comes with the package
            and needs neither.
        data_dir: Folder for the prepared data. Defaults to that of TensorFlow Datasets, `~/tensorflow_datasets`.
        as_numpy: Whether to return arrays instead of `tf.data` pipelines. Defaults to `True`.
        batch_size: Samples in a batch of a pipeline. Defaults to the paper's: `1024` for tables, `128` for images.
        distinct: Whether to keep one sample of those with equal features, in the test part if one of them is there,
            otherwise in the validation part. Defaults to `False`.

    Returns:
        A named tuple with the fields `train`, `validation` and `test`. As arrays, each is `(x, y)`: `x` is float32 of
        shape `(samples, features)` or `(samples, 32, 32, 3)`; `y` has shape `(samples,)` and is float32, 1 for
        positive, or with more than two classes int32, the class id. As pipelines, each is a `tf.data.Dataset` of such
        batches; the training part is reshuffled in every epoch.

    Examples:
        >>> train, validation, test = load("synthetic_05")
        >>> [x.shape for x, y in (train, validation, test)]
        [(3360, 3), (840, 3), (1050, 3)]
        >>> int(train[1].sum())
        160
    """
    facts = lookup(name).facts
    _check_arguments(seed, as_numpy, batch_size, distinct)
    builder = _prepare(name, raw_dir, data_dir)
    parts = _read(builder, seed)
    _check_prepared(facts, parts, builder.data_dir)
    parts = _without_copies(parts) if distinct else parts
    scaling = fit_scaling(parts.train[0])
    if as_numpy:
        return Splits(*((scaling.apply(x), y) for x, y in parts))
    size = batch_size or (_BATCH_OF_ROWS if parts.train[0].ndim == 2 else _BATCH_OF_IMAGES)
    return Splits(
        pipeline(parts.train, scaling, size, shuffle_seed=seed),
        pipeline(parts.validation, scaling, size),
        pipeline(parts.test, scaling, size),
    )


def _check_arguments(seed: int, as_numpy: bool, batch_size: int | None, distinct: bool) -> None:
    check_flag("distinct", distinct)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed < 2**32:
        raise ValueError(f"`seed` must be an integer from 0 to 2**32 - 1. Received: seed={seed!r}")
    if batch_size is None:
        return
    if isinstance(batch_size, bool) or not isinstance(batch_size, Integral) or batch_size < 1:
        raise ValueError(f"`batch_size` must be a positive integer or None. Received: batch_size={batch_size!r}")
    if as_numpy:
        raise ValueError(f"`batch_size` must be None unless as_numpy=False. Received: batch_size={batch_size!r}")


def _prepare(name: str, raw_dir: str | os.PathLike[str] | None, data_dir: str | os.PathLike[str] | None) -> Any:
    """Returns the builder of a prepared data set."""
    try:
        from keras_softsets.datasets._tfds import FAILED_DOWNLOAD, short_of_patience
        from keras_softsets.datasets.builders import BUILDERS
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'`load` needs the package {error.name}; install it with pip install "keras-softsets[datasets]".'
        ) from error

    builder = BUILDERS[name](data_dir=data_dir, raw_dir=raw_dir)
    try:
        # TFDS prints its messages; they belong beside its progress bars.
        with contextlib.redirect_stdout(sys.stderr), short_of_patience():
            builder.download_and_prepare()
    except FAILED_DOWNLOAD as error:
        raise ConnectionError(_not_downloaded(builder.data_set, error)) from None
    except OSError:
        # Another process may have finished the same preparation in the meantime; its content passed the same checks.
        if not builder.data_path.exists():
            raise
        builder = BUILDERS[name](data_dir=data_dir, raw_dir=raw_dir)
    return builder


def _not_downloaded(data_set: DataSet[Any], error: Exception) -> str:
    files = " and ".join(f"{' or '.join(file.names)} from {file.url}" for file in data_set.source.files)
    # What an answering server says is short; what `requests` says without one is its whole history.
    reason = f"no connection, {type(error).__name__}" if isinstance(error, OSError) else str(error).rstrip(".")
    return (
        f"The official files of {data_set.facts.name} could not be downloaded ({reason}): get {files}, and pass the "
        f"folder as `raw_dir` or name it in {RAW_DIR_VARIABLE}."
    )


def _read(builder: Any, seed: int) -> Splits:
    import tensorflow as tf

    split = _split_table if "features" in builder.info.features else _split_images
    damage = (tf.errors.DataLossError, tf.errors.NotFoundError, tf.errors.InvalidArgumentError, IndexError)
    try:
        parts = split(builder, seed)
    except damage as error:
        raise ValueError(f"{_damaged(builder.data_dir)} {error}") from error
    # Binary labels have the dtype of predictions, since losses compute with both; class ids have that of Keras's own.
    dtype = "float32" if builder.data_set.facts.classes == 2 else "int32"
    return Splits(*((x, y.astype(dtype)) for x, y in parts))


def _split_table(builder: Any, seed: int) -> Splits:
    tables = [builder.read(split) for split in builder.info.splits]
    x, y = (np.concatenate([table[key] for table in tables]) for key in ("features", "label"))
    return Splits(*((x[part], y[part]) for part in stratified_indices(y, (_VALIDATION, _TEST), seed)))


def _split_images(builder: Any, seed: int) -> Splits:
    train, test = (builder.read(split) for split in ("train", "test"))
    x, y = train["image"], train["label"]
    strata = train[f"{builder.data_set.source.original}_label"]
    kept, validation = stratified_indices(strata, (_VALIDATION_OF_CIFAR10,), seed)
    return Splits((x[kept], y[kept]), (x[validation], y[validation]), (test["image"], test["label"]))


def _without_copies(parts: Splits) -> Splits:
    """Returns the parts without samples whose features occur before, where the test part comes first."""
    seen: set[bytes] = set()
    kept = []
    for x, y in reversed(parts):
        new = []
        for row in map(np.ndarray.tobytes, x):
            new.append(row not in seen)
            seen.add(row)
        kept.append((x[new], y[new]))
    return Splits(*reversed(kept))


def _check_prepared(expected: Description, parts: Splits, data_dir: str) -> None:
    labels = np.concatenate([y for _, y in parts])
    check_counts(expected, labels, f"{_damaged(data_dir)} they")


def _damaged(data_dir: str) -> str:
    return f"The prepared data in {data_dir} are damaged; delete the folder and load again:"
