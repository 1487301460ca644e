"""Numbers, claims and the page: nothing is said that the CSV files do not say."""

import numpy as np
import pytest

from benchmarks.paper.methods.cifar10 import epoch_by_epoch
from benchmarks.paper.plan.configuration import Configuration
from benchmarks.paper.records import store
from benchmarks.paper.report import claims, more_epochs, numbers, page, timing
from benchmarks.recipes.report import networks
from benchmarks.recipes.runner import FOLDER


def test_the_page_is_what_the_results_say():
    assert page.PAGE.read_text() == page.render()


def test_differences_are_paired(tmp_path):
    for loss, scores in (("f1_linear", (0.5, 0.9)), ("bce", (0.4, 0.7))):
        rows = [{"trial": k, "reading": "probabilities", "mean_f1": score} for k, score in enumerate(scores)]
        store.add(Configuration("adult", loss), rows, tmp_path)
    left, right = (Configuration("adult", loss) for loss in ("f1_linear", "bce"))
    gap = numbers.difference(left, right, ("mean_f1", "mean_f1"), tmp_path)
    np.testing.assert_allclose([gap.mean, gap.deviation, gap.count], [0.15, np.std([0.1, 0.2], ddof=1), 2])
    assert str(numbers.measured(left, "probabilities", "mean_f1", tmp_path)) == "0.700 ± 0.283 (n = 2)"


@pytest.mark.parametrize(("f1", "verdict"), [(0.911, "holds (one trial)"), (0.907, "**does not hold** (one trial)")])
def test_one_network_reaches_the_paper_or_not(f1, verdict, tmp_path):
    for loss in ("f1_linear", "f1_linear_mean"):  # after every epoch; the second has the lower validation loss
        rows = [{"epoch": k, "validation_loss": 1 - k / 10, "mean_f1": value} for k, value in enumerate((0.95, f1))]
        store.write_lines(store.epochs_path(Configuration("cifar10_transportation", loss), tmp_path), rows)
    found = [claim for claim in claims.claims(tmp_path) if "reaches" in claim[0]]
    assert [claim[3] for claim in found] == [verdict, verdict]
    assert "mean over thresholds, 2 epochs" in found[1][2]


def test_networks_tested_after_every_epoch_count_at_their_own_best_epochs(tmp_path):
    configuration = Configuration("cifar10_frog", "f1_linear_mean")
    for trial, curve in enumerate([((0.5, 0.70), (0.2, 0.74)), ((0.1, 0.71), (0.4, 0.99), (0.3, 0.98))]):
        rows = [
            dict.fromkeys(epoch_by_epoch.COLUMNS, f1) | {"epoch": k, "seconds": 30, "validation_loss": loss}
            for k, (loss, f1) in enumerate(curve, start=1)
        ]
        store.write_lines(store.epochs_path(configuration, tmp_path, "yolov3_tiny", trial), rows)
    ((_, _, numbers, verdict),) = (claim for claim in claims.claims(tmp_path) if "reaches" in claim[0])
    assert "0.725 (backbone of YOLOv3-tiny, mean over thresholds, 2 to 3 epochs), paper 0.73 - 0.01" in numbers
    assert verdict == "holds (2 trials)"
    section = more_epochs.more_epochs_section(tmp_path)
    assert "| 0.725 ± 0.021 (0.73 ± 0.01, -0.01) |" in section
    assert section.rstrip().endswith("| 2 | 1 to 2 | 2 to 3 | 1 to 2 |")


def test_at_equal_epochs_no_loss_has_more_than_the_one_with_the_fewest(tmp_path):
    curves = {  # (validation loss, every score) after each epoch
        Configuration("cifar10_frog", "f1_linear"): ((0.6, 0.50), (0.5, 0.61), (0.1, 0.99)),
        Configuration("cifar10_frog", "bce", "weighted"): ((0.2, 0.72), (0.3, 0.83)),
    }
    for configuration, curve in curves.items():
        rows = [dict.fromkeys(epoch_by_epoch.COLUMNS, f1) | {"validation_loss": loss} for loss, f1 in curve]
        store.write_lines(store.epochs_path(configuration, tmp_path), rows)
    table = more_epochs.equal_epochs_section(tmp_path).splitlines()[-2:]
    assert table[0].startswith("| CIFAR-10-Frog | Tiny Darknet | 2 | soft F1, linear | 0.610 |")
    assert table[1].startswith("| CIFAR-10-Frog | Tiny Darknet | 2 | balanced BCE (probabilities) | 0.720 |")


def test_one_trial_decides_nothing_and_half_an_epoch_is_not_rounded_away(tmp_path):
    row = {"trial": 0, "reading": "probabilities"}
    row |= dict.fromkeys(("f1_at_half", "f1_tuned", "auroc", "mean_precision", "mean_recall"), 0.5)
    for loss, score in (("f1_linear", 0.9), ("bce", 0.1)):
        store.add(Configuration("cifar10_frog", loss), [row | {"mean_f1": score}], tmp_path)
    verdicts = {verdict for name, _, _, verdict in claims.claims(tmp_path) if "BCE" in name}
    assert verdicts == {"undecided (one trial)"}
    adversarial = [{"trial": 0, "reading": "probabilities", "seconds": 300, "epochs": 0.4}]
    store.add(Configuration("adult", "adversarial_f1"), adversarial, tmp_path)
    assert "| Adult | not run | not run | not run | 300 | 0.4 | 750 |" in timing.timing_section(tmp_path)


CLAIMED = ("mean_f1", "f1_at_half", "f1_tuned", "auroc", "mean_precision", "mean_recall")


def write_trials(folder, loss, **columns):
    trials = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    same = {"reading": "probabilities", **dict.fromkeys(CLAIMED, 0.5)}
    store.add(Configuration("adult", loss), [{"trial": k} | same | own for k, own in enumerate(trials)], folder)


@pytest.mark.parametrize(("worst", "verdict"), [(0.41, "holds"), (0.39, "**does not hold**")])
def test_one_trial_below_half_of_linear_is_a_collapse(worst, verdict, tmp_path):
    write_trials(tmp_path, "f1_linear", mean_f1=[0.7, 0.9])
    write_trials(tmp_path, "f1_sigmoid", mean_f1=[0.8, worst])
    ((_, _, _, found),) = (claim for claim in claims.claims(tmp_path) if "collapses" in claim[0])
    assert found == verdict


@pytest.mark.parametrize(
    ("precision", "recall", "verdict"),
    [
        ((0.7, 0.6, 0.5), (0.5, 0.6, 0.7), "holds"),
        ((0.7, 0.7, 0.5), (0.5, 0.6, 0.7), "**does not hold**"),
        ((0.7, 0.6, 0.5), (0.5, 0.6, 0.6), "**does not hold**"),
    ],
)
def test_a_trade_is_monotone_in_both(precision, recall, verdict, tmp_path):
    for beta, values in enumerate(zip(precision, recall, strict=True), start=1):
        columns = dict(zip(("mean_precision", "mean_recall"), ([v, v] for v in values), strict=True))
        write_trials(tmp_path, f"f{beta}_linear", **columns)
    ((_, _, _, found),) = (claim for claim in claims.claims(tmp_path) if "monotonically" in claim[0])
    assert found == verdict


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ((0.10, 0.11, 0.12), "holds"),
        ((-0.10, -0.11, -0.12), "**does not hold**"),
        ((-0.10, 0.11, 0.12), "undecided (within two standard errors)"),
    ],
)
def test_a_verdict_needs_two_standard_errors(gains, verdict, tmp_path):
    write_trials(tmp_path, "f1_linear", mean_f1=[0.5 + gain for gain in gains])
    write_trials(tmp_path, "bce", mean_f1=[0.5] * 3)
    ((_, _, _, found),) = (claim for claim in claims.claims(tmp_path) if "is above BCE" in claim[0])
    assert found == verdict


@pytest.mark.parametrize("network", networks.LABELS)
def test_what_the_page_says_of_the_blend_on_frogs_is_in_the_study(network):
    text = " ".join(page.TEXT.read_text().split("Blended with BCE, soft")[1].split("*Initial weights*")[0].split())
    rows = [line.strip("| ").split(" | ") for line in networks.of_images(FOLDER, network).splitlines()]
    found = {name: dict(zip(rows[0], cells, strict=True)) for name, *cells in rows[2:]}
    for column in ("F1, tuned", "AUROC", "F1 at 0.5"):
        pair = " against ".join(found[name][column] for name in ("SoftF1 + BCE", "BCE"))
        assert pair in text, column


def test_what_the_page_says_of_equal_epochs_is_in_its_table():
    """Soft F1 at 0.5, then BCE and balanced BCE at 0.5 and at their tuned thresholds, for each network."""
    rows = [line.split(" | ") for line in more_epochs.equal_epochs_section().splitlines() if line.startswith("| CIFAR")]
    at_half = {(row[0], row[1], row[3]): row[6] for row in rows}
    tuned = {(row[0], row[1], row[3]): row[7] for row in rows}
    text = " ".join(page.TEXT.read_text().split("*At equal epochs*")[1].split("*Initial weights*")[0].split())
    for key in {key[:2] for key in at_half}:
        bce = (*key, "BCE (probabilities)")
        balanced = (*key, "balanced BCE (probabilities)")
        own = [at_half[(*key, "soft F1, linear")], at_half[bce], tuned[bce]]
        for number in own + ([at_half[balanced], tuned[balanced]] if balanced in at_half else []):
            assert number in text, (key, number)
