"""The numbers in the README are those of the result files, whatever words are around them."""

import hashlib
import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper.plan.configuration import Configuration
from benchmarks.paper.plan.datasets import TABULAR
from benchmarks.paper.report.numbers import in_paper, measured
from benchmarks.speed import docs_page, results

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
DEMO = ROOT / "benchmarks/results/demo/results.json"  # what `make demo` wrote to runs/demo


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


@pytest.mark.parametrize("problem", ["excellent", "grade"])
def test_the_tables_of_the_demo_are_what_it_printed(problem, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")  # as `python examples/demo.py` does
    table = runpy.run_path(str(ROOT / "examples/demo.py"))["table"]
    section = re.search(rf"\[start:demo-{problem}\] -->\n(.*?)\n<!--", README, re.DOTALL).group(1)
    assert section == table(json.loads(DEMO.read_text())[problem])


def test_the_figure_of_the_demo_was_drawn_from_its_numbers():
    digest = hashlib.sha256(DEMO.read_bytes()).hexdigest()
    assert f"results.json, sha256 {digest}".encode() in (ROOT / "docs/images/demo.png").read_bytes()


def test_what_the_readme_says_of_the_demo_is_so():
    results = json.loads(DEMO.read_text())
    mean = {
        (problem, label, column): np.mean(values)
        for problem in ("excellent", "grade")
        for label, row in results[problem].items()
        for column, values in {**row["test"], "validation": row["validation"]}.items()
    }
    blend = "SoftKappa + 0.3 cross-entropy"
    kappa = {label: mean["grade", label, "quadratic kappa"] for label in results["grade"]}
    assert kappa[blend] > kappa["cross-entropy, offsets tuned"] > kappa["cross-entropy"]
    f1 = {label: mean["excellent", label, "F1"] for label in results["excellent"]}
    assert f1["balanced BCE"] > f1["SoftF1 + BCE"] > f1["BCE, threshold tuned"] >= f1["SoftF1"] > f1["BCE"]
    areas = {label: mean["excellent", label, "AUPRC"] for label in results["excellent"]}
    assert areas["SoftF1 + BCE"] == pytest.approx(areas["BCE"], abs=0.01)
    assert areas["SoftF1"] < areas["BCE"] - 0.05
    chosen = max(results["excellent"], key=lambda label: mean["excellent", label, "validation"])
    assert chosen == "balanced BCE"
    assert mean["excellent", "BCE", "recall"] < 0.1
    assert np.ptp(results["curves"]["SoftF1"]["mean"][9:45]) < 0.05  # thresholds 0.2 to 0.9
