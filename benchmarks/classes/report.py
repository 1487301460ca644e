"""The table of the study: means over splits, and paired differences from cross-entropy with offsets."""

import numpy as np

from benchmarks.classes.plan import BOUND, Study, decisions
from benchmarks.classes.records import Record

NAMES = {"ce": "cross-entropy", "kappa": "quadratic kappa", "f1": "macro F1", "mcc": "MCC"}
RIVAL = ("ce", "offsets")
SHOWN = {BOUND: "best offsets *for the test data*"}


def table(study: Study, records: list[Record]) -> str:
    """Returns Markdown: one row for each method and decision, two columns for each score."""
    values = {(r.method, r.decision, r.score, r.seed): r.value for r in records}
    heads = [column for score in study.scores for column in (NAMES[score], "difference")]
    lines = [f"| trained on | decision | {' | '.join(heads)} |", "|---|---|" + "---|" * len(heads)]
    for method in study.methods:
        for decision in decisions(method):
            cells = [cell for score in study.scores for cell in _cells(values, method, decision, score)]
            if any(cells):
                lines.append(f"| {_name(method)} | {SHOWN.get(decision, decision)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _name(method: str) -> str:
    score = method.removesuffix("+ce")
    soft = NAMES[method] if method == "ce" else f"soft {NAMES[score]}"
    return f"{soft} + 0.3 cross-entropy" if score != method else soft


def _cells(values: dict, method: str, decision: str, score: str) -> tuple[str, str]:
    seeds = sorted({key[3] for key in values if key[:3] == (method, decision, score)})
    if not seeds:
        return "", ""
    found = np.array([values[method, decision, score, seed] for seed in seeds])
    level = f"{found.mean():.3f} ± {found.std(ddof=1) if len(seeds) > 1 else 0:.3f}"
    paired = [seed for seed in seeds if (*RIVAL, score, seed) in values]
    if (method, decision) == RIVAL or len(paired) < 2:
        return level, ""
    gain = np.array([values[method, decision, score, s] - values[(*RIVAL, score, s)] for s in paired])
    return level, f"{gain.mean():+.3f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.3f}"
