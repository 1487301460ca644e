"""Runs configurations that are not finished yet, with a progress bar, and writes each as soon as it is."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

from benchmarks.paper import engine, environment, evaluation, network, objectives, store
from benchmarks.paper.configurations import IMAGES, SVMS, Configuration
from benchmarks.paper.data import Trials, balanced, load_trials


def run(wanted: list[Configuration], trials: int, raw_dir: str | None, folder: Path = store.FOLDER) -> None:
    """Runs what is missing of `wanted`.

    Args:
        wanted: Configurations, best grouped by data set: the last one loaded is kept.
        trials: Number of trials.
        raw_dir: Folder of raw data files, or `None` for what the environment says.
        folder: Where results are.
    """
    environment.write(folder)
    load = functools.lru_cache(maxsize=1)(lambda dataset, seeds: load_trials(dataset, list(seeds), raw_dir))
    bar = tqdm([c for c in wanted if store.missing_trials(c, trials, folder)], unit="configuration")
    for configuration in bar:
        bar.set_description(configuration.path)
        seeds = store.missing_trials(configuration, trials, folder)
        for rows in _results(configuration, seeds, load, bar, raw_dir):
            store.add(configuration, rows, folder)


def _results(configuration: Configuration, seeds: list[int], load, bar: tqdm, raw_dir) -> Iterator[list[store.Row]]:
    """Yields lines as trials are finished."""
    if configuration.dataset in IMAGES:
        from benchmarks.paper import cifar10  # imported here, like the next: not every run needs Keras models or torch

        for seed in seeds:
            yield cifar10.run_trial(configuration, seed, raw_dir)
    elif configuration.loss == "adversarial_f1":
        from benchmarks.paper import adversarial

        for seed in seeds:
            yield adversarial.run_trial(load(configuration.dataset, (seed,)))
    elif configuration.loss in SVMS:
        from benchmarks.paper import svm

        for seed in seeds:
            yield svm.run_trial(configuration.loss, load(configuration.dataset, tuple(seeds)), seeds.index(seed))
    else:
        yield stacked(configuration, load(configuration.dataset, tuple(seeds)), bar)


def stacked(configuration: Configuration, trials: Trials, bar: tqdm | None = None) -> list[store.Row]:
    """Trains all trials side by side and returns a line for each trial and reading."""

    def report(epoch: int, training: int) -> None:
        if bar is not None:
            bar.set_postfix_str(f"epoch {epoch}, {training} trials in training")

    data = balanced(trials, configuration.balance)
    plan = engine.Plan(configuration.batch_size, start=configuration.start)
    trained = engine.train(data, objectives.OBJECTIVES[configuration.loss], plan, report)
    validation, test = (network.logits(trained.weights, part.x).numpy().T for part in (data.validation, data.test))
    rows = []
    for reading in objectives.readings(configuration.loss):
        for k, seed in enumerate(data.seeds):
            progress = {
                "trial": int(seed),
                "reading": reading,
                "best_epoch": int(trained.best_epoch[k]),
                "epochs": int(trained.epochs[k]),
                "validation_loss": float(trained.best_loss[k]),
                "seconds": trained.seconds / len(data.seeds),
            }
            rows.append(
                progress | evaluation.read(reading, data.validation.y[k], validation[k], data.test.y[k], test[k])
            )
    return rows
