"""The study of operating points: runs that are resumed, and tables with paired differences."""

import numpy as np
import pytest

from studies import operating
from studies.harness import runner
from studies.operating import images, report, small_batches, training


@pytest.fixture
def _letters(monkeypatch):
    """A small split in the place of a data set."""

    def load(name, seed, raw_dir=None):
        random = np.random.default_rng(seed)
        y = (np.arange(240) % 6 == 0).astype("float32")[:, None]
        x = (random.normal(size=(240, 3)) + y).astype("float32")
        return training.Split(
            *(training.Part(x[rows], y[rows]) for rows in (slice(0, 120), slice(120, 180), slice(180, 240)))
        )

    for module in (operating, small_batches):
        monkeypatch.setattr(module, "load", load)
    monkeypatch.setattr(training.scores, "__defaults__", (50,))


@pytest.mark.usefixtures("_letters")
def test_a_run_trains_only_what_is_missing(folder):
    only = {"data": ["letter"], "model": ["linear"], "batch_size": ["full"]}
    wanted = operating.STUDY.selected(only | {"method": ["cross_entropy", "precision_at_recall"]})
    wanted += [key | {"batch_size": 32} for key in wanted[1:]]
    for trials in (1, 2):
        runner.run(operating.STUDY, wanted, trials=trials, folder=folder)
    rows = operating.STUDY.store(folder).read()
    assert sorted((row["method"], row["batch_size"], row["trial"]) for row in rows if row["batch_size"] == 32) == [
        ("precision_at_recall", 32, trial) for trial in (0, 1)
    ]
    assert len(rows) == 6
    assert all(0 < row["test"] <= 100 for row in rows)
    assert "| ICO, published | 23.0 |  | 73.5 |  | 40.3 |  |" in report.table("linear", folder)


def test_differences_are_paired(folder):
    tested = {"cross_entropy": (10.0, 20.0, 33.0), "soft_f1": (13.0, 24.0)}
    for name, values in tested.items():
        key = {"data": "letter", "model": "linear", "batch_size": "full", "method": name}
        rows = [{**key, "trial": k, "validation": 1.0, "test": value, "step": 50} for k, value in enumerate(values)]
        operating.STUDY.store(folder).append(rows)
    table = report.table("linear", folder)
    assert "| cross-entropy | 21.0 |  |  |  |  |  |" in table
    assert "| `SoftF1` | 18.5 (+3.5 ± 0.5) |  |  |  |  |  |" in table
    assert "published" not in report.table("mlp", folder)


def test_small_batches_are_compared_with_their_own_threshold(folder):
    for name, values in {"own_threshold": (10.0, 12.0), "moving_threshold": (9.0, 12.0)}.items():
        rows = [{"batch_size": 128, "method": name, "trial": k, "test": value} for k, value in enumerate(values)]
        small_batches.STUDY.store(folder).append(rows)
    table = small_batches.table(folder)
    assert "| 128 | own threshold | 2 | 11.00 |  |" in table
    assert "| 128 | moving threshold | 2 | 10.50 | -0.5 ± 0.5 |" in table


@pytest.mark.usefixtures("_letters")
def test_a_moving_threshold_is_trained(folder):
    runner.run(small_batches.STUDY, [{"batch_size": 32, "method": "moving_threshold"}], trials=1, folder=folder)
    (row,) = small_batches.STUDY.store(folder).read()
    assert 0 < row["test"] <= 100


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


def test_the_epoch_of_images_is_chosen_by_validation_data(folder):
    def line(epoch, validation, test):
        rates = {f"{part}_at_{rate}": test for rate in (1, 5) for part in ("test_fnr", "tuned_fnr", "tuned_fpr")}
        return {"epoch": epoch, "seconds": 1.0, **{f"validation_fnr_at_{rate}": validation for rate in (1, 5)}, **rates}

    lines = [line(k, validation, 10.0 + k) for k, validation in enumerate((9.0, 5.0, 7.0, 6.0, 8.0, 5.5))]
    store = images.STUDY.store(folder)
    store.append([{"method": "at_99", "trial": 0, **line} for line in lines])
    store.append([{"method": "soft_f1", "trial": 0, **line} for line in lines[:3]])  # not finished, so not shown
    table = images.table(folder)
    assert "| SoftSensitivityAtSpecificity(0.99) | 11.0 | 11.0 (11.00) | 11.0 | 11.0 (11.00) |" in table
    assert "SoftF1" not in table
