"""The four kinds of totals, each by itself: what it sums, how it scores the sums, and what adds up with what."""

import numpy as np
import pytest
import reference
from cases import NINE, batch
from class_cases import classes_batch
from keras import ops

from keras_softsets import Argmax, AtRecall, LinearHeaviside, StepHeaviside, decisions, scores
from keras_softsets._inputs import as_samples, as_sets
from keras_softsets._totals import AtRate, Cells, Counts, EveryThreshold, PerSet

SOFT, HARD = LinearHeaviside(), StepHeaviside()


def halves(samples):
    """The same samples in two batches."""
    middle = samples.prediction.shape[0] // 2
    cut = [slice(0, middle), slice(middle, None)]
    return [
        samples._replace(**{k: v[part] for k, v in samples._asdict().items() if hasattr(v, "shape")}) for part in cut
    ]


def test_cells_are_summed_at_every_threshold_and_averaged_over_thresholds_and_classes():
    y, p, w = batch()
    totals = Cells(decisions.get(NINE), SOFT, "macro", 0.0)
    found = totals.sum(as_samples(y, p, w))
    expected = reference.cells(y, p, w[:, None], thresholds=NINE)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(totals.value(scores.f1, found), reference.score("f1", expected), rtol=1e-6)
    f1_of_classes = Cells(decisions.get(NINE), SOFT, None, 0.0).value(scores.f1, found)
    assert f1_of_classes.shape == (y.shape[1],)
    np.testing.assert_allclose(np.mean(f1_of_classes), reference.score("f1", expected), rtol=1e-6)


def test_counts_are_true_by_decided_class():
    ids, p, w = classes_batch()
    totals = Counts(Argmax(), HARD)
    found = np.asarray(totals.sum(as_samples(ids, p, w, argmax=True, c_x_c=True)))
    expected = np.zeros((4, 4))
    np.add.at(expected, (ids, p.argmax(1)), w)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    kappa = reference.MATRIX_SCORES["kappa"](expected)
    np.testing.assert_allclose(totals.value(scores.kappa, ops.convert_to_tensor(found)), kappa, rtol=1e-6)
    recall = np.mean(np.diag(expected) / expected.sum(1))
    np.testing.assert_allclose(totals.value(scores.recall, ops.convert_to_tensor(found)), recall, rtol=1e-6)


def test_sets_are_scored_one_by_one_and_weighted():
    y, p, _ = batch(60)
    y, p, w = y.reshape(6, 10, -1), p.reshape(6, 10, -1), np.arange(1.0, 7.0)
    totals = PerSet(decisions.get(0.4), SOFT, "macro", 0.0, (scores.f1, scores.recall))
    found = totals.sum(as_sets(y, p, w))
    each = [reference.score("f1", reference.cells(a, b, thresholds=[0.4])) for a, b in zip(y, p)]
    np.testing.assert_allclose(totals.value(scores.f1, found), np.average(each, weights=w), rtol=1e-5)


def test_a_rate_is_just_met_where_soft_cells_are_summed():
    y, p, w = batch()
    decision = AtRecall(0.8)
    totals = AtRate(decision, SOFT, None, 0.0)
    found = np.asarray(totals.sum(as_samples(y, p, w)))
    for k in range(y.shape[1]):
        positive = y[:, k] == 1
        falling = np.sort(p[positive, k])[::-1]
        share = np.cumsum(w[positive][np.argsort(-p[positive, k], kind="stable")]) / w[positive].sum()
        threshold = falling[np.flatnonzero(share >= 0.8 - 1e-6)[0]]
        expected = reference.cells(y[:, k : k + 1], p[:, k : k + 1], w[:, None], thresholds=[float(threshold)])
        np.testing.assert_allclose(found[:4, :, k : k + 1], expected, rtol=1e-4)
    assert not found[6].any()  # within reach


def test_the_hard_score_at_a_rate_is_the_best_of_all_thresholds_that_meet_it():
    y, p, w = batch()
    found = AtRate(AtRecall(0.6), HARD, None, 0.0).of_samples(scores.precision, as_samples(y, p, w))
    for k in range(y.shape[1]):
        cells = reference.cells(y[:, [k]], p[:, [k]], w[:, None], thresholds=p[:, k], heaviside=reference.step)
        precision, recall = (np.ravel(reference.SCORES[name](*cells)) for name in ("precision", "recall"))
        np.testing.assert_allclose(found[k], precision[recall >= 0.6 - 1e-6].max(), rtol=1e-5)


def test_areas_go_through_every_threshold_of_the_samples():
    from sklearn.metrics import roc_auc_score

    y, p, w = batch()
    p = p * 1e-6
    totals = EveryThreshold(decisions.get(0.5), HARD, None, 0.0)
    expected = [roc_auc_score(y[:, k], p[:, k], sample_weight=w) for k in range(y.shape[1])]
    np.testing.assert_allclose(totals.of_samples(scores.roc_auc, as_samples(y, p, w)), expected, rtol=1e-6)


KINDS = {
    "cells": (Cells(decisions.get(NINE), SOFT), as_samples),
    "counts": (Counts(Argmax(), SOFT), lambda *data: as_samples(*data, argmax=True, c_x_c=True)),
    "sets": (PerSet(decisions.get(0.5), SOFT, "macro", 0.0, (scores.f1,)), lambda *data: as_sets(*data)),
}


@pytest.mark.parametrize("name", KINDS)
def test_sums_of_batches_are_the_sum_of_all(name):
    totals, prepare = KINDS[name]
    samples = prepare(*batch(40))
    parts = [np.asarray(totals.sum(part)) for part in halves(samples)]
    np.testing.assert_allclose(sum(parts), totals.sum(samples), rtol=1e-5)


def test_only_the_same_kind_with_the_same_settings_adds_up():
    half, nine = decisions.get(0.5), decisions.get(NINE)
    kinds = [
        Cells(half, SOFT),
        Cells(nine, SOFT),
        Cells(half, HARD),
        EveryThreshold(half, HARD),
        Counts(Argmax(), HARD),
        PerSet(half, HARD, "macro", 0.0, (scores.f1,)),
        PerSet(half, HARD, "macro", 0.0, (scores.recall,)),
        PerSet(half, HARD, "micro", 0.0, (scores.f1,)),
        AtRate(AtRecall(0.9), HARD),
        AtRate(AtRecall(0.8), HARD),
    ]
    for k, one in enumerate(kinds):
        assert [one.adds_up_with(other) for other in kinds] == [j == k for j in range(len(kinds))]
    assert Cells(half, SOFT, "micro").adds_up_with(Cells(half, LinearHeaviside(), None))  # the same sums
