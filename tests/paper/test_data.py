"""The data of trials: balanced as in the supplement, or read as the authors' code reads them."""

import numpy as np
import pytest
from paper_trials import SAMPLES

import keras_softsets as kss
from benchmarks.paper.methods import data


def test_weights_and_oversampling_are_the_supplements(trials):
    weighted = data.balanced(trials, "weighted").train
    for y, weight in zip(weighted.y, weighted.weight, strict=True):
        np.testing.assert_allclose([weight[y == 1].sum(), weight[y == 0].sum()], SAMPLES / 2, rtol=1e-5)
    more = data.balanced(trials, "oversampled").train
    np.testing.assert_array_equal(more.y.mean(axis=1), 0.5)
    np.testing.assert_array_equal(more.x[:, :SAMPLES], trials.train.x)
    with pytest.raises(ValueError, match="balance"):
        data.balanced(trials, "smote")


def test_the_authors_adult_has_older_people_in_its_test_part(monkeypatch):
    def load(name, seed, raw_dir):
        ages = np.random.default_rng(seed).integers(17, 91, 500)
        x = np.stack([(ages - 38.0) / 13.5, np.arange(500)], axis=1).astype("float32")
        return kss.datasets.Splits(*[(x, (ages > 50).astype("float32"))] * 3)

    monkeypatch.setattr(data.datasets, "load", load)
    ours, theirs = (data.read_trials(name, (0, 1)) for name in ("adult", "adult_authors"))
    np.testing.assert_array_equal(ours.train.x, theirs.train.x)
    np.testing.assert_array_equal(ours.validation.x, theirs.validation.x)
    np.testing.assert_allclose(theirs.test.x - ours.test.x, np.broadcast_to([73 / 13.5, 0], (2, 500, 2)), rtol=1e-3)
