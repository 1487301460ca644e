"""Figures: the numbers that are drawn, and that each figure can be written to a file."""

import io

import numpy as np
import pytest
from sklearn import metrics as sk

from keras_softsets import Argmax, LinearHeaviside, SigmoidHeaviside, plots

pytest.importorskip("matplotlib")


@pytest.fixture
def batch(rng):
    y = (rng.random(500) < 0.3).astype(int)
    return y, np.clip(0.3 * y + 0.7 * rng.random(500), 0, 1)


def written(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getbuffer().nbytes > 5_000


def test_approximations_show_values_and_slopes():
    figure = plots.approximations([LinearHeaviside(), SigmoidHeaviside()], [0.2, 0.5, 0.8])
    assert len(figure.axes) == 6
    p, value = figure.axes[1].lines[0].get_data()
    assert value[np.searchsorted(p, 0.5)] == pytest.approx(0.5)
    assert figure.axes[4].lines[0].get_ydata()[1000] == pytest.approx(1.6)
    assert written(figure)


def test_score_against_threshold_is_scikit_learns(batch):
    y, p = batch
    figure = plots.score_against_threshold(y, {"a": p, "b": 1 - p}, "f_beta", beta=2, thresholds=[0.2, 0.5])
    np.testing.assert_allclose(
        figure.axes[0].lines[0].get_ydata(), [sk.fbeta_score(y, p >= t, beta=2) for t in (0.2, 0.5)], rtol=1e-5
    )
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    assert written(figure)
    assert len(plots.score_against_threshold(y, p, histogram=False).axes) == 1


def test_curves_pass_through_the_points_of_the_thresholds(batch):
    y, p = batch
    figure = plots.curves(y, p, thresholds=[0.6, 0.3])
    x, height = figure.axes[0].lines[0].get_data()
    hard = [sk.recall_score(y, p >= t) for t in (0.3, 0.6)]
    np.testing.assert_allclose(height, [1, *hard, 0], rtol=1e-5)
    np.testing.assert_allclose(x[1], (p[y == 0] >= 0.3).mean(), rtol=1e-5)
    np.testing.assert_allclose(
        figure.axes[1].lines[0].get_ydata()[1:3], [sk.precision_score(y, p >= t) for t in (0.3, 0.6)], rtol=1e-5
    )
    assert written(figure)


def test_matrices_and_training(batch):
    figure = plots.confusion(*batch)
    tn, fp, fn, tp = sk.confusion_matrix(batch[0], batch[1] >= 0.5).ravel()
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert [text.split("\n")[1] for text in texts] == [f"{value:,.4g}" for value in (tn, fp, fn, tp)]
    assert written(figure)
    figure = plots.training({"loss": [2.0, 1.0], "val_loss": [3.0, 2.0], "cells": [[1, 2], [3, 4]]})
    np.testing.assert_array_equal(figure.axes[0].lines[1].get_ydata(), [3, 2])
    assert len(figure.axes) == 1
    assert written(figure)
    figure = plots.training({"loss": [4.0, 3.0, 2.0, 1.0], "val_loss": [3.0, 2.0]})  # validation_freq=2
    np.testing.assert_array_equal(figure.axes[0].lines[1].get_xdata(), [2, 4])
    with pytest.raises(ValueError, match=r"Received: \['f9'\]"):
        plots.training({"loss": [1.0]}, ["f9"])


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda y, p: plots.score_against_threshold(y, p, "roc_auc"), "`score` must be a score of one threshold"),
        (lambda y, p: plots.curves(np.stack([y, y], 1), np.stack([p, p], 1)), "Received: 2 classes"),
        (lambda y, p: plots.confusion(np.stack([y, y], 1), np.stack([p, p], 1)), "Received: 2 classes"),
        (lambda y, p: plots.confusion(y, p, threshold=[0.3, 0.6]), "`threshold` must be a single number"),
        (lambda *_: plots.approximations(["linear"], threshold=1.5), "`threshold` must be"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(draw, message, batch):
    with pytest.raises(ValueError, match=message):
        draw(*batch)


def test_heatmaps_show_counts_and_shares_of_several_classes():
    ids, p = np.array([0, 0, 0, 1, 2]), np.eye(3)[[0, 0, 1, 1, 0]]
    figure = plots.confusion_heatmap(ids, p, names=["a", "b", "c"])
    texts = [text.get_text().split() for text in figure.axes[0].texts]
    assert texts == [["2", "67%"], ["1", "33%"], ["0"], ["0"], ["1", "100%"], ["0"], ["1", "100%"], ["0"], ["0"]]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "b", "c"]
    assert written(figure)
    soft = plots.confusion_heatmap(ids, p * 0.8 + 0.2 / 3, heaviside="linear", sample_weight=[2, 0, 0, 1, 1])
    assert soft.axes[0].texts[0].get_text().split() == ["1.733", "87%"]
    moved = plots.confusion_heatmap(ids, p * 0.8 + 0.2 / 3, threshold=Argmax(offsets=[9, 0, 0]))
    assert moved.axes[0].texts[0].get_text().split() == ["3", "100%"]
    with pytest.raises(ValueError, match="`names` must have one name for each of the 3 classes"):
        plots.confusion_heatmap(ids, p, names=["a", "b"])
