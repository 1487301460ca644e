"""The benchmark of operating points: runs that are resumed, and tables with paired differences."""

import numpy as np
import pytest

from benchmarks import frog
from benchmarks.operating import __main__ as command
from benchmarks.operating import data, images, report, small_batches
from benchmarks.paper.records.store import write_lines


@pytest.fixture
def letters(monkeypatch):
    """A small split in the place of a data set, and the seeds that were asked for."""
    asked = []

    def load(name, seed, raw_dir=None):
        asked.append((name, seed))
        random = np.random.default_rng(seed)
        y = (np.arange(240) % 6 == 0).astype("float32")[:, None]
        x = (random.normal(size=(240, 3)) + y).astype("float32")
        return data.Split(*(data.Part(x[rows], y[rows]) for rows in (slice(0, 120), slice(120, 180), slice(180, 240))))

    monkeypatch.setattr(data, "load", load)
    return asked


def test_a_run_trains_only_what_is_missing(letters, tmp_path, capsys):
    arguments = ["--data", "letter", "--model", "linear", "--batch", "full", "32", "--steps", "50"]
    arguments += ["--method", "cross_entropy", "precision_at_recall", "--results", str(tmp_path)]
    command.main([*arguments, "--splits", "1"])
    path = tmp_path / "letter" / "linear-32-precision_at_recall.csv"
    (first,) = report.read(path)
    command.main([*arguments, "--splits", "2"])
    rows = report.read(path)
    assert rows[0] == first
    assert [row["split"] for row in rows] == [0, 1]
    assert all(0 < row["test"] <= 100 for row in rows)
    out = capsys.readouterr().out
    assert out.count("letter linear 32 precision_at_recall {") == 2  # one line for each split
    assert "| letter | linear | full | precision_at_recall | 2 |" in out
    assert "TFCO 20.5, ICO 23.0" in out


def test_differences_are_paired(tmp_path):
    tested = {"cross_entropy": (10.0, 20.0, 33.0), "soft_f1": (13.0, 24.0)}
    for name, values in tested.items():
        rows = [{"split": k, "validation": 1.0, "test": value, "step": 50} for k, value in enumerate(values)]
        report.write(tmp_path / "letter" / f"linear-full-{name}.csv", rows)
    assert "| soft_f1 | 2 | 18.50 | +3.50 ± 0.50 |" in report.table(tmp_path)


def test_small_batches_are_compared_with_their_own_threshold(letters, tmp_path, capsys):
    arguments = ["--splits", "2", "--steps", "50", "--batch", "32", "--results", str(tmp_path)]
    small_batches.main(arguments)
    own, moving = (report.by_split(tmp_path / f"linear-32-{name}_threshold.csv") for name in ("own", "moving"))
    expected = report.paired_difference(moving, own)
    assert (
        f"| 32 | moving threshold | 2 | {np.mean(list(moving.values())):.2f} | {expected} |" in capsys.readouterr().out
    )
    letters.clear()
    small_batches.main(arguments)
    assert "moving_threshold {" not in capsys.readouterr().out  # everything is on disk


def test_rates_on_images_by_brute_force():
    random = np.random.default_rng(0)
    parts = []
    for samples in (400, 600):
        y = (np.arange(samples) % 10 == 0).astype("float32")
        parts.append((y, 2 * random.normal(size=samples) + 2 * y))
    found = images.columns(*parts)

    def fnr(part, rate):
        y, logits = part
        cuts = [cut for cut in [*logits, np.inf] if np.mean(logits[y == 0] >= cut) <= rate + 1e-12]
        return 100 * min(np.mean(logits[y == 1] < cut) for cut in cuts)

    for rate in (0.01, 0.05):
        name = f"{100 * rate:g}"
        assert found[f"validation_fnr_at_{name}"] == pytest.approx(fnr(parts[0], rate))
        assert found[f"test_fnr_at_{name}"] == pytest.approx(fnr(parts[1], rate))
        assert found[f"tuned_fnr_at_{name}"] != pytest.approx(found[f"test_fnr_at_{name}"])


def test_the_epoch_of_images_is_chosen_by_validation_data(tmp_path):
    def line(epoch, validation, test):
        rates = {f"{part}_at_{rate}": test for rate in (1, 5) for part in ("test_fnr", "tuned_fnr", "tuned_fpr")}
        return {"epoch": epoch, "seconds": 1.0, **{f"validation_fnr_at_{rate}": validation for rate in (1, 5)}, **rates}

    lines = [line(k, validation, 10.0 + k) for k, validation in enumerate((9.0, 5.0, 7.0, 6.0, 8.0, 5.5))]
    write_lines(tmp_path / frog.path(images.NETWORK, "at_99", 0), lines)
    write_lines(tmp_path / frog.path(images.NETWORK, "soft_f1", 0), lines[:3])  # not finished, so not shown
    table = images.table(tmp_path)
    assert "| SoftSensitivityAtSpecificity(0.99) | 11.0 | 11.0 (11.00) | 11.0 | 11.0 (11.00) |" in table
    assert "SoftF1" not in table
