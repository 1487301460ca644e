"""The table of the study: means over splits, and paired differences from cross-entropy with offsets."""

from pathlib import Path

import numpy as np

from studies.classes.plan import AUTO, BOUND, ONE_NUMBER, STUDIES, Study
from studies.classes.study import STUDY
from studies.harness.store import RESULTS, Line

LABELS = {"wine_quality": "wine", "wine_quality_as_in_demo": "wine, the demo's network", "letter": "26 letters"}
SCORES = {"kappa": "quadratic kappa", "f1": "macro F1", "mcc": "MCC"}
METHODS = {
    "ce": "cross-entropy",
    "guided_kappa": "guided by quadratic kappa",
    "kappa+guided": '`loss_for("kappa")`',
    "guided_f1": "guided by macro F1",
    "f1+guided": '`loss_for("f1")`',
    "f1+guided_0.3": "soft macro F1 + 0.3 guided",
    "regression": "regression",
    "cumulative": "cumulative link",
}
BASELINE = ("ce", "offsets")
SHOWN = {
    BOUND: "best offsets *for the test data*",
    ONE_NUMBER: "logit adjustment, one number",
    AUTO: '`offsets="auto"`, its first rule',
    ("regression", "argmax"): "rounded",
    ("regression", "offsets"): "tuned cut points",
}


def table(study: Study, rows: list[Line]) -> str:
    """Returns Markdown: one row for each method and decision that has all splits, two columns for each score."""
    values = {(r["method"], r["decision"], r["score"], r["trial"]): r["value"] for r in rows}
    heads = [column for score in study.scores for column in (SCORES[score], "difference")]
    lines = [f"| trained on | decision | {' | '.join(heads)} |", "|---|---|" + "---|" * len(heads)]
    for method in study.methods:
        for decision in study.decisions(method):
            cells = [cell for score in study.scores for cell in _cells(values, method, decision, score)]
            if any(cells):
                lines.append(f"| {_name(method)} | {_decision(method, decision)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _decision(method: str, decision: str) -> str:
    return SHOWN.get((method, decision)) or SHOWN.get(decision, decision)


def _name(method: str) -> str:
    if method in METHODS:
        return METHODS[method]
    score = method.removesuffix("+ce")
    soft = f"soft {SCORES[score]}"
    return f"{soft} + 0.3 cross-entropy" if score != method else soft


def _cells(values: dict, method: str, decision: str, score: str) -> tuple[str, str]:
    seeds = sorted({key[3] for key in values if key[:3] == (method, decision, score)})
    if not seeds or len(seeds) < len({key[3] for key in values}):  # not all of them are trained yet
        return "", ""
    found = np.array([values[method, decision, score, seed] for seed in seeds])
    level = f"{found.mean():.3f} ± {found.std(ddof=1) if len(seeds) > 1 else 0:.3f}"
    paired = [seed for seed in seeds if (*BASELINE, score, seed) in values]
    if (method, decision) == BASELINE or len(paired) < 2:
        return level, ""
    gain = np.array([values[method, decision, score, s] - values[(*BASELINE, score, s)] for s in paired])
    return level, f"{gain.mean():+.3f} ± {gain.std(ddof=1) / np.sqrt(len(gain)):.3f}"


def of_study(name: str, folder: Path = RESULTS) -> str:
    """Returns the table of one training, by its name in `plan.STUDIES`."""
    return table(STUDIES[name], STUDY.store(folder).grouped("study").get((name,), []))


def gain(name: str, score: str, baseline: str, folder: Path = RESULTS, *, sign: str = "") -> str:
    """Returns the paired difference of the blend at the argmax from cross-entropy with some decision."""
    rows = STUDY.store(folder).grouped("study").get((name,), [])
    values = {(r["method"], r["decision"], r["trial"]): r["value"] for r in rows if r["score"] == score}
    trials = sorted(key[2] for key in values if key[:2] == ("ce", baseline))
    gains = np.array([values[f"{score}+ce", "argmax", trial] - values["ce", baseline, trial] for trial in trials])
    return f"{gains.mean():{sign}.3f} ± {gains.std(ddof=1) / np.sqrt(len(gains)):.3f}"


def mean(name: str, score: str, method: str, decision: str, trials: range, folder: Path = RESULTS) -> str:
    """Returns the mean of a row over some trials."""
    rows = STUDY.store(folder).grouped("study", "score", "method", "decision")[name, score, method, decision]
    return f"{np.mean([row['value'] for row in rows if row['trial'] in trials]):.3f}"


def page(folder: Path = RESULTS) -> str:
    """Returns all tables."""
    parts = [
        "# Several classes",
        "Written by `python -m studies report` from `classes.csv`; the protocol is in `studies/classes/__init__.py`.",
        "Test data: mean ± standard deviation over splits. Difference: paired, from cross-entropy with offsets, ±\n"
        "standard error.",
    ]
    for name in STUDIES:
        splits = {row["trial"] for row in STUDY.store(folder).grouped("study").get((name,), [])}
        parts += [f"## {name}, {len(splits)} splits", of_study(name, folder)]
    return "\n\n".join(parts) + "\n"
