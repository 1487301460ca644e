"""Small batches: the batch's own threshold against a moving estimate of it, on Letter with the linear model.

A batch of 128 has five positives of the most frequent letter, so its own threshold at recall 0.95 is the lowest of
them: noise. The moving estimate is an exponential average of the logits of the batches' thresholds, over about
`1 / (1 - MEMORY)` of them; cells and gradients are taken there. Protocol, splits and score are those of the benchmark.

    python -m benchmarks.operating.small_batches --raw-dir FOLDER --splits 5

What it decides: a moving estimate becomes an option of the losses only if it is above the batch's own threshold by
more than two paired standard errors at 128 without being below it at 512.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops

from benchmarks.operating import data
from benchmarks.operating.methods import METHODS, RECALLS, Loss
from benchmarks.operating.training import area, train
from keras_softsets import AtRecall, LinearHeaviside, SoftPrecisionAtRecall, _constrained, scores
from keras_softsets._inputs import as_samples
from keras_softsets.operating_points import Boundary

MEMORY = 0.95


class MovingAtRecall(AtRecall):
    """`AtRecall` whose boundary is averaged over batches."""

    def remember(self) -> MovingAtRecall:
        """Starts without a past."""
        object.__setattr__(self, "logits", tf.Variable(tf.zeros([len(self.rates), 1])))
        object.__setattr__(self, "weight", tf.Variable(0.0))
        return self

    def boundary(self, samples: Any) -> Boundary:
        """The average so far, this batch included."""
        found = super().boundary(samples)
        inside = found.inside()
        logits, weight = self.logits, self.weight  # type: ignore[attr-defined]  # set by `remember`
        logits.assign(MEMORY * logits + (1 - MEMORY) * ops.log(inside / (1 - inside)))
        weight.assign(MEMORY * weight + (1 - MEMORY))
        return found._replace(threshold=ops.sigmoid(logits / weight))


def moving(labels: np.ndarray) -> Loss:
    """The loss of `SoftPrecisionAtRecall` at the moving threshold."""
    decision = MovingAtRecall(RECALLS).remember()

    def loss(y: Any, p: Any) -> Any:
        samples = as_samples(y, p)
        totals = _constrained.soft_totals(samples, decision, LinearHeaviside(), samples)
        value = _constrained.soft_value(scores.precision, ops.cast(totals, "float32"), decision, "macro", 0.0)
        return 1 - value

    return loss


ROWS = {
    "own threshold": lambda labels: SoftPrecisionAtRecall(RECALLS),
    "moving threshold": moving,
    "balanced cross-entropy": METHODS["balanced_cross_entropy"],
}


def main(arguments: list[str] | None = None) -> None:
    """Prints the score of every row and batch size, split by split, and the means."""
    parser = argparse.ArgumentParser("python -m benchmarks.operating.small_batches", description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--raw-dir", help="folder with the raw data files; without it, they are downloaded")
    options = parser.parse_args(arguments)
    found: dict[tuple[int, str], list[float]] = {}
    for seed in range(options.splits):
        split = data.load("letter", seed, options.raw_dir)
        for batch in options.batch:
            for name, make in ROWS.items():
                steps = train(split.train, make(split.train.y), "linear", batch, seed, options.steps)
                tried = [(area(network, split.validation), area(network, split.test)) for _, network in steps]
                found.setdefault((batch, name), []).append(max(tried)[1])
                print(f"split {seed}, batch {batch}, {name}: {found[batch, name][-1]:.2f}", flush=True)
    for (batch, name), values in found.items():
        print(f"batch {batch:4}  {name:24} {np.mean(values):.2f}")


if __name__ == "__main__":
    main()
