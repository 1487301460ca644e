"""Runs the rows that are not finished yet; each is written when it is done, so a killed run can be resumed."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.paper.records.store import Line, read_lines, write_lines
from benchmarks.recipes.plan import SAMPLES, Row, budget

FOLDER = Path(__file__).parents[1] / "results" / "recipes"
# Of ten trials on one core of a shared machine; replaced by the times of the rows on disk.
SECONDS_PER_UPDATE = {8: 2.2e-4, 16: 2.6e-4, 32: 3.4e-4, 128: 7e-4, 1024: 4e-3}
SECONDS_TO_COMPILE = 15.0


def run(rows: list[Row], trials: int, raw_dir: str | None, folder: Path = FOLDER, jobs: int = 1) -> None:
    """Trains the rows that are not finished, in `jobs` processes."""
    left = [row for row in rows if missing_trials(row, trials, folder)]
    print_estimates(left, trials, folder)
    if jobs == 1:
        for number, row in enumerate(left, 1):
            _run_row(row, trials, raw_dir, folder, f"[{number}/{len(left)}]")
        return
    # A process that has run TensorFlow cannot be forked.
    with concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), one_thread) as pool:
        tasks = [
            pool.submit(_run_row, row, trials, raw_dir, folder, f"[{number}/{len(left)}]")
            for number, row in enumerate(left, 1)
        ]
        for task in concurrent.futures.as_completed(tasks):
            task.result()


def missing_trials(row: Row, trials: int, folder: Path) -> tuple[int, ...]:
    """Returns the trials, of 0 to `trials` - 1, that have no line yet."""
    finished = {int(line["trial"]) for line in read_lines(folder / row.path)}
    return tuple(trial for trial in range(trials) if trial not in finished)


def print_estimates(rows: list[Row], trials: int, folder: Path) -> None:
    """Prints how long each row takes at most, and all together; early stopping makes most of them shorter."""
    seconds = [estimate(row, len(missing_trials(row, trials, folder)), folder) for row in rows]
    for row, each in zip(rows, seconds, strict=True):
        print(f"at most {each / 60:6.1f} min  {row.path}")
    print(f"{len(rows)} rows, at most {sum(seconds) / 3600:.1f} hours", flush=True)


def estimate(row: Row, trials: int, folder: Path) -> float:
    """Returns how many seconds a row may take, from rows of the same batch size if there are any."""
    samples = SAMPLES[row.data]
    updates = budget(samples, row.batch_size).epochs * -(-samples // row.batch_size)
    updates *= 2 if "oversampled" in row.method else 1
    return SECONDS_TO_COMPILE + updates * _seconds_per_update(row.batch_size, folder) * max(trials, 1) / 10


def _seconds_per_update(batch_size: int, folder: Path) -> float:
    """Returns the median over what was measured, for ten trials."""
    found = []
    for path in folder.glob(f"*/*-batch{batch_size}.csv"):
        lines = read_lines(path)
        found.append(10 * statistics.mean(float(line["seconds"]) / float(line["updates"]) for line in lines))
    default = SECONDS_PER_UPDATE.get(batch_size, 4e-6 * batch_size + 2e-4)
    return statistics.median(found) if found else default


def _run_row(row: Row, trials: int, raw_dir: str | None, folder: Path, place: str) -> None:
    seeds, started = missing_trials(row, trials, folder), time.perf_counter()

    def say(text: str) -> None:
        print(f"{place} {row.path}: {text}, {time.perf_counter() - started:.0f} s", flush=True)

    new = trained_lines(row, seeds, raw_dir, _seldom(say))
    path = folder / row.path
    lines = sorted([*read_lines(path), *new], key=lambda line: line["trial"])
    write_lines(path, lines)
    say(f"F1 at 0.5 {statistics.mean(float(line['f1_at_half']) for line in lines):.3f}, {len(lines)} trials written")


def _seldom(say: Callable[[str], None], pause: float = 20.0) -> Callable[[str], None]:
    """Returns `say`, at most once in `pause` seconds."""
    last = [time.perf_counter()]

    def seldom(text: str) -> None:
        if time.perf_counter() - last[0] >= pause:
            last[0] = time.perf_counter()
            say(text)

    return seldom


def trained_lines(row: Row, seeds: tuple[int, ...], raw_dir: str | None, say: Callable[[str], None]) -> list[Line]:
    """Trains the trials of a row and returns their lines."""
    from benchmarks.paper.methods.data import balanced
    from benchmarks.paper.methods.side_by_side import network
    from benchmarks.recipes import engine, evaluation, methods
    from benchmarks.recipes.data import load

    original, method = load(row.data, seeds, raw_dir), methods.ALL[row.method]
    data = balanced(original, method.balance)
    limits = budget(original.train.y.shape[1], row.batch_size)
    trained = engine.train(data, method, row.batch_size, limits, say)
    validation, test = (network.logits(trained.weights, part.x).numpy().T for part in (data.validation, data.test))
    progress = {"epochs": trained.epochs, "updates": trained.updates, "seconds": trained.seconds / len(seeds)}
    return [
        {"trial": seed, "best_epoch": int(trained.best_epoch[k]), **progress}
        | evaluation.columns((data.validation.y[k], validation[k]), (data.test.y[k], test[k]))
        for k, seed in enumerate(seeds)
    ]


def one_thread() -> None:
    """Leaves the other cores to the other processes."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
