"""Runs configurations that are not finished yet, with a progress bar, and writes each trial as soon as it ends."""

from __future__ import annotations

from pathlib import Path

from tqdm import tqdm

from benchmarks.paper.methods.protocol import Job, method_of
from benchmarks.paper.plan.configuration import Configuration
from benchmarks.paper.records import environment, store


def run(wanted: list[Configuration], trials: int, raw_dir: str | None, folder: Path = store.FOLDER) -> None:
    """Runs those of `wanted` that are not finished.

    Args:
        wanted: Configurations, best grouped by data set: the last one loaded is kept.
        trials: Number of trials.
        raw_dir: Folder of raw data files, or `None` for the one that the environment names.
        folder: Where results are.
    """
    environment.write(folder)
    bar = tqdm([c for c in wanted if store.missing_trials(c, trials, folder)], unit="configuration")
    for configuration in bar:
        bar.set_description(configuration.path)
        seeds = tuple(store.missing_trials(configuration, trials, folder))
        for lines in method_of(configuration)(Job(configuration, seeds, raw_dir, bar.set_postfix_str)):
            store.add(configuration, lines, folder)
