"""Precision where nearly all positives are found: table 5 of ICO (Kumar et al., ICML 2021), with the same protocol.

Protocol, fixed before any test figure was seen:

* Data: Letter (the most frequent letter against the rest), Spambase, Adult. Ten splits into 50 % training, 25 %
  validation and 25 % test data, stratified, split i with seed i for every row, so that differences are paired.
  Features are standardised on the training data.
* Score: the mean precision over recalls from 0.95 to 1, exactly, `evaluate(y, p, "pr_auc", min_recall=0.95)`, in %.
* Models: a linear one, and an MLP with one hidden layer of 64 units, where we expect no gain: a model that can rank
  everything needs no help with where to rank well.
* Rows: cross-entropy, balanced cross-entropy (both classes weigh the same), `SoftF1`, and
  `SoftPrecisionAtRecall` at recalls 0.955, 0.965, ..., 0.995, whose mean is the score's midpoint rule.
* Training: 1,500 steps of Adam with a learning rate of 0.05 (0.005 for the MLP) that falls to 0 as a cosine, on the
  full training data or on batches of 512; the same initial weights for every row of a split. The weights are kept
  after every 50 steps; those with the best score on validation data are tested, once.

    python -m studies run operating                                  # resumes: what is on disk is not run again
    python -m studies run operating --only data=letter model=linear --trials 2
    python -m studies run operating_small_batches                    # a moving estimate of the threshold
    python -m studies run operating_images                           # CIFAR-10-Frog
"""

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
