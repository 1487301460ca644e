"""Small batches: the batch's own threshold against a moving estimate of it, on Letter with the linear model.

A batch of 128 has five positives of the most frequent letter, so its own threshold at recall 0.95 is the lowest of
them: noise. The moving estimate is an exponential average of the logits of the batches' thresholds, over about
`1 / (1 - MEMORY)` of them; cells and gradients are taken there. Protocol, splits and score are those of the benchmark.

    python -m studies run operating_small_batches       # resumes

What it decides: a moving estimate becomes an option of the losses only if it is above the batch's own threshold by
more than two paired standard errors at 128 without being below it at 512.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops

from benchmarks import markdown
from keras_softsets import SoftPrecisionAtRecall, _totals
from studies.harness.store import RESULTS, Line
from studies.harness.study import Job, Study, product
from studies.operating import load, methods, report
from studies.operating.methods import RECALLS, Loss
from studies.operating.training import scores as scores_of_split

MEMORY, SPLITS = 0.95, 5


class MovingThreshold(_totals.AtRate):
    """The totals of `SoftPrecisionAtRecall`, with a boundary that is averaged over batches."""

    def remember(self) -> MovingThreshold:
        """Starts with an empty average."""
        object.__setattr__(self, "logits", tf.Variable(tf.zeros([len(self.decision.rates), 1])))
        object.__setattr__(self, "weight", tf.Variable(0.0))
        return self

    def boundary(self, samples: Any) -> Any:
        """The average so far, this batch included."""
        found = super().boundary(samples)
        inside = found.inside()
        logits, weight = self.logits, self.weight  # type: ignore[attr-defined]  # set by `remember`
        logits.assign(MEMORY * logits + (1 - MEMORY) * ops.log(inside / (1 - inside)))
        weight.assign(MEMORY * weight + (1 - MEMORY))
        return found._replace(threshold=ops.sigmoid(logits / weight))


def moving(labels: np.ndarray) -> Loss:
    """The loss of `SoftPrecisionAtRecall` at the moving threshold."""
    loss = SoftPrecisionAtRecall(RECALLS)
    loss.evaluation.totals = MovingThreshold(loss.evaluation.decision, loss.evaluation.heaviside).remember()
    return loss


METHODS = {
    "own_threshold": methods.precision_at_recall,
    "moving_threshold": moving,
    "balanced_cross_entropy": methods.balanced_cross_entropy,
}


def _train(job: Job) -> Iterator[Line]:
    for trial in job.trials:
        split = load("letter", trial, job.raw_dir)
        yield scores_of_split(split, METHODS[job.key["method"]](split.train.y), "linear", job.key["batch_size"], trial)


STUDY = Study(
    "operating_small_batches",
    "small batches: the batch's own threshold against a moving estimate of it",
    ("batch_size", "method", "trial"),
    product(batch_size=(128, 512), method=METHODS),
    _train,
    trials=SPLITS,
    minutes=0.5,
)


def table(folder: Path = RESULTS) -> str:
    """Returns the mean of each row, and its paired difference from the batch's own threshold."""
    found = {key: report.scores_of(rows) for key, rows in STUDY.store(folder).grouped("batch_size", "method").items()}
    rows = []
    for batch, name in sorted(found):
        values = found[batch, name]
        difference = "" if name == "own_threshold" else report.paired_difference(values, found[batch, "own_threshold"])
        mean = f"{np.mean(list(values.values())):.2f}"
        rows.append([str(batch), name.replace("_", " "), str(len(values)), mean, difference])
    return markdown.table(["batch", "row", "splits", "PR area, %", "minus own threshold"], rows)
