"""Command line: trains what a table needs and is not on disk yet, then writes `docs/results.md` and its figures."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.paper.plan import epoch_by_epoch, tables
from benchmarks.paper.plan.configuration import TRIALS, only
from benchmarks.paper.records import store


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    if not options.report_only:
        _run(options, list(tables.NAMES) if "all" in options.table else options.table)
    if not options.train_only:
        from benchmarks.paper.report import page

        page.write(options.results)


def _run(options: argparse.Namespace, names: list[str]) -> None:
    if names == ["cifar10"] or options.epoch_by_epoch:
        # Halves the time of convolutions on a CPU; must be set before TensorFlow is imported.
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    import tensorflow as tf

    # One thread wastes the least; two runs on different data sets use two cores.
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if options.epoch_by_epoch:
        _run_epoch_by_epoch(options)
    else:
        from benchmarks.paper import runner

        wanted = only(tables.configurations(names), options.dataset, options.loss)
        runner.run(wanted, options.trials or TRIALS, options.raw_dir, options.results)


def _run_epoch_by_epoch(options: argparse.Namespace) -> None:
    from benchmarks.paper.methods.cifar10.epoch_by_epoch import run

    for trial in range(options.trials or 1):
        for configuration in only(epoch_by_epoch.CONFIGURATIONS, options.dataset, options.loss):
            run(configuration, options.epoch_by_epoch, options.raw_dir, options.results, options.network, trial)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.paper", description=__doc__)
    parser.add_argument("--table", nargs="+", default=["all"], choices=["all", *tables.NAMES], help="which tables")
    parser.add_argument("--dataset", nargs="+", help="only these data sets")
    parser.add_argument("--loss", nargs="+", help="only these losses")
    parser.add_argument("--trials", type=int, help=f"number of trials; {TRIALS}, or 1 with --epoch-by-epoch")
    parser.add_argument(
        "--epoch-by-epoch",
        type=int,
        metavar="EPOCHS",
        help="instead of tables: a network for CIFAR-10, trained for this many epochs and tested after each",
    )
    parser.add_argument(
        "--network",
        default="tiny_darknet",
        choices=epoch_by_epoch.NETWORKS,
        help="with --epoch-by-epoch: which network",
    )
    parser.add_argument("--raw-dir", help="folder with the raw data files; without it, they are downloaded")
    parser.add_argument("--results", type=Path, default=store.FOLDER, help="folder of the CSV files")
    parser.add_argument("--threads", type=int, default=1, help="threads of one TensorFlow operation")
    parser.add_argument("--train-only", action="store_true", help="do not write the report")
    parser.add_argument("--report-only", action="store_true", help="train nothing, write the report")
    return parser


if __name__ == "__main__":
    main()
