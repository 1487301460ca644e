"""Inputs and cells: every shape, type and weight, against the paper's equations; errors that name the mistake."""

import itertools

import keras
import numpy as np
import pytest
import reference
from cases import NINE, of_tensorflow
from keras import ops

from keras_softsets import LinearHeaviside, TabulatedHeaviside, confusion_matrix

WIDE = (0.01, 0.05, 0.123, 0.5, 0.77, 0.95, 0.99)


def as_array(cells):
    return np.stack([np.asarray(cell) for cell in cells])


def cases_of_the_paper():
    """Every pair of an approximation, thresholds, a number of classes, and weights or none; all together are slow."""
    names, thresholds = ["linear", "sigmoid", "step"], [(0.5,), (0.01,), (0.99,), NINE, WIDE]
    for case in itertools.product(names, thresholds, (1, 5), (False, True)):
        name, at, classes, weighted = case
        usual = weighted == (names.index(name) + thresholds.index(at) + (classes > 1)) % 2
        yield pytest.param(*case, marks=() if usual else pytest.mark.slow, id=f"{name}-{at}-{classes}-{weighted}")


@pytest.mark.parametrize(("name", "thresholds", "classes", "weighted"), cases_of_the_paper())
def test_cells_are_the_papers(name, thresholds, classes, weighted, rng):
    p, y = rng.random((301, classes)).astype("float32"), rng.random((301, classes)) < 0.3
    w = rng.random((301, classes)) + 0.1 if weighted else None
    cells = confusion_matrix(y, p, w, threshold=thresholds, heaviside=name)
    expected = reference.cells(y, p, w, thresholds=thresholds, heaviside=reference.HEAVISIDES[name])
    small = 1e-5 if keras.config.backend() == "tensorflow" else 1e-6 * expected.max()  # elsewhere, fn and tn are rests
    np.testing.assert_allclose(as_array(cells), expected, rtol=1e-5, atol=small)
    assert cells.tp.shape == (len(thresholds), classes)
    assert ops.dtype(cells.tp) == "float32"


@pytest.mark.parametrize("heaviside", ["linear", "sigmoid", "step", TabulatedHeaviside()], ids=str)
def test_class_totals_are_kept(heaviside, rng):
    """TP + FN = P and FP + TN = N for every approximation and threshold, with soft labels and weights."""
    y, p, w = rng.random((3, 500)).astype("float32")
    cells = confusion_matrix(y, p, w, threshold=WIDE, heaviside=heaviside)
    np.testing.assert_allclose(cells.positives[:, 0], np.full(len(WIDE), np.sum(w * y)), rtol=1e-5)
    np.testing.assert_allclose(cells.negatives[:, 0], np.full(len(WIDE), np.sum(w * (1 - y))), rtol=1e-5)
    np.testing.assert_allclose(cells.total, cells.predicted_positives + cells.predicted_negatives, rtol=1e-6)


def test_cells_are_lipschitz_in_p(rng):
    """Theorem 4.2, with the constant n max(m1, m2, m3) in the largest change of p."""
    p = rng.random(200).astype("float32")
    q = np.clip(p + rng.uniform(-0.01, 0.01, 200), 0, 1).astype("float32")
    y = rng.random(200) < 0.5
    for threshold in WIDE:
        change = as_array(confusion_matrix(y, p, threshold=threshold)) - as_array(
            confusion_matrix(y, q, threshold=threshold)
        )
        assert np.abs(change).max() <= max(reference.linear_slopes(threshold)) * np.abs(p - q).sum() + 1e-4


@pytest.mark.parametrize(("truth", "prediction"), [((6,), (6, 1)), ((6, 1), (6,)), ((6,), (6,)), ((6, 1), (6, 1))])
def test_trailing_axes_of_one_mix_freely(truth, prediction, rng):
    y, p = rng.integers(0, 2, 6), rng.random(6).astype("float32")
    expected = reference.cells(y[:, None], p[:, None])
    np.testing.assert_allclose(
        as_array(confusion_matrix(y.reshape(truth), p.reshape(prediction))), expected, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("shape", [(4, 3, 2), (2, 4, 5, 3)])
def test_leading_axes_are_samples(shape, rng):
    y, p = rng.integers(0, 2, shape), rng.random(shape).astype("float32")
    flat = (-1, shape[-1])
    expected = reference.cells(y.reshape(flat), p.reshape(flat), thresholds=NINE)
    np.testing.assert_allclose(as_array(confusion_matrix(y, p, threshold=NINE)), expected, rtol=1e-5, atol=1e-6)


def test_masks_of_pixels_against_one_channel(rng):
    y, p = rng.integers(0, 2, (2, 4, 5)), rng.random((2, 4, 5, 1)).astype("float32")
    expected = reference.cells(y.reshape(-1, 1), p.reshape(-1, 1))
    np.testing.assert_allclose(as_array(confusion_matrix(y, p)), expected, rtol=1e-5)


@pytest.mark.parametrize("shape", [(), (7,), (7, 1), (7, 3), (1, 3), (1,), (1, 1)], ids=str)
def test_weights_of_every_shape(shape, rng):
    y, p, w = rng.integers(0, 2, (7, 3)), rng.random((7, 3)).astype("float32"), rng.random(shape) + 0.5
    full = np.broadcast_to(w[:, None] if shape == (7,) else w, (7, 3))
    np.testing.assert_allclose(
        as_array(confusion_matrix(y, p, w)), as_array(confusion_matrix(y, p, full)), rtol=1e-6, atol=1e-7
    )


def test_weights_of_leading_axes(rng):
    y, p = rng.integers(0, 2, (2, 4, 3)), rng.random((2, 4, 3)).astype("float32")
    for shape in ((2,), (2, 4), (2, 4, 1), (2, 1, 1), (1, 1, 3)):
        w = rng.random(shape)
        full = np.broadcast_to(w.reshape(shape + (1,) * (3 - len(shape))), p.shape)
        np.testing.assert_allclose(
            as_array(confusion_matrix(y, p, w)), as_array(confusion_matrix(y, p, full)), rtol=1e-5, atol=1e-6
        )


def test_as_many_samples_as_classes_weights_samples(rng):
    """(3,) against (3, 3) can be read both ways; Keras weights samples."""
    y, p, w = rng.integers(0, 2, (3, 3)), rng.random((3, 3)).astype("float32"), np.array([1.0, 2.0, 0.0])
    np.testing.assert_allclose(as_array(confusion_matrix(y, p, w)), as_array(confusion_matrix(y, p, w[:, None])))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64"])
def test_label_types(dtype):
    cells = confusion_matrix(np.array([0, 1, 1], dtype), [0.3, 0.4, 0.9])
    np.testing.assert_allclose(as_array(cells).ravel(), [1.3, 0.18, 0.7, 0.82], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_sums_are_float32_whatever_the_type_of_the_predictions(dtype):
    p = ops.cast(ops.full([200_000], 0.75), dtype)
    cells = confusion_matrix(ops.ones(200_000), p)  # float16 sums would overflow at 65,504
    assert float(cells.tp[0, 0]) == pytest.approx(180_000, rel=1e-5)


def test_logits(rng):
    y, z = rng.integers(0, 2, 50), rng.normal(size=50) * 5
    expected = confusion_matrix(y, 1 / (1 + np.exp(-z)), threshold=NINE)
    np.testing.assert_allclose(
        as_array(confusion_matrix(y, z, threshold=NINE, from_logits=True)), as_array(expected), rtol=1e-5, atol=1e-5
    )


def test_soft_labels(rng):
    y, p = rng.random((2, 100, 2)).astype("float32")
    np.testing.assert_allclose(
        as_array(confusion_matrix(y, p, threshold=NINE)), reference.cells(y, p, thresholds=NINE), rtol=1e-5
    )


def test_weight_zero_is_absence_whatever_the_sample_holds():
    p, y, w = [0.3, np.nan, 0.9, 0.2], [0, 1, 1, -1], [1, 0, 1, 0]
    expected = as_array(confusion_matrix([0, 1], [0.3, 0.9]))
    np.testing.assert_allclose(as_array(confusion_matrix(y, p, w)), expected)


def test_nan_predictions_are_not_hidden():
    for thresholds in (0.5, NINE):
        for heaviside in ("linear", "sigmoid", "step"):
            cells = confusion_matrix([0, 1], [0.3, np.nan], threshold=thresholds, heaviside=heaviside)
            assert np.isnan(as_array(cells)).all()


def test_labels_that_count_are_checked_and_others_are_not():
    for weight in ([1, 1], [[1], [0.5]], 2.0):
        with pytest.raises(ValueError, match="from 0 to 2"):
            confusion_matrix([0, 2], [0.1, 0.9], weight)
    np.testing.assert_allclose(
        as_array(confusion_matrix([[0], [2]], [[0.1], [0.9]], [1, 0])), as_array(confusion_matrix([0], [0.1]))
    )


def test_empty_batch():
    for shape in ((0,), (0, 3), (0, 4, 2)):
        cells = confusion_matrix(np.zeros(shape), np.zeros(shape), threshold=NINE)
        assert not as_array(cells).any()


def test_thresholds_keep_the_users_order(rng):
    y, p = rng.integers(0, 2, 30), rng.random(30)
    forward, backward = confusion_matrix(y, p, threshold=NINE), confusion_matrix(y, p, threshold=NINE[::-1])
    np.testing.assert_allclose(as_array(forward), as_array(backward)[:, ::-1], rtol=1e-6)


@of_tensorflow
def test_inside_a_graph_with_unknown_shapes(rng):
    import tensorflow as tf

    y, p = rng.integers(0, 2, (20, 3)), rng.random((20, 3)).astype("float32")

    @tf.function(input_signature=[tf.TensorSpec(None, tf.int64), tf.TensorSpec([None, None], tf.float32)])
    def cells(y, p):
        return tf.stack(confusion_matrix(y, p, threshold=NINE))

    np.testing.assert_allclose(cells(y, p), as_array(confusion_matrix(y, p, threshold=NINE)), rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError):  # 1 label must not be broadcast to 20
        cells(y[:1], p)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(y_true=[0, 1, 4], y_pred=np.ones((3, 4)) / 4), "whole numbers from 0 to 3"),
        (dict(y_true=[[0], [1], [0.5]], y_pred=np.ones((3, 4)) / 4), "Received: 0.5"),
        (dict(y_true=np.zeros((3, 2)), y_pred=np.zeros((3, 4))), "y_true.shape=(3, 2), y_pred.shape=(3, 4)"),
        (dict(y_true=[0, 1], y_pred=[0.1, 0.2, 0.3]), "y_true.shape=(2,), y_pred.shape=(3,)"),
        (dict(y_true=[0], y_pred=[0.1, 0.2, 0.3]), "y_true.shape=(1,)"),
        (dict(y_true=1, y_pred=0.5), "a scalar"),
        (dict(y_true=[-1, 1], y_pred=[0.1, 0.2]), "values from -1 to 1"),
        (dict(y_true=[0, 255], y_pred=[0.1, 0.2]), "values from 0 to 255"),
        (dict(y_true=[0, 1], y_pred=[0.1, 0.2], sample_weight=[1, 2, 3]), "sample_weight.shape=(3,)"),
        (dict(y_true=[0, 1], y_pred=[0.1, 0.2], sample_weight=np.ones((2, 2))), "sample_weight.shape=(2, 2)"),
        (dict(y_true=[0, 1], y_pred=[0.1, 0.2], sample_weight=np.ones((2, 1, 1))), "sample_weight.shape=(2, 1, 1)"),
        (dict(y_true=[0, 1], y_pred=[-3.0, 4.0]), "from_logits=True"),
        (dict(y_true=[0, 1], y_pred=[0.1, 0.2], sample_weight=[1, -1]), "values from -1 to 1"),
        (dict(y_true=[0, 1], y_pred=[0.1, 0.2], sample_weight=[1, np.nan]), "NaN"),
        (dict(y_true=[0, 1], y_pred=[0.1, 0.2], sample_weight=[1, np.inf]), "values from 1 to inf"),
        (dict(y_true=np.ones((7, 3)), y_pred=np.ones((7, 3)), sample_weight=[1, 2, 3]), "per class (1, classes)"),
        (dict(y_true=[0, np.nan], y_pred=[0.1, 0.2]), "`y_true` must be in [0, 1]"),
        (dict(y_true=[0], y_pred=[0.5], threshold=0), "threshold=0"),
        (dict(y_true=[0], y_pred=[0.5], threshold=-0.1, heaviside="step"), "threshold=-0.1"),
        (dict(y_true=[0], y_pred=[0.5], threshold=1.1, heaviside="step"), "threshold=1.1"),
        (dict(y_true=[0], y_pred=[0.5], threshold=1.0), "threshold=1.0"),
        (dict(y_true=[0], y_pred=[0.5], threshold=[]), "threshold=[]"),
        (dict(y_true=[0], y_pred=[0.5], threshold=[0.5, 1.5]), "threshold=[0.5, 1.5]"),
        (dict(y_true=[0], y_pred=[0.5], threshold=float("nan")), "threshold=nan"),
        (dict(y_true=[0], y_pred=[0.5], threshold="0.5"), "threshold='0.5'"),
        (dict(y_true=[0], y_pred=[0.5], threshold=True), "threshold=True"),
        (dict(y_true=[0], y_pred=[0.5], threshold=[[0.5]]), "threshold=[[0.5]]"),
        (dict(y_true=[0], y_pred=[0.5], threshold=None), "threshold=None"),
        (dict(y_true=[0], y_pred=[0.5], heaviside="hard"), "heaviside='hard'"),
    ],
    ids=str,
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match="must") as error:
        confusion_matrix(**arguments)
    assert message in str(error.value)


def test_random_small_batches_never_leave_the_class_totals(rng):
    """Adversarial p (ends, thresholds, break points and their neighbours) on a fixed shape, many at a time."""
    h, thresholds = LinearHeaviside(), (0.1, 0.3, 0.5, 0.85)
    edges = h.pieces(thresholds).edges.astype("float32")
    pool = np.concatenate([edges, np.nextafter(edges, np.float32(2)), np.nextafter(edges, np.float32(-1)), thresholds])
    p = rng.choice(np.clip(pool, 0, 1), (8, 5000)).astype("float32")  # 5,000 batches of 8, as classes
    y = rng.integers(0, 2, p.shape).astype("float32")
    cells = as_array(confusion_matrix(y, p, threshold=thresholds))
    np.testing.assert_allclose(cells[0] + cells[2], np.broadcast_to(y.sum(0), cells[0].shape), atol=1e-5)
    assert cells.min() >= -1e-6
