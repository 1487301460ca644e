"""Command line: trains what is not on disk yet, then writes the table."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from benchmarks.operating import data, report
from benchmarks.operating.methods import METHODS
from benchmarks.operating.training import RATES, STEPS, run_trial

FOLDER = Path(__file__).parent.parent / "results" / "operating"
SPLITS = 10


def main(arguments: list[str] | None = None) -> None:
    """Runs split by split, so that a killed run leaves complete comparisons."""
    options = _parser().parse_args(arguments)
    for name, seed in itertools.product(options.data, [] if options.report_only else range(options.splits)):
        split = data.load(name, seed, options.raw_dir)
        for model, batch, method in itertools.product(options.model, options.batch, options.method):
            path = options.results / name / f"{model}-{batch}-{method}.csv"
            rows = report.read(path)
            if seed not in [row["split"] for row in rows]:
                size = None if batch == "full" else int(batch)
                rows.append(run_trial(split, METHODS[method](split.train.y), model, size, seed, options.steps))
                report.write(path, rows)
                print(name, model, batch, method, rows[-1], flush=True)
    print("\n\n".join(f"{model}\n\n{report.table(options.results, model)}" for model in options.model))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.operating", description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(report.DATA), choices=list(report.DATA))
    parser.add_argument("--model", nargs="+", default=list(RATES), choices=list(RATES))
    parser.add_argument("--batch", nargs="+", default=report.BATCHES, help="full, or a number of samples")
    parser.add_argument("--method", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--raw-dir", help="folder with the raw data files; without it, they are downloaded")
    parser.add_argument("--results", type=Path, default=FOLDER, help="folder of the CSV files")
    parser.add_argument("--report-only", action="store_true", help="train nothing")
    return parser


if __name__ == "__main__":
    main()
