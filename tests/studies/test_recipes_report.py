"""The page from made-up CSV files: means, wins, intervals, verdicts, and what is missing."""

import numpy as np
import pytest

from studies.engine.evaluation import COLUMNS
from studies.recipes import images, report, unet
from studies.recipes.plan import STUDY
from studies.recipes.report import networks, numbers, tables
from studies.recipes.report.numbers import compare, of_differences, read

NAMES = ("bce", "f1", "f1_bce_1")


def line(trial, **values):
    every = dict.fromkeys([*COLUMNS, "recall_at_half"], 0.5)
    return {"trial": trial, **every, **values}


def write(folder, data, method, size=1024, **columns):
    """Writes a row; each column is a list with a number for each trial."""
    trials = len(next(iter(columns.values())))
    lines = [line(k, **{name: values[k] for name, values in columns.items()}) for k in range(trials)]
    key = {"data": data, "method": method, "batch_size": size}
    STUDY.store(folder).append([key | each for each in lines])


def write_epochs(folder, network, method, trial, lines):
    key = {"network": network, "method": method, "trial": trial}
    images.STUDY.store(folder).append([each | key for each in lines])


def write_masks(folder, variant, method, lines):
    unet.STUDY.store(folder).append([{"variant": variant, "method": method} | each for each in lines])


@pytest.fixture
def some(folder):
    write(folder, "mammography", "bce", f1_at_half=[0.5, 0.6], f1_tuned=[0.7, 0.7], auroc=[0.9, 0.9], brier=[0.1, 0.2])
    write(folder, "mammography", "f1_bce_1", f1_at_half=[0.7, 0.69], f1_tuned=[0.7, 0.7], auroc=[0.9, 0.892])
    write(folder, "adult", "bce", f1_at_half=[0.3, 0.3], f1_tuned=[0.4, 0.4], auroc=[0.8, 0.8])
    write(folder, "adult", "f1_bce_1", f1_at_half=[0.3005, 0.36], f1_tuned=[0.4, 0.4], auroc=[0.9, 0.9])
    write(folder, "adult", "f1", f1_at_half=[0.5, 0.5], auroc=[0.7, 0.7])
    return folder


def test_comparisons_are_paired(some):
    results = read(NAMES, [1024], some)
    found = compare(results, "f1_bce_1", "bce", 1024, "f1_at_half")
    assert (found.wins, found.ties, found.losses) == (3, 1, 0)
    assert found.mean == pytest.approx((0.145 + 0.03025) / 2)
    other = compare(results, "bce", "f1_bce_1", 1024, "f1_at_half")
    assert (other.wins, other.mean) == (0, pytest.approx(-found.mean))
    lower = compare(results, "bce", "f1_bce_1", 1024, "brier")  # 0.1 and 0.2 against 0.5: lower is better
    assert (lower.wins, lower.ties, lower.losses) == (2, 2, 0)
    assert compare(results, "bce", "dice", 1024, "auroc") is None


def test_the_interval_is_that_of_the_mean():
    random = np.random.default_rng(1)
    by_data = [random.normal(0.1, 0.05, 10), random.normal(0.3, 0.05, 10)]
    found = of_differences(by_data)
    deviation = np.sqrt(sum(each.var() / 10 for each in by_data)) / 2
    assert found.mean == pytest.approx(np.mean(by_data))
    assert found.high - found.low == pytest.approx(2 * 1.96 * deviation, rel=0.1)


def test_the_claim_is_decided_for_each_data_set(some):
    found = {verdict.data: verdict for verdict in numbers.verdicts(read(NAMES, [1024], some), 1024)}
    assert found["mammography"].holds  # F1 0.695 against 0.69, AUROC 0.896 against 0.895
    assert not found["adult"].holds  # F1 0.33 against 0.39
    assert not found["mammography"]._replace(blend_auroc=0.8949).holds


def test_means_are_over_the_data_sets_that_all_methods_have(some):
    table = tables.means(read(NAMES, [1024], some), dict.fromkeys(NAMES, "x") | {"f1": "SoftF1"}, 1024)
    assert table.endswith("Means over Adult; of the seconds, medians.")  # Mammography has no SoftF1
    row = next(text for text in table.splitlines() if text.startswith("| SoftF1"))
    assert row.split(" | ")[1] == "**0.500**"
    assert row.split(" | ")[4] == "0.700"


def test_a_pause_on_one_data_set_does_not_spoil_the_seconds(folder):
    for data, seconds in {"mammography": 2, "adult": 3, "letter": 1000}.items():
        write(folder, data, "bce", seconds=[seconds])
    row = tables.means(read(["bce"], [1024], folder), {"bce": "BCE"}, 1024).splitlines()[2]
    assert row.endswith("| 3.0 |")


def test_the_page_has_what_there_is(some):
    write(some, "adult", "f1_memory", 16, f1_at_half=[0.5])
    write(some, "adult", "f1_bce_1", 16, f1_at_half=[0.4])
    write(some, "creditcard_fraud", "accuracy", recall_at_half=[0.0, 0.5, 0.005])
    lines = [line(0, epoch=k, validation_f1=0.9 - abs(k - 3) / 10, f1_at_half=k / 10) for k in range(1, 9)]
    write_epochs(some, "small_cnn", "bce", 0, lines)
    write_epochs(some, "small_cnn", "bce", 1, lines[:5])  # not finished, so not counted
    write_masks(some, "bfloat16", "jaccard", [{"trial": k, "stuck": k, "jaccard": 0.5} for k in (0, 1)])
    text = report.text(some)
    assert "holds on 1 of 2 data sets" in text
    assert "| Kaggle | SoftAccuracy | 2 of 3 | 0.500 |" in text
    assert "| SoftJaccard | 1 of 2 (0.500) |" in text
    assert "| BCE | 1 | 0.300 |" in text  # the third epoch of the only finished trial
    assert "over all data sets: +0.100 (+0.100 to +0.100); wins / ties / losses 1 / 0 / 0." in text
    assert "the memory beats the blend on Adult." in text
    assert "| SoftF1, memory of 4,096 samples minus SoftF1 + BCE | +0.100 (+0.100 to +0.100) |" in text


def test_the_figure_is_the_same_for_the_same_results(some, tmp_path):
    drawn = []
    for _ in range(2):
        report.figures(some, tmp_path)
        drawn.append((tmp_path / "recipes.svg").read_bytes())
    assert drawn[0] == drawn[1]


def test_the_page_says_what_is_not_trained_yet(some):
    left = report.text(some)
    assert "not trained yet: batches of 1,024 of" in left
    assert "84 of 84 trials on CIFAR-10-Frog; " in left
    write_masks(some, "bfloat16", "jaccard", [{"trial": k, "stuck": k, "jaccard": 0.5} for k in (0, 1)])
    again = report.text(some)
    assert again.split("not trained yet")[1].split("\n")[0].endswith("; 238 of 240 trials of the U-Net.")


def test_images_are_compared_seed_by_seed(folder):
    """The third trial of BCE, and the fourth of the blend, have no partner."""
    found = {"bce": {0: (0.5, 0.6, 0.9), 1: (0.6, 0.7, 0.8), 2: (0.1, 0.1, 0.1)}, "f1_bce_1": {0: (0.6, 0.6, 0.9)}}
    found["f1_bce_1"] |= {1: (0.7, 0.7, 0.77), 3: (0.0, 0.0, 0.0)}
    for name, trials in found.items():
        for trial, scores in trials.items():
            columns = dict(zip(("f1_at_half", "f1_tuned", "auroc"), scores, strict=True))
            lines = [line(trial, epoch=k, validation_f1=k, **columns) for k in range(1, 9)]
            write_epochs(folder, "small_cnn", name, trial, lines)
    row = networks.against_bce(folder, "small_cnn").splitlines()[-1]
    assert row.startswith("| SoftF1 + BCE | 2 | +0.100 (+0.100 to +0.100) | +0.000 (+0.000 to +0.000) |")
    assert row.endswith("| -0.015 (-0.030 to +0.000) |")
    verdict = networks.verdict(folder, "small_cnn")
    assert verdict[1:] == pytest.approx((0.65, 0.65, 0.835, 0.85))
    assert "The claim **does not hold** here" in report.text(folder)
    assert networks.verdict(folder, "tiny_darknet") is None


def test_an_empty_folder_gives_an_empty_page(folder):
    assert "##" not in report.text(folder)


def test_the_first_of_equal_epochs_is_chosen():
    lines = [{"epoch": 1, "validation_f1": 0.4}, {"epoch": 2, "validation_f1": 0.6}, {"epoch": 3, "validation_f1": 0.6}]
    assert networks.best_epoch(lines)["epoch"] == 2
