"""The study on tables: ICO's table 5, for a linear model and an MLP."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from studies.harness.store import Line
from studies.harness.study import Job, Study, product
from studies.operating import training
from studies.operating.methods import METHODS
from studies.operating.training import RATES, scores

DATA = {"letter": "Letter", "spambase": "Spambase", "adult": "Adult"}
BATCHES = ("full", 512)
SPLITS = 10
load = functools.lru_cache(maxsize=1)(training.load)  # the rows of a split follow one another


def _train(job: Job) -> Iterator[Line]:
    size = job.key["batch_size"]
    for trial in job.trials:
        split = load(job.key["data"], trial, job.raw_dir)
        loss = METHODS[job.key["method"]](split.train.y)
        yield scores(split, loss, job.key["model"], None if size == "full" else size, trial)


STUDY = Study(
    "operating",
    "precision where nearly all positives are found, on three data sets",
    ("data", "model", "batch_size", "method", "trial"),
    product(data=DATA, model=RATES, batch_size=BATCHES, method=METHODS),
    _train,
    trials=SPLITS,
    minutes=0.5,
)
