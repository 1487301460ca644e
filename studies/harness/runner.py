"""Trains what is missing, in one process or several; each row is on disk as soon as it is finished."""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from studies.harness.store import RESULTS, Line, Store
from studies.harness.study import Job, Key, Study


def run(
    study: Study,
    wanted: Sequence[Key] | None = None,
    *,
    trials: int | None = None,
    epochs: int | None = None,
    raw_dir: str | None = None,
    folder: Path = RESULTS,
    jobs: int = 1,
    list_only: bool = False,
) -> None:
    """Trains the trials that are not finished, of the whole plan or of a part of it.

    Args:
        study: What to train.
        wanted: Entries of its plan. Defaults to `None`, all of them.
        trials: Number of trials. Defaults to `None`, the study's own.
        epochs: Number of epochs, of a study that is tested after each. Defaults to `None`, the study's own.
        raw_dir: Folder of raw data files. Defaults to `None`, the one that the environment names.
        folder: Where results are.
        jobs: How many processes.
        list_only: Whether to say what would be trained, and train nothing.
    """
    left = missing(study, wanted, trials=trials, epochs=epochs, raw_dir=raw_dir, folder=folder)
    _announce(study, left, folder)
    if list_only:
        return
    places = [f"[{number}/{len(left)}]" for number in range(1, len(left) + 1)]
    if jobs == 1:
        limit_threads(study.threads)
        for job, place in zip(left, places, strict=True):
            run_trials(study, job, folder, place)
        return
    # A process that has run TensorFlow cannot be forked.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(jobs, context, limit_threads, (1,)) as pool:
        tasks = [pool.submit(_run_named, study.name, job, folder, p) for job, p in zip(left, places, strict=True)]
        for task in concurrent.futures.as_completed(tasks):
            task.result()


def run_trials(study: Study, job: Job, folder: Path = RESULTS, place: str = "") -> None:
    """Trains one job; a row is in the journal before the next one is asked for."""
    store, started = study.store(folder), time.perf_counter()
    what = f"{place} {study.name} {describe(job)}".strip()

    def say(text: str) -> None:
        print(f"{what}: {text}, {time.perf_counter() - started:.0f} s", flush=True)

    for line in study.train(job._replace(say=seldom(say))):
        store.append([{**job.key, **line}])
        say(", ".join(f"{name} {value:.4g}" for name, value in line.items() if isinstance(value, float))[:160])


def missing(
    study: Study,
    wanted: Sequence[Key] | None = None,
    *,
    trials: int | None = None,
    epochs: int | None = None,
    raw_dir: str | None = None,
    folder: Path = RESULTS,
) -> list[Job]:
    """Returns the jobs that are left; with `together`, one for each entry of the plan, else one for each trial."""
    store, epochs = study.store(folder), epochs or study.epochs
    count, found = study.trials if trials is None else trials, []
    for key in study.plan if wanted is None else wanted:
        rows = _by_trial(store, key)
        left = tuple(trial for trial in range(count) if not _complete(study, key, rows.get(trial, []), epochs))
        for each in [left] if study.together else [(trial,) for trial in left]:
            done = [row for trial in each for row in rows.get(trial, [])]
            if each:
                found.append(Job(key, each, done, epochs, store.scratch, raw_dir))
    return found if study.together else sorted(found, key=lambda job: job.trials)


def describe(job: Job) -> str:
    """Returns a job in a line."""
    values = " ".join(str(value) for value in job.key.values())
    return f"{values}, trial {', '.join(map(str, job.trials))}"


def seldom(say: Callable[[str], None], pause: float = 20.0) -> Callable[[str], None]:
    """Returns `say`, at most once in `pause` seconds."""
    last = [time.perf_counter()]

    def sometimes(text: str) -> None:
        if time.perf_counter() - last[0] >= pause:
            last[0] = time.perf_counter()
            say(text)

    return sometimes


def limit_threads(threads: int | None) -> None:
    """Leaves the other cores to other processes, if TensorFlow has not run anything yet."""
    if threads:
        import tensorflow as tf

        with contextlib.suppress(RuntimeError):  # something has run already: threads stay as they are
            tf.config.threading.set_intra_op_parallelism_threads(threads)
            tf.config.threading.set_inter_op_parallelism_threads(1)


def _complete(study: Study, key: Key, rows: list[Line], epochs: int | None) -> bool:
    return len(rows) >= epochs if epochs else study.complete(key, rows)


def _by_trial(store: Store, key: Key) -> dict[int, list[Line]]:
    found: dict[int, list[Line]] = {}
    for row in store.grouped(*key).get(tuple(key.values()), []):
        found.setdefault(row["trial"], []).append(row)
    return found


def _announce(study: Study, left: list[Job], folder: Path) -> None:
    """Prints each job and about how long it takes, by the trials on disk that differ from it in one value at most."""
    minutes = [_minutes(study, job, study.store(folder)) for job in left]
    for job, each in zip(left, minutes, strict=True):
        print(f"about {each:6.1f} min  {study.name} {describe(job)}")
    print(f"{len(left)} to train, about {sum(minutes) / 60:.1f} hours on one core", flush=True)


def _minutes(study: Study, job: Job, store: Store) -> float:
    share = 1 - len(job.done) / job.epochs if job.epochs else 1.0
    for left_out in (None, *reversed(job.key)):
        names = [name for name in job.key if name != left_out]
        rows = store.grouped(*names).get(tuple(job.key[name] for name in names), [])
        if seconds := [float(row["seconds"]) for row in rows if "seconds" in row]:
            trial = statistics.median(seconds) * (job.epochs or 1)
            return trial / 60 * share * len(job.trials)
    return study.minutes * share * len(job.trials)


def _run_named(name: str, job: Job, folder: Path, place: str) -> None:
    from studies.catalog import study

    run_trials(study(name), job, folder, place)
