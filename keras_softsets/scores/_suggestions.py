"""What was probably meant by a name that does not exist: a score by another of its names, or an argument."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any

from keras_softsets._adapters import arguments_of

_SYNONYMS = {
    "acc": "accuracy",
    "ap": "average_precision",
    "auc": "roc_auc",
    "auc_pr": "pr_auc",
    "auc_roc": "roc_auc",
    "auprc": "pr_auc",
    "auroc": "roc_auc",
    "dice": "f1",
    "dsc": "f1",
    "f2": "f_beta",
    "informedness": "youden_j",
    "iou": "jaccard",
    "matthews_corrcoef": "mcc",
    "ppv": "precision",
    "qwk": "kappa",
    "quadratic_weighted_kappa": "kappa",
    "sensitivity": "recall",
    "tnr": "specificity",
    "tpr": "recall",
}
# Arguments that belong to another function or to a later call.
_ELSEWHERE = {
    "sample_weight": "pass it to `fit`, or where the loss or metric is called.",
    "threshold": "`evaluate` and metrics take a given one.",
}


def similar_score(identifier: Any, names: Sequence[str]) -> str | None:
    """Returns the registered name that was probably meant; `None` if there is none.

    Examples:
        >>> [similar_score(name, ["f1", "jaccard", "roc_auc"]) for name in ("AUROC", "F1", "jacard_score", "loss")]
        ['roc_auc', 'f1', 'jaccard', None]
    """
    if not isinstance(identifier, str):
        return None
    known = {name.lower(): name for name in names}
    plain = identifier.lower().replace("-", "_").replace(" ", "_").removesuffix("_score")
    synonym = known.get(_SYNONYMS.get(plain, plain))
    close = difflib.get_close_matches(plain, known, 1)
    return synonym or (known[close[0]] if close else None)


def argument_hint(unknown: str, parameters: Sequence[str], caller: Callable[..., Any] | None) -> str | None:
    """Returns what to write instead of an argument that does not exist; `None` if there is no telling.

    Args:
        unknown: The argument.
        parameters: Names of the score's parameters.
        caller: The function or class that was called, of which only arguments that it takes are suggested.
    """
    taken = [] if caller is None else list(arguments_of(caller))
    close = difflib.get_close_matches(unknown, [*parameters, *taken], 1)
    if close:
        return f"did you mean `{close[0]}`?"
    if unknown == "mask":
        where = "" if "sample_weight" in taken else " where the loss or metric is called"
        return f"pass it as `sample_weight`{where}, with 0 for what does not count."
    return _ELSEWHERE.get(unknown)


def unknown_argument(unknown: str, caller: Callable[..., Any]) -> ValueError:
    """Returns the error about an argument that does not exist, of a function whose scores have their own parameters."""
    hint = argument_hint(unknown, (), caller) or f"see help({caller.__name__})."
    return ValueError(f"There is no argument `{unknown}`; {hint} Received: {unknown}=...")
