"""The store keeps every row, and what the docs show of it is what it holds."""

import re

import numpy as np
import pytest

from benchmarks.speed import results as on_disk
from studies import catalog, evidence
from studies.harness import environment, report, store
from studies.harness.store import RESULTS, Store
from studies.paper import TABLES
from studies.paper.methods.svm import COSTS
from studies.recipes import images
from studies.recipes.report import networks

KEYS = ("data", "method", "trial")
BEGUN = [name for name in catalog.STUDIES if catalog.study(name).store().table.exists()]  # the others have no trial yet


def row(data, method, trial, **values):
    return {"data": data, "method": method, "trial": trial, **values}


def test_a_row_is_read_from_the_journal_and_then_from_the_table(folder):
    kept = Store("made_up", KEYS, folder)
    kept.append([row("b", "x", 10, f1=1 / 3), row("b", "x", 9, f1=0.25, note="odd")])
    before = kept.read()
    assert not kept.table.exists()
    assert kept.collect() == 2
    assert kept.table.read_text() == "data,method,trial,f1,note\nb,x,9,0.25,odd\nb,x,10,0.333333,\n"  # by number
    assert sorted(map(str, kept.read())) == sorted(map(str, before))
    assert not list(kept.scratch.iterdir())
    assert kept.collect() == 0


def test_collecting_changes_no_text_of_rows_that_are_there(folder):
    kept = Store("made_up", KEYS, folder)
    folder.mkdir()
    kept.table.write_text("data,method,trial,value\na,x,0,0.80790507046941750\n")
    kept.append([row("a", "x", 1, value=0.5)])
    kept.collect()
    assert "a,x,0,0.80790507046941750\na,x,1,0.5\n" in kept.table.read_text()


def test_a_later_row_replaces_an_earlier_one(folder):
    kept = Store("made_up", KEYS, folder)
    for value in (0.1, 0.2):
        kept.append([row("a", "x", 0, f1=value)])
    assert [line["f1"] for line in kept.read()] == [0.2]
    assert kept.grouped("data")["a",][0]["f1"] == 0.2
    kept.append([row("a", "x", 0, f1=0.3)])
    assert kept.grouped("data")["a",][0]["f1"] == 0.3  # read again, because a file has changed


def test_a_line_that_was_cut_off_is_left_out(folder):
    kept = Store("made_up", KEYS, folder)
    kept.append([row("a", "x", 0, f1=0.5)])
    (journal,) = kept.scratch.glob("*.jsonl")
    journal.write_text(journal.read_text() + '{"data": "a", "meth')
    assert [line["trial"] for line in kept.read()] == [0]
    assert kept.collect() == 1


def test_a_killed_collect_leaves_the_old_table(folder, monkeypatch):
    kept = Store("made_up", KEYS, folder)
    kept.append([row("a", "x", 0, f1=0.5)])
    kept.collect()
    kept.append([row("a", "x", 1, f1=0.5)])
    with monkeypatch.context() as patch:
        patch.setattr(store.os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            kept.collect()
    assert [line["trial"] for line in kept.read()] == [0, 1]
    assert len(kept.table.read_text().splitlines()) == 2


def test_a_row_needs_its_keys(folder):
    with pytest.raises(ValueError, match=r"Received: \['trial'\] missing"):
        Store("made_up", KEYS, folder).append([{"data": "a", "method": "x"}])


@pytest.mark.parametrize("name", BEGUN)
def test_the_committed_tables_are_as_collect_writes_them(name, folder):
    study = catalog.study(name)
    rows = store.read_text(study.store().table)
    store.write(copy := folder / "copy.csv", rows, study.keys)
    assert copy.read_text() == study.store().table.read_text()
    assert len({tuple(row[key] for key in study.keys) for row in rows}) == len(rows)


@pytest.mark.parametrize("name", catalog.STUDIES)
def test_every_committed_row_belongs_to_the_plan(name):
    study = catalog.study(name)
    names = list(study.plan[0])
    assert set(study.store().grouped(*names)) <= {tuple(key[each] for each in names) for key in study.plan}


def test_the_folder_of_results_has_nothing_else():
    generated = {f"{name}.csv" for name in BEGUN} | {f"{name}.md" for name in catalog.PAGES}
    assert {path.name for path in RESULTS.iterdir()} == generated | {"published.csv", "environment.json", "demo.json"}


def test_the_cost_of_an_svm_has_a_column_of_its_own():
    rows = [row for row in TABLES.store().read() if row["loss"].startswith("svm_")]
    assert len(rows) == 120
    assert not [row for row in rows if "validation_loss" in row]
    assert {row["cost"] for row in rows} <= set(COSTS)


def test_versions_that_only_an_earlier_run_had_are_kept(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(environment, "_ADVERSARIAL", ("pytest",))
        environment.write(tmp_path)
        patch.setattr(on_disk, "version", lambda package: None)
        environment.write(tmp_path)
        assert environment.read(tmp_path)["pytest"] == pytest.__version__
    environment.write(tmp_path)
    assert "pytest" not in environment.read(tmp_path)


GENERATED = report.generated()


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: str(path.relative_to(report.REPOSITORY)))
def test_generated_pages_are_those_of_the_results(path):
    assert path.read_text() == GENERATED[path], "run python -m studies report"


def test_figures_are_those_of_the_results(tmp_path):
    for draw in catalog.FIGURES:
        catalog.load(draw)(RESULTS, tmp_path)
    for figure in tmp_path.iterdir():
        committed = report.REPOSITORY / "docs" / "images" / figure.name
        # Versions of Matplotlib differ in names and digits; the points of all lines are compared.
        found, wanted = (re.findall(r" d=\"(M .*?)\"", path.read_text(), re.DOTALL) for path in (figure, committed))
        numbers = [np.array(re.findall(r"-?\d+\.\d+", " ".join(each)), float) for each in (found, wanted)]
        assert len(numbers[0]) == len(numbers[1]), "run python -m studies report"
        np.testing.assert_allclose(*numbers, atol=0.5)


@pytest.mark.parametrize("page", report.pages(), ids=lambda page: page.name)
def test_a_changed_number_fails_and_a_reworded_sentence_does_not(page):
    """Breaks the first digit of each marked place; then every word outside of them."""
    text = page.read_text()
    parts = re.split(r"(<!-- (?:table|number): .*?<!-- end(?: of table)? -->)", text, flags=re.DOTALL)
    assert len(parts) > 1
    for place in parts[1::2]:
        marker, rest = place.split("-->", 1)
        broken = re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), rest, count=1)
        assert broken != rest, marker
        assert report.filled(f"{marker}-->{broken}", evidence.MARKED) == place
    reworded = "".join(part if k % 2 else re.sub(r"[A-Za-z]+", "other", part) for k, part in enumerate(parts))
    assert report.filled(reworded, evidence.MARKED) == reworded


def test_a_stale_place_is_replaced():
    stale = "before\n\n<!-- table: operating linear -->\n| stale |\n<!-- end of table -->\n\nafter "
    stale += "<!-- number: kappa gain wine_quality -->stale<!-- end -->.\n"
    page = report.filled(stale, evidence.MARKED)
    assert report.filled(page, evidence.MARKED) == page
    assert "stale" not in page
    assert "| ICO, published | 23.0 |" in page
    assert page.startswith("before\n\n<!-- table: operating linear -->\n| PR area")
    assert re.search(r"after <!-- number: kappa gain wine_quality -->0\.\d{3} ± 0\.\d{3}<!-- end -->\.\n$", page)


def test_every_marked_place_is_used():
    used = set(re.findall(r"<!-- (?:table|number): ([\w .]+) -->", "".join(p.read_text() for p in report.pages())))
    assert used == set(evidence.MARKED)


def test_images_in_short_are_those_with_all_seeds_on_both_networks(folder):
    trials = {("bce", "small_cnn"): 3, ("bce", "tiny_darknet"): 3, ("f1", "small_cnn"): 3, ("f1", "tiny_darknet"): 2}
    columns = ("f1_at_half", "f1_tuned", "auroc", "calibration_error")
    for (name, network), count in trials.items():
        for trial in range(count):
            key = {"network": network, "method": name, "trial": trial, **dict.fromkeys(columns, trial / 10)}
            rows = [key | {"epoch": epoch, "validation_f1": epoch} for epoch in range(images.STUDY.epochs)]
            images.STUDY.store(folder).append(rows)
    header, _, *rows = networks.in_short(folder).splitlines()
    assert header.startswith("|  | small CNN: F1 at 0.5 | small CNN: tuned | ")
    assert rows == ["| BCE |" + " 0.100 |" * 8]
