"""The arguments of the command line, read before TensorFlow is imported: help and mistakes are answered at once.

`python -m keras_softsets` imports the package first, whose `__init__` imports this module before all else.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
from collections.abc import Callable
from typing import Any

SCORES = (  # of one threshold; the tests compare them with the registry
    *("accuracy", "balanced_accuracy", "cohen_kappa", "f1", "f_beta", "g_mean", "jaccard", "mcc", "precision"),
    *("recall", "specificity", "tversky", "youden_j"),
)
CURVES = ("average_precision", "pr_auc", "roc_auc")
CLASSES = ("kappa", "multiclass_accuracy", "multiclass_mcc")


def parser() -> argparse.ArgumentParser:
    """Returns the parser of `python -m keras_softsets`."""
    top = argparse.ArgumentParser(
        prog="python -m keras_softsets",
        description="Does another loss help on my data, and which threshold is best?",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="compare | tune")
    _add_compare(commands)
    _add_tune(commands)
    return top


def _add_compare(commands: Any) -> None:
    added = commands.add_parser(
        "compare",
        help="train on a CSV with several losses; writes report.html and a classifier",
        description="Trains a small network on a CSV with several losses, compares them on rows kept back, and writes "
        "report.html and the best classifier, whose inputs are the columns.",
    )
    added.add_argument("table", help="CSV with a header")
    added.add_argument("--label", required=True, help="column to be predicted")
    _add_score(added, (*SCORES, *CURVES, *CLASSES))
    added.add_argument(
        "--positive", metavar="VALUE", help="label that counts as positive (default: 1 or yes, else the rarer)"
    )
    added.add_argument("--group", metavar="COLUMN", help="rows with the same value stay together, such as a customer's")
    added.add_argument("--drop", action="append", default=[], metavar="COLUMN", help="column to leave out; repeatable")
    added.add_argument("--seeds", type=whole(1), default=5, help="training runs for each loss (default: 5)")
    added.add_argument("--epochs", type=whole(1), default=30, help="epochs of each run (default: 30)")
    added.add_argument("--batch-size", type=whole(1), default=256, help="size of batches (default: 256)")
    added.add_argument("--output", default="keras_softsets_report", help="folder to write (default: %(default)s)")


def _add_tune(commands: Any) -> None:
    added = commands.add_parser(
        "tune",
        help="find the best threshold for predictions of any model",
        description="Finds the threshold with the best score for the probabilities of any model.",
    )
    added.add_argument("table", help="CSV with a header and a row for each prediction")
    added.add_argument("--label", default="label", metavar="COLUMN", help="column of labels (default: label)")
    added.add_argument("--probability", default="probability", metavar="COLUMN", help="column (default: probability)")
    added.add_argument(
        "--positive", metavar="VALUE", help="label that counts as positive (default: 1 or yes, else the rarer)"
    )
    _add_score(added, SCORES)
    added.add_argument(
        "--at-least", action="append", default=[], type=_rule, metavar="SCORE=NUMBER", help="such as recall=0.95"
    )
    added.add_argument("--output", metavar="FILE", help="CSV for the score at every threshold")


_COSTS_HELP = "instead of a score, what decisions cost, by true label: '0 1 50 0' if a missed positive costs 50"


def _add_score(added: Any, names: tuple[str, ...]) -> None:
    one = added.add_mutually_exclusive_group()
    known = "what you report: f1, f_beta, mcc, precision, kappa ... (default: f1)"
    one.add_argument("--score", default="f1", choices=names, metavar="NAME", help=known)
    one.add_argument("--costs", type=_matrix, metavar="NUMBERS", help=_COSTS_HELP)


def _matrix(text: str) -> list[list[float]]:
    try:
        numbers = [float(number) for number in text.replace(",", " ").split()]
    except ValueError:
        numbers = []
    size = math.isqrt(len(numbers))
    if size < 2 or size**2 != len(numbers) or not all(math.isfinite(number) for number in numbers):
        raise argparse.ArgumentTypeError(
            f"must be a number for each pair of labels, such as 0 1 50 0. Received: {text}"
        )
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def whole(low: int) -> Callable[[str], int]:
    """Returns a type of argument: a whole number of at least `low`."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < low:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {low}. Received: {text}")
        return int(text)

    return read


def _rule(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if name not in SCORES or not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a score and a number, recall=0.95. Received: {text}")
    return name, value


def answer_at_once() -> None:
    """Reads the command line while `python -m keras_softsets` is being located: help and mistakes end here."""
    written = sys.orig_argv
    if sys.argv[:1] == ["-m"] and "-m" in written and written[written.index("-m") + 1 :][:1] == ["keras_softsets"]:
        parser().parse_args(sys.argv[1:])
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what matters is raised, too
        _import_quietly("keras")


def _import_quietly(module: str) -> None:
    """Imports a module without what it says meanwhile: TensorFlow 2.21 talks of devices, whatever its log level."""
    said, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        importlib.import_module(module)
    finally:
        os.dup2(said, 2)
        os.close(said)
        os.close(nowhere)


answer_at_once()
