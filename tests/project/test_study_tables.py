"""The tables of the studies in the docs are those of the results on disk."""

import numpy as np
import pytest

from benchmarks import docs_tables
from benchmarks.classes import records
from benchmarks.operating import report


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
