"""Results on disk and the page: resumed, paired, and nothing said that the CSV files do not say."""

import numpy as np
import pytest
from sklearn import metrics

from benchmarks.paper import (
    claims,
    convergence,
    environment,
    epochs,
    evaluation,
    report,
    runner,
    store,
    summary,
    timing,
)
from benchmarks.paper.configurations import TABLES, Configuration, configurations
from benchmarks.paper.layout import LAYOUT


def test_metrics_are_those_of_scikit_learn(rng):
    labels, outputs = (rng.random(200) < 0.2).astype("float32"), rng.random(200)
    ours = evaluation.evaluate(labels, outputs, tuned=0.3)
    at = [outputs >= threshold for threshold in evaluation.THRESHOLDS]
    pairs = {
        "mean_f1": np.mean([metrics.f1_score(labels, p) for p in at]),
        "mean_f3": np.mean([metrics.fbeta_score(labels, p, beta=3) for p in at]),
        "mean_accuracy": np.mean([metrics.accuracy_score(labels, p) for p in at]),
        "mean_balanced_accuracy": np.mean([metrics.roc_auc_score(labels, p) for p in at]),  # the paper's "AUROC"
        "mean_precision": np.mean([metrics.precision_score(labels, p) for p in at]),
        "f1_tuned": metrics.f1_score(labels, outputs >= 0.3),
        "f1_at_half": metrics.f1_score(labels, outputs >= 0.5),
    }
    for name, expected in pairs.items():
        np.testing.assert_allclose(ours[name], expected, err_msg=name)


def test_configurations_have_distinct_files():
    everything = configurations(list(TABLES))
    assert len({c.path for c in everything}) == len(everything)
    assert Configuration("adult", "bce") in everything


def test_an_interrupted_run_is_resumed(tmp_path, monkeypatch, trials):
    wanted = [Configuration("synthetic_05", loss) for loss in ("f1_linear", "bce")]
    calls = []

    def stacked(configuration, trials, bar=None):
        calls.append((configuration.loss, list(trials.seeds)))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return [{"trial": int(seed), "reading": "probabilities", "mean_f1": 0.5} for seed in trials.seeds]

    monkeypatch.setattr(runner, "stacked", stacked)
    monkeypatch.setattr(runner, "load_trials", lambda name, seeds, raw_dir: trials._replace(seeds=np.array(seeds)))
    with pytest.raises(KeyboardInterrupt):
        runner.run(wanted, 2, None, tmp_path)
    runner.run(wanted, 2, None, tmp_path)
    runner.run(wanted, 3, None, tmp_path)
    assert calls == [("f1_linear", [0, 1]), ("bce", [0, 1]), ("bce", [0, 1]), ("f1_linear", [2]), ("bce", [2])]
    assert [row["trial"] for row in store.read(wanted[0], tmp_path)] == [0, 1, 2]
    assert not list(tmp_path.rglob("*.tmp"))


def test_versions_that_only_an_earlier_run_had_are_kept(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(environment, "_ADVERSARIAL", ("pytest",))
        environment.write(tmp_path)
        patch.setattr(environment, "_installed", lambda name: False)
        environment.write(tmp_path)
        assert environment.read(tmp_path)["pytest"] == pytest.__version__
    environment.write(tmp_path)
    assert "pytest" not in environment.read(tmp_path)


def test_the_page_is_what_the_results_say():
    assert report.PAGE.read_text() == report.render()


def test_every_row_of_the_paper_has_its_row():
    ours = {
        (table.name, dataset, row.paper, column)
        for table in LAYOUT
        for dataset in table.datasets
        for row in table.rows
        for column in table.columns
    }
    assert not set(summary._figures()) - ours


def test_differences_are_paired(tmp_path):
    for loss, scores in (("f1_linear", (0.5, 0.9)), ("bce", (0.4, 0.7))):
        rows = [{"trial": k, "reading": "probabilities", "mean_f1": score} for k, score in enumerate(scores)]
        store.add(Configuration("adult", loss), rows, tmp_path)
    left, right = (Configuration("adult", loss) for loss in ("f1_linear", "bce"))
    gap = summary.difference(left, right, ("mean_f1", "mean_f1"), tmp_path)
    np.testing.assert_allclose([gap.mean, gap.deviation, gap.count], [0.15, np.std([0.1, 0.2], ddof=1), 2])
    assert str(summary.measured(left, "probabilities", "mean_f1", tmp_path)) == "0.700 ± 0.283 (n = 2)"


@pytest.mark.parametrize(("f1", "verdict"), [(0.911, "holds (one trial)"), (0.907, "**does not hold** (one trial)")])
def test_one_network_reaches_the_paper_or_not(f1, verdict, tmp_path):
    for loss in ("f1_linear", "f1_linear_mean"):  # after every epoch; the second has the lower validation loss
        rows = [{"epoch": k, "validation_loss": 1 - k / 10, "mean_f1": value} for k, value in enumerate((0.95, f1))]
        store.write_rows(store.epochs_path(Configuration("cifar10_transportation", loss), tmp_path), rows)
    found = [claim for claim in claims.claims(tmp_path) if "reaches" in claim[0]]
    assert [claim[3] for claim in found] == [verdict, verdict]
    assert "mean over thresholds, 2 epochs" in found[1][2]


def test_networks_tested_after_every_epoch_count_at_their_own_best_epochs(tmp_path):
    configuration = Configuration("cifar10_frog", "f1_linear_mean")
    for trial, curve in enumerate([((0.5, 0.70), (0.2, 0.74)), ((0.1, 0.71), (0.4, 0.99), (0.3, 0.98))]):
        rows = [
            dict.fromkeys(epochs.COLUMNS, f1) | {"epoch": k, "seconds": 30, "validation_loss": loss}
            for k, (loss, f1) in enumerate(curve, start=1)
        ]
        store.write_rows(store.epochs_path(configuration, tmp_path, "yolov3_tiny", trial), rows)
    ((_, _, numbers, verdict),) = (claim for claim in claims.claims(tmp_path) if "reaches" in claim[0])
    assert "0.725 (backbone of YOLOv3-tiny, mean over thresholds, 2 to 3 epochs), paper 0.73 - 0.01" in numbers
    assert verdict == "holds (2 trials)"
    section = convergence.convergence_section(tmp_path)
    assert "| 0.725 ± 0.021 (0.73 ± 0.01, -0.01) |" in section
    assert section.rstrip().endswith("| 2 | 1 to 2 | 2 to 3 | 1 to 2 |")


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
