"""Command line: measures the speed of the losses and of training, and writes the results and their pages."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before TensorFlow is imported

from benchmarks.speed import docs_page, fit_speed, loss_speed, measurements, pages, results, shapes

PAGES = {"loss": pages.loss_page, "shape": pages.shape_page, "fit": pages.fit_page}


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    measurements.choose_device(options.device)
    everything = ["shape"] if options.device == "gpu" else list(PAGES)
    chosen = everything if options.what == "all" else [options.what]
    folder = options.output or (Path(tempfile.mkdtemp()) if options.quick else results.FOLDER)
    if not options.report_only:
        _measure(chosen, options, folder)
    for what in chosen:
        save(what, results.read(_file(what, options), folder), folder, options)
    print(f"Results are in {folder}")
    if folder == results.FOLDER:
        _write_docs()


def _write_docs() -> None:
    if lacking := docs_page.lacking():
        print(f"{docs_page.PAGE} was left as it was, because these were not measured: {', '.join(lacking)}")
    else:
        docs_page.write()


def save(what: str, found: results.Results, folder: Path, options: argparse.Namespace) -> None:
    """Writes results, and the page of them beside them."""
    results.write(_file(what, options), found, folder)
    (folder / f"{_file(what, options)}.md").write_text(PAGES[what](found))


def _file(what: str, options: argparse.Namespace) -> str:
    return f"{what}_speed" + "_gpu" * (options.device == "gpu")


def _measure(chosen: list[str], options: argparse.Namespace, folder: Path) -> None:
    if "loss" in chosen:
        loss_speed.run(options.seconds, options.quick, lambda found: save("loss", found, folder, options))
    if "shape" in chosen:
        parts = options.parts or (shapes.SHORT if options.quick or options.device == "gpu" else shapes.PARTS)
        known = (folder / f"{_file('shape', options)}.json").exists()
        before = results.read(_file("shape", options), folder) if known else {}
        shapes.run(options.seconds, options.quick, parts, before, lambda found: save("shape", found, folder, options))
    if "fit" in chosen:
        scale = fit_speed.QUICK if options.quick else fit_speed.Scale(epochs=options.epochs)
        save("fit", fit_speed.run(scale), folder, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.speed", description=__doc__)
    parser.add_argument(
        "what", nargs="?", choices=["all", *PAGES], default="all", help="losses on one class, other shapes, or `fit`"
    )
    parser.add_argument("--quick", action="store_true", help="small batches and little data: a quick look, in seconds")
    parser.add_argument("--seconds", type=float, default=20.0, help="time for each group of losses (default: 20)")
    parser.add_argument("--epochs", type=int, default=12, help="epochs of each setup of `fit` (default: 12)")
    parser.add_argument("--parts", nargs="+", choices=shapes.PARTS, help="of `shape`; results of the others are kept")
    parser.add_argument(
        "--device",
        choices=["auto", "cpu", "gpu"],
        default="auto",
        help="gpu: other shapes on the first GPU, in five minutes, in separate files; cpu: as if there were no GPU",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="folder of the results (default: benchmarks/results, whose pages go to docs; --quick: a temporary one)",
    )
    parser.add_argument("--report-only", action="store_true", help="measure nothing, write the pages")
    return parser


if __name__ == "__main__":
    main()
