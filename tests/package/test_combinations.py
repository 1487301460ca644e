"""Combinations of what is tested alone elsewhere: masks in blends, ids and weights on replicas, many batch sizes."""

import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from sklearn import metrics as sklearn_metrics

from keras_softsets import BlendedLoss, LinearHeaviside, SoftF1, SoftKappa, metrics

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "scripts" / "replicas_combined.py"


def soft_f1(y, p, w, threshold=0.5):
    """In float64, by the definition of the cells, over the first axis; 0 / 0 is NaN."""
    h = np.asarray(LinearHeaviside()(np.asarray(p, "float64"), threshold))
    tp, wrong = (w * y * h).sum(0), (w * (1 - y) * h).sum(0) + (w * y * (1 - h)).sum(0)
    with np.errstate(invalid="ignore"):
        return 2 * tp / (2 * tp + wrong)


def sequences(seed, n=6, steps=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, (n, steps, 1)).astype("float32")
    p = rng.uniform(0.01, 0.99, (n, steps, 1)).astype("float32")
    return y, p, rng.uniform(0.2, 2, (n, steps)).astype("float32"), rng.random((n, steps)) < 0.6


def masked(p, mask):
    tensor = tf.constant(p)
    tensor._keras_mask = tf.constant(mask)
    return tensor


@pytest.mark.parametrize("reduction", ["sum_over_batch_size", "sum", "mean_with_sample_weight"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_mask_in_a_blend_is_absence_in_both_parts(reduction, weighted):
    for seed in range(5):
        y, p, w, mask = sequences(seed)
        blend = BlendedLoss([SoftF1(), keras.losses.BinaryCrossentropy(reduction=reduction)], [1.0, 0.5])
        weight = (w if weighted else np.ones_like(w)) * mask
        crossentropy = -(y * np.log(p) + (1 - y) * np.log(1 - p))[..., 0]
        divisor = {"sum": 1, "sum_over_batch_size": mask.sum(), "mean_with_sample_weight": weight.sum()}[reduction]
        columns = (y.reshape(-1, 1), p.reshape(-1, 1), weight.reshape(-1, 1))
        expected = 1 - soft_f1(*columns)[0] + 0.5 * (weight * crossentropy).sum() / divisor
        found = float(blend(y, masked(p, mask), w if weighted else None))
        np.testing.assert_allclose(found, expected, rtol=2e-6)


def test_masks_ignored_ids_and_weights_in_a_blend_are_absence_together():
    rng = np.random.default_rng(1)
    ids, mask = rng.integers(-1, 3, (6, 5)), rng.random((6, 5)) < 0.6
    p, w = rng.dirichlet(np.ones(3), ids.shape).astype("float32"), rng.uniform(0.2, 2, ids.shape).astype("float32")
    crossentropy = {"reduction": "mean_with_sample_weight"}

    def blend(**ignored):
        parts = [SoftKappa(**ignored), SoftF1(threshold="argmax", **ignored)]
        return BlendedLoss([*parts, keras.losses.SparseCategoricalCrossentropy(**ignored, **crossentropy)])

    kept = mask & (ids >= 0)
    assert 5 < kept.sum() < mask.sum()
    found, expected = blend(ignore_class=-1)(ids, masked(p, mask), w), blend()(ids[kept], p[kept], w[kept])
    np.testing.assert_allclose(float(found), float(expected), rtol=1e-6)


@pytest.mark.parametrize("steps", [4, 6])
def test_weights_of_sequences_meet_a_mask_of_steps_in_every_part_of_a_blend(steps):
    """Keras alone lines up weights (n,) with a mask (n, steps) from the right."""
    y, p, w, mask = sequences(0, steps=steps)
    blend = BlendedLoss([SoftF1(), keras.losses.BinaryCrossentropy(reduction="sum")])
    whole = np.repeat(w[:, :1], steps, 1)
    expected = float(blend(y, masked(p, mask), whole))
    np.testing.assert_allclose(float(blend(y, masked(p, mask), w[:, 0])), expected, rtol=1e-6)
    for metric in blend.metrics():
        np.testing.assert_allclose(
            metric(y, masked(p, mask), w[:, 0]), type(metric)(metric.part, metric.name)(y, masked(p, mask), whole), 1e-6
        )


def test_many_batch_sizes_in_one_fit_are_traced_once_and_counted_exactly(rng):
    sizes = rng.permutation(np.arange(1, 41))
    ends, n = np.cumsum(sizes), sizes.sum()
    x = rng.normal(size=(n, 2)).astype("float32")
    y, w = (x[:, :1] + rng.normal(size=(n, 1)) > 1).astype("float32"), rng.uniform(0.5, 2, n).astype("float32")
    parts = [slice(start, end) for start, end in zip(ends - sizes, ends)]
    calls = []

    class Counting(metrics.F1):
        def update_state(self, y_true, y_pred, sample_weight=None):
            calls.append(y_true)
            super().update_state(y_true, y_pred, sample_weight)

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, "sigmoid")])
    reported = [Counting(name="f1"), metrics.AUROC(), metrics.PrecisionAtRecall(0.8)]
    model.compile(keras.optimizers.SGD(0.0), SoftF1(), weighted_metrics=reported)
    shapes = (tf.TensorSpec((None, 2)), tf.TensorSpec((None, 1)), tf.TensorSpec((None,)))
    data = tf.data.Dataset.from_generator(lambda: ((x[k], y[k], w[k]) for k in parts), output_signature=shapes)
    logs = model.fit(data, epochs=2, verbose=0).history
    assert 1 <= len(calls) <= 2  # in Python, that is: a graph for all sizes
    p = model.predict(x, n, verbose=0)[:, 0]
    f1 = sklearn_metrics.f1_score(y[:, 0], p >= 0.5, sample_weight=w)
    precision, recall, _ = sklearn_metrics.precision_recall_curve(y[:, 0], p, sample_weight=w)
    expected = [f1, sklearn_metrics.roc_auc_score(y[:, 0], p, sample_weight=w), precision[recall >= 0.8].max()]
    for epoch in range(2):
        found = [logs[name][epoch] for name in ("f1", "auroc", "precision_at_recall")]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.fixture(scope="module")
def replicas(tmp_path_factory):
    path = tmp_path_factory.mktemp("combined") / "numbers.npz"
    # Not by `processes`: with what `thrift` replaces in TensorFlow, making an iterator crashed here.
    subprocess.run([sys.executable, SCRIPT, path], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    with np.load(path) as found:
        return dict(found)


@pytest.mark.slow
def test_ids_with_weights_of_pixels_are_the_same_on_one_device_and_on_three(replicas):
    one = [key for key in replicas if key.endswith("/one")]
    assert len(one) > 20
    for key in one:
        three = replicas[key.removesuffix("one") + "three"]
        np.testing.assert_allclose(three, replicas[key], rtol=2e-6, atol=2e-6, err_msg=key)


@pytest.mark.slow
def test_soft_metrics_of_images_on_replicas_are_means_over_images(replicas):
    """Images are the sets; ids that are ignored have weight 0, and an image without weight is absent."""
    ids, w = replicas["ids"], replicas["weights"] * (replicas["ids"] != 255)
    y, p = np.eye(3)[np.where(ids == 255, 0, ids)], replicas["predictions/images/three"]
    each = {t: np.array([soft_f1(*image, t) for image in zip(y, p, w[..., None])]) for t in (0.2, 0.4, 0.5)}
    present = w.sum(1) > 0
    assert present.sum() == len(ids) - 1
    macro = np.mean([np.nan_to_num(each[t][present]) for t in (0.2, 0.5)])
    positives = (w[..., None] * y).sum(1)
    weighted = [np.average(f[c > 0], weights=c[c > 0]) for f, c in zip(each[0.4], positives) if (c > 0).any()]
    for name, expected in {"soft_f1": macro, "soft_weighted": np.mean(weighted)}.items():
        np.testing.assert_allclose(replicas[f"evaluate/images_{name}_of_images/three"], expected, rtol=1e-5)
