"""Command line: trains what is not on disk yet, and writes the page.

    python -m benchmarks.recipes tabular --data mammography --methods bce f1 f1_bce_1 --batch-size 1024 --trials 10
    python -m benchmarks.recipes report

`--list` says what would be trained, and how long that takes. The same command resumes a run that was killed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.recipes import plan
from benchmarks.recipes.runner import FOLDER, one_thread


def main(arguments: list[str] | None = None) -> None:
    """Runs what the command line asks for."""
    options = _parser().parse_args(arguments)
    if options.study == "report":
        from benchmarks.recipes.report import page

        page.write(options.results, options.page)
    elif options.study in ("images", "unet"):
        _run_networks(options)
    else:
        _run_rows(options)


def _run_rows(options: argparse.Namespace) -> None:
    from benchmarks.recipes import methods, runner

    known = methods.STUDIES[options.study]
    wanted = _among("--methods", options.methods, list(known))
    data = _among("--data", options.data, [plan.STUCK_DATA] if options.study == "stuck" else list(plan.DATA))
    sizes = options.batch_size or plan.BATCH_SIZES[options.study]
    rows, trials = plan.rows(data, wanted, sizes), options.trials or plan.TRIALS
    if options.list:
        left = [row for row in rows if runner.missing_trials(row, trials, options.results)]
        runner.print_estimates(left, trials, options.results)
        return
    runner.run(rows, trials, options.raw_dir, options.results, options.jobs)


def _run_networks(options: argparse.Namespace) -> None:
    from benchmarks.recipes import images, unet

    module = {"images": images, "unet": unet}[options.study]
    wanted = _among("--methods", options.methods, list(module.METHODS))
    variants = _among("--data", options.data, list(module.VARIANTS))
    module.run(wanted, variants, options.trials or module.TRIALS, options.raw_dir, options.results, options.list)


def _among(flag: str, asked: list[str] | None, known: list[str]) -> list[str]:
    unknown = sorted(set(asked or ()) - set(known))
    if unknown:
        raise SystemExit(f"{flag} must be among {', '.join(known)}. Received: {', '.join(unknown)}")
    return [name for name in known if not asked or name in asked]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.recipes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    studies = {
        "tabular": "which loss when, on eight data sets",
        "memory": "a running memory of the cells, at batches of 8, 16 and 32",
        "stuck": "losses that learn to say 'never', on creditcard_fraud",
        "images": "CIFAR-10-Frog; --data: small_cnn, tiny_darknet",
        "unet": "a U-Net on masks of 1 %; --data: which precision and learning rate",
        "report": "the page, from what is on disk",
    }
    parser.add_argument("study", choices=studies, help="; ".join(f"{name}: {text}" for name, text in studies.items()))
    parser.add_argument("--data", nargs="+", help="only these data sets, or variants")
    parser.add_argument("--methods", nargs="+", help="only these methods")
    parser.add_argument("--batch-size", nargs="+", type=int, help="only these; without effect on images and unet")
    parser.add_argument("--trials", type=int, help=f"number of trials; {plan.TRIALS}, 3 for images and 6 for unet")
    parser.add_argument("--jobs", type=int, default=1, help="rows trained at the same time, each on one core")
    parser.add_argument("--list", action="store_true", help="train nothing; say how long each row takes at most")
    parser.add_argument("--raw-dir", help="folder with the raw data files; without it, they are downloaded")
    parser.add_argument("--results", type=Path, default=FOLDER, help="folder of the CSV files")
    parser.add_argument("--page", type=Path, default=Path("docs/recipes.md"), help="where the report goes")
    return parser


if __name__ == "__main__":
    if set(sys.argv) & {"tabular", "memory", "stuck"}:
        one_thread()  # wastes the least; before anything else has started TensorFlow
    main()
