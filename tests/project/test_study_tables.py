"""The tables of the studies in the docs are those of the results on disk."""

import numpy as np
import pytest

from benchmarks import docs_tables
from benchmarks.classes import records
from benchmarks.operating import report
from benchmarks.paper.records.store import read_lines, write_lines
from benchmarks.recipes import images
from benchmarks.recipes.report import networks


@pytest.mark.parametrize("page", docs_tables.pages(), ids=lambda page: page.name)
def test_tables_are_those_of_the_results(page):
    text = page.read_text()
    assert docs_tables.filled(text) == text, "run python -m benchmarks.docs_tables"


def test_a_stale_table_is_replaced():
    stale = "before\n\n<!-- table: operating linear -->\n| stale |\n<!-- end of table -->\n\nafter\n"
    (page,) = {docs_tables.filled(stale), docs_tables.filled(docs_tables.filled(stale))}
    assert "stale" not in page
    assert "| ICO, published | 23.0 |" in page
    assert page.startswith("before\n\n<!-- table: operating linear -->\n| PR area")
    assert page.endswith("|\n<!-- end of table -->\n\nafter\n")


def test_the_gain_over_balanced_cross_entropy_is_that_of_the_results():
    folder, page = (
        docs_tables.RESULTS / "operating" / "letter",
        (docs_tables.ROOT / "docs/operating_points.md").read_text(),
    )
    for batch in ("full", "512"):
        rows = (f"linear-{batch}-{name}.csv" for name in ("precision_at_recall", "balanced_cross_entropy"))
        difference = report.paired_difference(*(report.by_split(folder / row) for row in rows))
        assert difference.lstrip("+") in page.replace("\n", " "), batch


def values_of(study, score):
    found = records.read(docs_tables.RESULTS / "classes" / f"{study}.csv")
    return {(each.method, each.decision, each.seed): each.value for each in found if each.score == score}


@pytest.mark.parametrize(
    ("study", "score", "rival"),
    [
        ("letter", "f1", "argmax"),
        ("letter", "mcc", "argmax"),
        *((f"wine_quality{training}", "kappa", "offsets") for training in ("", "_by_score", "_as_in_demo")),
    ],
)
def test_gains_over_cross_entropy_are_those_of_the_results(study, score, rival):
    values = values_of(study, score)
    gains = np.array([values[f"{score}+ce", "argmax", seed] - values["ce", rival, seed] for seed in range(10)])
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    assert f"{gains.mean():.3f} ± {error:.3f}" in (docs_tables.ROOT / "docs/classes.md").read_text()


@pytest.mark.parametrize("study", ["wine_quality", "wine_quality_as_in_demo"])
def test_the_blend_and_the_bound_of_cross_entropy_are_those_of_the_results(study):
    values = values_of(study, "kappa")
    gains = np.array([values["kappa+ce", "argmax", seed] - values["ce", "bound", seed] for seed in range(10)])
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    assert f"{gains.mean():+.3f} ± {error:.3f}" in (docs_tables.ROOT / "docs/classes.md").read_text()


def test_kappa_on_the_splits_that_the_demo_has_not_seen():
    values = values_of("wine_quality_as_in_demo", "kappa")
    rows = (("ce", "offsets"), ("kappa+ce", "argmax"))
    rival, blend = (np.mean([values[(*row, seed)] for seed in range(5, 10)]) for row in rows)
    said = f"a kappa of {rival:.3f} and the blend with kappa {blend:.3f}"
    assert said in (docs_tables.ROOT / "docs/classes.md").read_text().replace("\n", " ")


def test_the_pictures_in_short_are_those_with_all_seeds_on_both_networks(tmp_path):
    trials = {("bce", "small_cnn"): 3, ("bce", "tiny_darknet"): 3, ("f1", "small_cnn"): 3, ("f1", "tiny_darknet"): 2}
    for (name, network), count in trials.items():
        for trial in range(count):
            lines = [
                dict.fromkeys(("f1_at_half", "f1_tuned", "auroc", "calibration_error"), trial / 10)
                | {"validation_f1": epoch}
                for epoch in range(images.STUDY.epochs)
            ]
            write_lines(tmp_path / f"cifar10_frog-{network}" / f"{name}-trial{trial}.csv", lines)
    header, _, *rows = networks.in_short(tmp_path).splitlines()
    assert header.startswith("|  | small CNN: F1 at 0.5 | small CNN: tuned | ")
    assert rows == ["| BCE |" + " 0.100 |" * 8]


def test_soft_f1_alone_runs_away_on_the_small_cnn():
    """As choosing.md and troubleshooting.md say: logits in the hundreds, and nothing found in the end."""
    files = sorted((docs_tables.RESULTS / "recipes" / "cifar10_frog-small_cnn").glob("f1-trial*.csv"))
    trials = [read_lines(file) for file in files]
    assert len(trials) == 3
    for lines in trials:
        assert min(float(line["threshold"]) for line in lines[:-2]) < np.exp(-100)
        assert float(lines[-1]["f1_at_half"]) == 0


@pytest.mark.parametrize("network", images.VARIANTS)
@pytest.mark.parametrize("name", ["f1_bce_3", "f1_bce_scheduled"])
def test_more_cross_entropy_is_better_than_as_much_on_pictures(network, name):
    """As choosing.md says of one seed."""
    more, as_much = (
        networks.best_epochs(docs_tables.RESULTS / "recipes", network, each) for each in (name, "f1_bce_1")
    )
    assert float(more[0]["f1_at_half"]) > float(as_much[0]["f1_at_half"])
