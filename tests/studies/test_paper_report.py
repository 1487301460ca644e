"""The reproduction of the paper: its plan has every table, and the report says what was measured."""

import numpy as np
import pytest

from studies.paper import EPOCHS, PLAN_KEYS, TABLES, plan
from studies.paper.methods import epoch_by_epoch, objectives
from studies.paper.plan import Configuration
from studies.paper.report import claims, more_epochs, numbers


def test_every_row_is_trained_once():
    planned = [tuple(key.values()) for key in TABLES.plan]
    shown = {t.configuration(data, row) for t in plan.TABLES for data in t.datasets for row in t.rows}
    assert len(set(planned)) == len(planned)
    assert set(planned) == shown
    assert Configuration._fields == PLAN_KEYS


def test_a_part_of_the_plan_can_be_asked_for():
    wanted = TABLES.selected({"data": ["synthetic_05"], "loss": ["bce"]})
    assert [key["batch_size"] for key in wanted] == [128, 1024, 2048, 4096]


def test_every_row_of_the_paper_has_its_row():
    ours = {
        (table.paper_key(row), dataset, row.paper, column)
        for table in plan.TABLES
        for dataset in table.datasets
        for row in table.rows
        for column in table.columns
    }
    assert not set(numbers.paper_numbers()) - ours


def test_every_row_is_a_reading_that_its_method_writes():
    rows = [row for table in plan.TABLES for row in table.rows if row.loss in objectives.OBJECTIVES]
    assert len(rows) > 50
    assert not [row for row in rows if row.reading not in objectives.readings(row.loss)]


def add(configuration, rows, folder):
    TABLES.store(folder).append([{**configuration._asdict(), **row} for row in rows])


def add_epochs(configuration, rows, folder, network="tiny_darknet", trial=0):
    key = {"data": configuration.data, "network": network, "loss": configuration.loss, "balance": configuration.balance}
    EPOCHS.store(folder).append([{**key, "trial": trial, "epoch": k, **row} for k, row in enumerate(rows)])


def test_differences_are_paired(folder):
    for loss, scores in (("f1_linear", (0.5, 0.9)), ("bce", (0.4, 0.7))):
        rows = [{"trial": k, "reading": "probabilities", "mean_f1": score} for k, score in enumerate(scores)]
        add(Configuration("adult", loss), rows, folder)
    left, right = (Configuration("adult", loss) for loss in ("f1_linear", "bce"))
    gap = numbers.difference(left, right, ("mean_f1", "mean_f1"), folder)
    np.testing.assert_allclose([gap.mean, gap.deviation, gap.count], [0.15, np.std([0.1, 0.2], ddof=1), 2])
    assert str(numbers.measured(left, "probabilities", "mean_f1", folder)) == "0.700 ± 0.283 (n = 2)"


@pytest.mark.parametrize(("f1", "verdict"), [(0.911, "holds (one trial)"), (0.907, "**does not hold** (one trial)")])
def test_one_network_reaches_the_paper_or_not(f1, verdict, folder):
    for loss in ("f1_linear", "f1_linear_mean"):  # after every epoch; the second has the lower validation loss
        rows = [{"epoch": k, "validation_loss": 1 - k / 10, "mean_f1": value} for k, value in enumerate((0.95, f1))]
        add_epochs(Configuration("cifar10_transportation", loss), rows, folder)
    found = [claim for claim in claims.claims(folder) if "reaches" in claim[0]]
    assert [claim[3] for claim in found] == [verdict, verdict]
    assert "mean over thresholds, 2 epochs" in found[1][2]


def test_networks_tested_after_every_epoch_count_at_their_own_best_epochs(folder):
    configuration = Configuration("cifar10_frog", "f1_linear_mean")
    for trial, curve in enumerate([((0.5, 0.70), (0.2, 0.74)), ((0.1, 0.71), (0.4, 0.99), (0.3, 0.98))]):
        rows = [
            dict.fromkeys(epoch_by_epoch.COLUMNS, f1) | {"epoch": k, "seconds": 30, "validation_loss": loss}
            for k, (loss, f1) in enumerate(curve, start=1)
        ]
        add_epochs(configuration, rows, folder, "yolov3_tiny", trial)
    ((_, _, numbers, verdict),) = (claim for claim in claims.claims(folder) if "reaches" in claim[0])
    assert "0.725 (backbone of YOLOv3-tiny, mean over thresholds, 2 to 3 epochs), paper 0.73 - 0.01" in numbers
    assert verdict == "holds (2 trials)"
    section = more_epochs.more_epochs_section(folder)
    assert "| 0.725 ± 0.021 (0.73 ± 0.01, -0.01) |" in section
    assert section.rstrip().endswith("| 2 | 1 to 2 | 2 to 3 | 1 to 2 |")


def test_at_equal_epochs_no_loss_has_more_than_the_one_with_the_fewest(folder):
    curves = {  # (validation loss, every score) after each epoch
        Configuration("cifar10_frog", "f1_linear"): ((0.6, 0.50), (0.5, 0.61), (0.1, 0.99)),
        Configuration("cifar10_frog", "bce", "weighted"): ((0.2, 0.72), (0.3, 0.83)),
    }
    for configuration, curve in curves.items():
        rows = [dict.fromkeys(epoch_by_epoch.COLUMNS, f1) | {"validation_loss": loss} for loss, f1 in curve]
        add_epochs(configuration, rows, folder)
    table = more_epochs.equal_epochs_section(folder).splitlines()[-2:]
    assert table[0].startswith("| CIFAR-10-Frog | Tiny Darknet | 2 | soft F1, linear | 0.610 |")
    assert table[1].startswith("| CIFAR-10-Frog | Tiny Darknet | 2 | balanced BCE (probabilities) | 0.720 |")


def test_one_trial_decides_nothing_and_half_an_epoch_is_not_rounded_away(folder):
    row = {"trial": 0, "reading": "probabilities"}
    row |= dict.fromkeys(("f1_at_half", "f1_tuned", "auroc", "mean_precision", "mean_recall"), 0.5)
    for loss, score in (("f1_linear", 0.9), ("bce", 0.1)):
        add(Configuration("cifar10_frog", loss), [row | {"mean_f1": score}], folder)
    verdicts = {verdict for name, _, _, verdict in claims.claims(folder) if "BCE" in name}
    assert verdicts == {"undecided (one trial)"}
    adversarial = [{"trial": 0, "reading": "probabilities", "seconds": 300, "epochs": 0.4}]
    add(Configuration("adult", "adversarial_f1"), adversarial, folder)
    assert "| Adult | not run | not run | not run | 300 | 0.4 | 750 |" in more_epochs.timing_section(folder)


CLAIMED = ("mean_f1", "f1_at_half", "f1_tuned", "auroc", "mean_precision", "mean_recall")


def write_trials(folder, loss, **columns):
    trials = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    same = {"reading": "probabilities", **dict.fromkeys(CLAIMED, 0.5)}
    add(Configuration("adult", loss), [{"trial": k} | same | own for k, own in enumerate(trials)], folder)


@pytest.mark.parametrize(("worst", "verdict"), [(0.41, "holds"), (0.39, "**does not hold**")])
def test_one_trial_below_half_of_linear_is_a_collapse(worst, verdict, folder):
    write_trials(folder, "f1_linear", mean_f1=[0.7, 0.9])
    write_trials(folder, "f1_sigmoid", mean_f1=[0.8, worst])
    ((_, _, _, found),) = (claim for claim in claims.claims(folder) if "collapses" in claim[0])
    assert found == verdict


@pytest.mark.parametrize(
    ("precision", "recall", "verdict"),
    [
        ((0.7, 0.6, 0.5), (0.5, 0.6, 0.7), "holds"),
        ((0.7, 0.7, 0.5), (0.5, 0.6, 0.7), "**does not hold**"),
        ((0.7, 0.6, 0.5), (0.5, 0.6, 0.6), "**does not hold**"),
    ],
)
def test_a_trade_is_monotone_in_both(precision, recall, verdict, folder):
    for beta, values in enumerate(zip(precision, recall, strict=True), start=1):
        columns = dict(zip(("mean_precision", "mean_recall"), ([v, v] for v in values), strict=True))
        write_trials(folder, f"f{beta}_linear", **columns)
    ((_, _, _, found),) = (claim for claim in claims.claims(folder) if "monotonically" in claim[0])
    assert found == verdict


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ((0.10, 0.11, 0.12), "holds"),
        ((-0.10, -0.11, -0.12), "**does not hold**"),
        ((-0.10, 0.11, 0.12), "undecided (within two standard errors)"),
    ],
)
def test_a_verdict_needs_two_standard_errors(gains, verdict, folder):
    write_trials(folder, "f1_linear", mean_f1=[0.5 + gain for gain in gains])
    write_trials(folder, "bce", mean_f1=[0.5] * 3)
    ((_, _, _, found),) = (claim for claim in claims.claims(folder) if "is above BCE" in claim[0])
    assert found == verdict
