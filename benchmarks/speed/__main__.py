"""Command line: measures the speed of the losses and of training, and writes the results and their pages."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before TensorFlow is imported

from benchmarks.speed import docs_page, fit_speed, loss_speed, pages, results

PAGES = {"loss": pages.loss_page, "fit": pages.fit_page}


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    chosen = list(PAGES) if options.what == "all" else [options.what]
    folder = options.output or (Path(tempfile.mkdtemp()) if options.quick else results.FOLDER)
    if not options.report_only:
        _measure(chosen, options, folder)
    for what in chosen:
        save(what, results.read(f"{what}_speed", folder), folder)
    print(f"Results are in {folder}")
    if folder == results.FOLDER:
        _write_docs()


def _write_docs() -> None:
    if lacking := docs_page.lacking():
        print(f"{docs_page.PAGE} was left as it was, because these were not measured: {', '.join(lacking)}")
    else:
        docs_page.write()


def save(what: str, found: results.Results, folder: Path) -> None:
    """Writes results, and the page of them beside them."""
    results.write(f"{what}_speed", found, folder)
    (folder / f"{what}_speed.md").write_text(PAGES[what](found))


def _measure(chosen: list[str], options: argparse.Namespace, folder: Path) -> None:
    if "loss" in chosen:
        loss_speed.run(options.seconds, options.quick, lambda found: save("loss", found, folder))
    if "fit" in chosen:
        scale = fit_speed.QUICK if options.quick else fit_speed.Scale(epochs=options.epochs)
        save("fit", fit_speed.run(scale), folder)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.speed", description=__doc__)
    parser.add_argument("what", nargs="?", choices=["all", *PAGES], default="all", help="losses alone, `fit`, or all")
    parser.add_argument("--quick", action="store_true", help="small batches, little data: seconds, for a look")
    parser.add_argument("--seconds", type=float, default=20.0, help="time for each group of losses (default: 20)")
    parser.add_argument("--epochs", type=int, default=12, help="epochs of each setup of `fit` (default: 12)")
    parser.add_argument(
        "--output",
        type=Path,
        help="folder of the results (default: benchmarks/results, whose pages go to docs; --quick: a temporary one)",
    )
    parser.add_argument("--report-only", action="store_true", help="measure nothing, write the pages")
    return parser


if __name__ == "__main__":
    main()
