"""The numbers in the README are those of the result files, whatever words are around them."""

import re
from pathlib import Path

from benchmarks.paper.plan.configuration import Configuration
from benchmarks.paper.plan.datasets import TABULAR
from benchmarks.paper.report.numbers import in_paper, measured
from benchmarks.speed import docs_page, results

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def rows_below(header):
    """The rows of the table whose header has these words: the first cell, and the others as numbers."""
    lines = iter(README.splitlines())
    next(line for line in lines if line.startswith("|") and all(word in line for word in header))
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            return
        label, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        yield label, cells


def column_of(label):
    if "paper" in label:
        return None
    return "mean_f1" if "mean" in label else "f1_tuned" if "tuned" in label else "f1_at_half"


def expected(label, dataset):
    if (column := column_of(label)) is None:
        return f"{in_paper('1', dataset, 'f1_linear', 'mean_f1').mean:.2f}"
    loss = "f1_linear" if "SoftF1" in label else "bce"
    return f"{measured(Configuration(dataset, loss), 'probabilities', column).mean:.3f}"


def test_the_table_of_results_is_that_of_the_trials():
    rows = list(rows_below(["CocktailParty", "Adult", "Mammography", "Kaggle"]))
    assert {("SoftF1" in label, column_of(label)) for label, _ in rows} == {
        (True, "mean_f1"),
        (False, None),
        (False, "mean_f1"),
        (True, "f1_at_half"),
        (False, "f1_at_half"),
        (False, "f1_tuned"),
    }
    for label, cells in rows:
        assert cells == [expected(label, dataset) for dataset in TABULAR], label


def test_the_number_with_the_authors_error_is_that_of_the_trials():
    paper, ours = re.search(r"paper's (0\.\d+) on Adult.*?same error we get (0\.\d+)", README, re.DOTALL).groups()
    assert paper == f"{in_paper('1', 'adult', 'f1_linear', 'mean_f1').mean:.2f}"
    authors = measured(Configuration("adult_authors", "f1_linear"), "probabilities", "mean_f1")
    assert ours == f"{authors.mean:.2f}"


def test_the_cost_is_that_of_the_benchmarks():
    (paragraph,) = re.findall(r"^\*\*Cost\.\*\*.*?(?=\n\n)", README, re.DOTALL | re.MULTILINE)
    spans = re.findall(r"\d\.\d+ to \d\.\d+", paragraph)
    facts = docs_page.loss_facts(results.read("loss_speed"))
    assert spans == [facts["linear_ratios"], facts["weighted_linear_ratios"]]
