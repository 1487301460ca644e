"""Small batches: the batch's own threshold against a moving estimate of it, on Letter with the linear model.

A batch of 128 has five positives of the most frequent letter, so its own threshold at recall 0.95 is the lowest of
them: noise. The moving estimate is an exponential average of the logits of the batches' thresholds, over about
`1 / (1 - MEMORY)` of them; cells and gradients are taken there. Protocol, splits and score are those of the benchmark.

    python -m benchmarks.operating.small_batches --raw-dir FOLDER       # resumes

What it decides: a moving estimate becomes an option of the losses only if it is above the batch's own threshold by
more than two paired standard errors at 128 without being below it at 512.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops

from benchmarks import markdown
from benchmarks.operating import data, methods, report
from benchmarks.operating.methods import RECALLS, Loss
from benchmarks.operating.training import STEPS, run_trial
from keras_softsets import AtRecall, LinearHeaviside, _operating, scores
from keras_softsets._inputs import as_samples
from keras_softsets.decisions._at_rate import Boundary

MEMORY, SPLITS = 0.95, 5
FOLDER = Path(__file__).parents[1] / "results" / "operating" / "small_batches"


class MovingAtRecall(AtRecall):
    """`AtRecall` whose boundary is averaged over batches."""

    def remember(self) -> MovingAtRecall:
        """Starts with an empty average."""
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
        totals = _operating.soft_totals(samples, decision, LinearHeaviside(), samples)
        value = _operating.soft_value(scores.precision, ops.cast(totals, "float32"), decision, "macro", 0.0)
        return 1 - value

    return loss


METHODS = {
    "own_threshold": methods.precision_at_recall,
    "moving_threshold": moving,
    "balanced_cross_entropy": methods.balanced_cross_entropy,
}


def main(arguments: list[str] | None = None) -> None:
    """Trains what is not on disk yet, split by split, and prints the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.operating.small_batches", description=__doc__)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--batch", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--raw-dir", help="folder with the raw data files; without it, they are downloaded")
    parser.add_argument("--results", type=Path, default=FOLDER, help="folder of the CSV files")
    options = parser.parse_args(arguments)
    for seed in range(options.splits):
        split = data.load("letter", seed, options.raw_dir)
        for batch, name in itertools.product(options.batch, METHODS):
            path = options.results / f"linear-{batch}-{name}.csv"
            rows = report.read(path)
            if seed not in [row["split"] for row in rows]:
                loss = METHODS[name](split.train.y)
                rows.append(run_trial(split, loss, "linear", batch, seed, options.steps))
                report.write(path, rows)
                print(batch, name, rows[-1], flush=True)
    print(table(options.results))


def table(folder: Path) -> str:
    """Returns the mean of each row, and its paired difference from the batch's own threshold."""
    rows = []
    for path in sorted(folder.glob("*.csv"), key=lambda path: (int(path.stem.split("-")[1]), path.stem)):
        _, batch, name = path.stem.split("-")
        values, own = (report.by_split(file) for file in (path, path.with_name(f"linear-{batch}-own_threshold.csv")))
        difference = "" if name == "own_threshold" else report.paired_difference(values, own)
        rows.append(
            [batch, name.replace("_", " "), str(len(values)), f"{np.mean(list(values.values())):.2f}", difference]
        )
    return markdown.table(["batch", "row", "splits", "PR area, %", "minus own threshold"], rows)


if __name__ == "__main__":
    main()
