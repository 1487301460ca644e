"""Command line of all studies.

    python -m studies list                                    # the studies, and how much of each is finished
    python -m studies run recipes --only data=adult,letter method=bce,f1 batch_size=1024 --jobs 2
    python -m studies collect                                 # merges the journal into results/*.csv
    python -m studies report                                  # writes pages, figures, and the tables of the docs

The same `run` resumes what was killed. `--dry-run` says what would be trained, and about how long that takes.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from studies import catalog
from studies.harness.store import RESULTS

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")  # halves the time of convolutions on a CPU


def main(arguments: list[str] | None = None) -> None:
    """Does what the command line asks for."""
    options = _parser().parse_args(arguments)
    {"list": _list, "run": _run, "collect": _collect, "report": _report}[options.command](options)


def _list(options: argparse.Namespace) -> None:
    from studies.harness.runner import missing

    for name in options.study or catalog.STUDIES:
        study = catalog.study(name)
        left = sum(len(job.trials) for job in missing(study, folder=options.results))
        print(f"{name:24} {len(study.plan) * study.trials - left:5} of {len(study.plan) * study.trials:5} trials")
        print(f"{'':24} {study.about}")


def _run(options: argparse.Namespace) -> None:
    from studies.harness import environment, runner

    for name in options.study:
        study = catalog.study(name)
        try:
            wanted = study.selected(_selection(options.only))
        except ValueError as error:
            raise SystemExit(str(error)) from None
        if not options.dry_run:
            environment.write(options.results)
        runner.run(
            study,
            wanted,
            trials=options.trials,
            epochs=options.epochs,
            raw_dir=options.raw_dir,
            folder=options.results,
            jobs=options.jobs,
            list_only=options.dry_run,
        )


def _collect(options: argparse.Namespace) -> None:
    for name in options.study or catalog.STUDIES:
        if added := catalog.study(name).store(options.results).collect():
            print(f"{name}: {added} rows")


def _report(options: argparse.Namespace) -> None:
    from studies.harness import report

    for path in report.write(options.results):
        print(path)


def _selection(only: list[str]) -> dict[str, list[str]]:
    wrong = [each for each in only if "=" not in each]
    if wrong:
        raise SystemExit(f"--only must be column=value or column=value,value. Received: {wrong[0]}")
    return {name: values.split(",") for name, values in (each.split("=", 1) for each in only)}


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m studies", description=__doc__, formatter_class=raw)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV files")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("list", "the studies"),
        ("run", "train what is missing"),
        ("collect", "journal to CSV"),
        ("report", "write pages and figures"),
    ):
        command = commands.add_parser(name, help=text)
        if name != "report":
            many = "+" if name == "run" else "*"
            command.add_argument("study", nargs=many, metavar="STUDY", help=", ".join(catalog.STUDIES))
        if name == "run":
            _add_run_options(command)
    return parser


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", default=[], metavar="COLUMN=VALUES", help="only a part of the plan")
    parser.add_argument("--trials", type=int, help="number of trials; the study's own by default")
    parser.add_argument("--epochs", type=int, help="epochs, of a study that is tested after each of them")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each on one core")
    parser.add_argument("--dry-run", action="store_true", help="train nothing; say how long it would take")
    parser.add_argument("--raw-dir", help="folder with the raw data files; without it, they are downloaded")


if __name__ == "__main__":
    main()
