"""What several test files need: named losses and metrics, batches, scikit-learn's scores, gradients, pairs of cases."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops
from sklearn import metrics as sk

from keras_softsets import LinearHeaviside, SigmoidHeaviside, TabulatedHeaviside, scores
from keras_softsets.losses import PAPER_THRESHOLDS, NamedLoss
from keras_softsets.metrics import NamedMetric

_BACKEND = keras.config.backend()
of_tensorflow = pytest.mark.skipif(_BACKEND != "tensorflow", reason="graphs and XLA are TensorFlow's")


def digits(rtol):
    """The tolerance of operations outside of the package, where JAX has no float64."""
    return 1e-5 if _BACKEND == "jax" else rtol


def since_tensorflow(*version):
    """Whether TensorFlow is the backend, and at least of this version."""
    if _BACKEND != "tensorflow":
        return False
    from keras_softsets._backend.tensorflow._graphs import TENSORFLOW

    return version <= TENSORFLOW


def _named(base, of):
    named = [kind for kind in base.__subclasses__() if scores.get(kind.score_name).of == of]
    return sorted(named, key=lambda kind: kind.__name__)


LOSSES, CLASS_LOSSES = (_named(NamedLoss, of) for of in ("cells", "classes"))
METRICS, CLASS_METRICS = (_named(NamedMetric, of) for of in ("cells", "classes"))
NINE = PAPER_THRESHOLDS
SOFT = {
    "linear": LinearHeaviside(),
    "linear 0.2": LinearHeaviside(0.2),
    "sigmoid": SigmoidHeaviside(),
    "tabulated": TabulatedHeaviside(),
}
PARAMETERS = {"f_beta": {"beta": 2}, "tversky": {"alpha": 0.2, "beta": 0.9}}

# Of decisions, by the names of our scores; several classes are averaged as scikit-learn does.
AVERAGED = {
    "f1": sk.f1_score,
    "f_beta": lambda *args, **options: sk.fbeta_score(*args, beta=2, **options),
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "jaccard": sk.jaccard_score,
}
BINARY = {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "mcc": sk.matthews_corrcoef,
    "cohen_kappa": lambda y, d, sample_weight=None: sk.cohen_kappa_score(y, d, sample_weight=sample_weight),
    "specificity": lambda y, d, sample_weight=None: sk.recall_score(1 - y, 1 - d, sample_weight=sample_weight),
}


def batch(n=200, classes=3, seed=0, weighted=True):
    """Labels of different frequency, float32 probabilities that know something about them, and weights."""
    random = np.random.default_rng(seed)
    y = (random.random((n, classes)) < np.linspace(0.15, 0.6, classes)).astype("int64")
    p = np.clip(0.3 * y + 0.7 * random.random(y.shape), 0, 1).astype("float32")
    return y, p, random.uniform(0.1, 2, n).astype("float32") if weighted else None


def with_gradient(function, x, upstream=None):
    """The tensor `function(x)`, and its gradient by x (0 if there is none), eagerly or in a graph.

    `upstream` gives for the tensor the weights with which its elements are summed before; by default all are 1.
    """
    return _OF[_BACKEND](function, x, upstream)


def value_and_gradient(loss, y, p, w=None):
    """Both of a loss by its predictions, as NumPy arrays."""
    found = with_gradient(lambda x: loss(y, x, w), ops.convert_to_tensor(np.asarray(p, "float32")))
    return tuple(ops.convert_to_numpy(x) for x in found)


def compiled_value_and_gradient(loss, y, p, w=None):
    """The same in a compiled step, where the backend compiles any."""
    if _BACKEND == "torch":
        return value_and_gradient(loss, y, p, w)
    given = [None if x is None else ops.convert_to_tensor(np.asarray(x, "float32")) for x in (y, p, w)]
    step = compiled(lambda y, p, *w: with_gradient(lambda x: loss(y, x, *w), p))
    return tuple(ops.convert_to_numpy(x) for x in step(*(x for x in given if x is not None)))


def compiled(function, xla=None):
    """The function as a step runs it: a graph of TensorFlow, or XLA's, compiled by JAX, as it is with PyTorch."""
    if _BACKEND == "torch":
        return function
    if _BACKEND == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function, jit_compile=xla)


def _of_tensorflow(function, x, upstream):
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(x)
        value = function(x)
        pulled = value if upstream is None else tf.reduce_sum(value * upstream(value))
    return value, tape.gradient(pulled, x, unconnected_gradients="zero")


def _of_jax(function, x, upstream):
    import jax

    value, pull = jax.vjp(function, x)
    weights = np.ones(value.shape) if upstream is None else upstream(value)
    return value, pull(ops.cast(weights, value.dtype))[0]


def _of_torch(function, x, upstream):
    import torch

    x = x.detach().clone().requires_grad_()
    value = function(x)
    weights = torch.ones_like(value) if upstream is None else torch.as_tensor(upstream(value), dtype=value.dtype)
    if not value.requires_grad:
        return value, torch.zeros_like(x)
    (gradient,) = torch.autograd.grad(value, x, weights, allow_unused=True)
    return value.detach(), torch.zeros_like(x) if gradient is None else gradient


_OF = {"tensorflow": _of_tensorflow, "jax": _of_jax, "torch": _of_torch}


def paired(*axes):
    """Returns parameters for every combination of the axes' values; those that add no new pair are marked `slow`.

    A combination is kept if the sum of its places is a multiple of the length of the shortest axis: with three axes,
    any two values then meet, whichever axes they are from.
    """
    shortest = min(len(axis) for axis in axes)
    found = []
    for places in itertools.product(*(range(len(axis)) for axis in axes)):
        values = [axis[place] for axis, place in zip(axes, places, strict=True)]
        name = "-".join(str(getattr(value, "__name__", value)) for value in values)
        marks = () if sum(places) % shortest == 0 else (pytest.mark.slow,)
        found.append(pytest.param(*values, id=name, marks=marks))
    return found
