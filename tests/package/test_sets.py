"""One set per sample: the mean over images equals a loop over images, weights, masks and absent classes included."""

import numpy as np
import pytest
import tensorflow as tf
from cases import NINE, value_and_gradient
from class_cases import classes_batch, scikit_learn, streamed
from sklearn import metrics as sk

from keras_softsets import PerClass, SoftF1, SoftJaccard, SoftKappa, evaluate, metrics, score


def images(n=7, seed=0, classes=3):
    """Ids, probabilities, weights of pixels and of images; the first image lacks a class, the second is of one."""
    ids, p, w = classes_batch(n * 20, classes, seed)
    ids, p, w = ids.reshape(n, 4, 5), p.reshape(n, 4, 5, classes), w.reshape(n, 4, 5)
    ids[0][ids[0] == 2], ids[1] = 0, 1
    p[0][..., 2] = p[1][..., 2] = 0
    return ids, p, w, np.random.default_rng(seed).uniform(0.2, 2, n).astype("float32")


def test_iou_per_image_is_a_loop():
    ids, p, _, _ = images()
    pairs = [(y.ravel(), q.argmax(-1).ravel()) for y, q in zip(ids, p)]
    expected = np.mean([scikit_learn(sk.jaccard_score, *pair, average="macro") for pair in pairs])
    metric = metrics.Jaccard(threshold="argmax", per_sample=True, zero_division="ignore")
    assert streamed(metric, ids, p, sizes=(1, 4)) == pytest.approx(expected, rel=1e-6)
    with_zero = [
        scikit_learn(sk.jaccard_score, *pair, labels=range(3), average="macro", zero_division=0) for pair in pairs
    ]
    assert evaluate(ids, p, "jaccard", threshold="argmax", per_sample=True) == pytest.approx(np.mean(with_zero))
    assert np.mean(with_zero) < expected - 0.01


@pytest.mark.parametrize("heaviside", ["step", "linear"])
@pytest.mark.parametrize("zero_division", [0.0, 1.0, "ignore"])
@pytest.mark.parametrize("average", ["macro", "micro", "weighted", [2, 0, 1]])
def test_a_loop_over_images_for_every_option(average, zero_division, heaviside):
    ids, p, w, _ = images()
    options = {"threshold": "argmax", "average": average, "zero_division": zero_division, "heaviside": heaviside}
    loop = [evaluate(y, q, "f1", v, **options) for y, q, v in zip(ids, p, w)]
    assert evaluate(ids, p, "f1", w, per_sample=True, **options) == pytest.approx(np.mean(loop), rel=1e-6)


def test_classes_that_an_image_lacks_are_left_out_class_by_class():
    ids, p, _, _ = images()
    options = {"threshold": "argmax", "average": None, "zero_division": "ignore"}
    each = np.array([evaluate(y, q, "jaccard", **options) for y, q in zip(ids, p)])
    present = np.array([[np.any((y == k) | (q.argmax(-1) == k)) for k in range(3)] for y, q in zip(ids, p)])
    expected = [each[present[:, k], k].mean() for k in range(3)]
    np.testing.assert_allclose(evaluate(ids, p, "jaccard", per_sample=True, **options), expected, rtol=1e-6)
    assert not present.all()


@pytest.mark.parametrize("threshold", [0.3, NINE, PerClass([0.2, 0.4, 0.6])])
def test_thresholds_per_image(threshold):
    ids, p, w, _ = images()
    for name in ("f1", "roc_auc") if threshold is NINE else ("f1",):
        loop = [evaluate(y, q, name, v, threshold=threshold) for y, q, v in zip(ids, p, w)]
        assert evaluate(ids, p, name, w, threshold=threshold, per_sample=True) == pytest.approx(np.mean(loop), rel=1e-6)


@pytest.mark.parametrize("name", ["kappa", "multiclass_mcc"])
def test_scores_of_the_matrix_per_image(name):
    ids, p, w, _ = images()
    loop = np.array([evaluate(y, q, name, v) for y, q, v in zip(ids, p, w)])
    assert evaluate(ids, p, name, w, per_sample=True) == pytest.approx(loop.mean(), rel=1e-6)
    p[1], p[1][..., 1] = 0, 1  # the second image has one class, and all of it is right: 0 / 0
    loop[1] = 0
    assert evaluate(ids, p, name, w, per_sample=True) == pytest.approx(loop.mean(), rel=1e-6)
    ignored = evaluate(ids, p, name, w, per_sample=True, zero_division="ignore")
    assert ignored == pytest.approx(np.delete(loop, 1).mean(), rel=1e-6)
    loop[1] = 1
    assert evaluate(ids, p, name, w, per_sample=True, zero_division=1.0) == pytest.approx(loop.mean(), rel=1e-6)


def test_weights_of_images_pixels_and_ignored_ids():
    ids, p, w, of_images = images()
    options = {"threshold": "argmax"}
    loop = np.array([evaluate(y, q, "f1", **options) for y, q in zip(ids, p)])
    expected = np.average(loop, weights=of_images)
    for weight in (of_images, of_images[:, None], of_images[:, None, None]):
        assert evaluate(ids, p, "f1", weight, per_sample=True, **options) == pytest.approx(expected, rel=1e-6)
    ids[2], w[4] = 255, 0  # an image of which nothing counts is absent
    kept = [0, 1, 3, 5, 6]
    loop = [evaluate(ids[k], p[k], "f1", w[k], **options) for k in kept]
    found = evaluate(ids, p, "f1", w, per_sample=True, ignore_class=255, **options)
    assert found == pytest.approx(np.mean(loop), rel=1e-6)


@pytest.mark.parametrize("heaviside", ["step", "linear"])
@pytest.mark.parametrize("threshold", ["argmax", 0.4])
def test_sets_that_do_not_count_may_hold_anything(threshold, heaviside):
    ids, p = np.array([0, 2, 255, 1]), np.float32([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.8, 0.1]])
    options = {"threshold": threshold, "heaviside": heaviside, "ignore_class": 255, "per_sample": True}
    assert evaluate(ids, p, "f1", **options) == pytest.approx(evaluate(ids[[0, 1, 3]], p[[0, 1, 3]], "f1", **options))
    p[3] = np.nan
    assert evaluate(ids, p, "f1", [1, 1, 1, 0], **options) == pytest.approx(evaluate(ids[:2], p[:2], "f1", **options))
    images = np.float32([[[0.6], [0.3]], [[np.nan], [0.1]]])
    assert evaluate([[[1], [0]], [[1], [-1]]], images, "f1", [2, 0], per_sample=True) == 1.0


def test_samples_without_other_axes_are_sets_of_one():
    ids, p, w = classes_batch(n=20)
    loop = [evaluate(ids[k : k + 1], p[k : k + 1], "f1", threshold="argmax", average="micro") for k in range(20)]
    found = evaluate(ids, p, "f1", w, threshold="argmax", average="micro", per_sample=True)
    assert found == pytest.approx(np.average(loop, weights=w), rel=1e-6)


@pytest.mark.parametrize(
    "loss",
    [
        SoftJaccard(threshold="argmax", per_sample=True, zero_division="ignore"),
        SoftKappa(per_sample=True),
        SoftF1(per_sample=True),
    ],
    ids=["jaccard", "kappa", "f1"],
)
def test_losses_and_gradients_are_the_mean_of_those_of_images(loss):
    ids, p, w, _ = images()
    config = loss.get_config() | {"per_sample": False}
    alone = [value_and_gradient(type(loss).from_config(config), y, q, v) for y, q, v in zip(ids, p, w)]
    value, gradient = value_and_gradient(loss, ids, p, w)
    assert value == pytest.approx(np.mean([a[0] for a in alone]), rel=1e-5)
    np.testing.assert_allclose(gradient, np.stack([a[1] for a in alone]) / 7, atol=1e-5)


def test_bad_weights_of_images_and_empty_batches():
    ids, p, _, of_images = images()
    for bad in (-1.0, np.nan, np.inf):
        weight = np.where(np.arange(7) == 3, np.float32(bad), of_images)
        with pytest.raises(ValueError, match="`sample_weight` must be finite and non-negative"):
            evaluate(ids, p, "f1", weight, threshold="argmax", per_sample=True)
        loss = SoftF1(threshold="argmax", per_sample=True)
        tensors = [tf.constant(x) for x in (ids, p, weight)]
        with pytest.raises(tf.errors.InvalidArgumentError, match="`sample_weight` must be finite and non-negative"):
            tf.function(loss)(*tensors)
        assert np.isnan(tf.function(loss, jit_compile=True)(*tensors))
    for loss in (SoftF1(threshold="argmax", per_sample=True), SoftKappa(per_sample=True)):
        value, gradient = value_and_gradient(loss, ids[:0], p[:0])
        assert value == 1.0
        assert gradient.shape == p[:0].shape


def test_scores_with_and_without_classes_do_not_mix_per_image_and_class():
    mixed = ["kappa", "f1"]
    ids, p, _, _ = images()
    found = metrics.Scores(mixed, per_sample=True)(ids, p)
    assert float(found["f1"]) == pytest.approx(evaluate(ids, p, threshold="argmax", per_sample=True), rel=1e-6)
    with pytest.raises(ValueError, match="`average` must not be None"):
        metrics.Scores(mixed, per_sample=True, average=None)


def test_a_score_of_classes_gives_one_number():
    @score(of="classes")
    def share_of_each_class(matrix):
        return matrix.right / matrix.total

    ids, p, _ = classes_batch()
    with pytest.raises(ValueError, match="must give a single number"):
        evaluate(ids, p, share_of_each_class)


def test_costs_of_another_size_are_refused_in_one_sentence():
    ids, p = np.arange(12).reshape(4, 3) % 3, np.full((4, 3, 3), 1 / 3)
    with pytest.raises(ValueError, match=r"^`costs` must be a 3 x 3 matrix"):
        evaluate(ids, p, "multiclass_cost", threshold="argmax", per_sample=True, costs=[[0, 2], [5, 0]])
