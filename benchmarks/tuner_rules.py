"""Which rule for choosing a threshold generalises best: the best one, the middle of a plateau, or a mean over folds?

    KERAS_SOFTSETS_RAW_DIR=... python -m benchmarks.tuner_rules

Protocol, fixed before any test score was seen. Eight data sets of two classes; on the training part of each, a logistic
regression and gradient-boosted trees (scikit-learn's defaults). The other samples are halved at random, 20 times; of
one half, 100, 500 or all samples choose the threshold (at least two positives), and the other half is scored, by F1 and
by MCC. The mean over halves is one number for each data set, model, size and score; a rule's result is the mean
difference of these numbers to those of the exact optimum, with a standard error over data sets.

Decision: the rule with the highest mean becomes the default if it is ahead of the exact optimum by more than two
standard errors; otherwise the exact optimum stays.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

DATA = (
    "adult",
    "mammography",
    "creditcard_fraud",
    "cocktail_party",
    "spambase",
    "letter",
    "wine_quality",
    "synthetic_05",
)
SIZES = (100, 500, None)
HALVES = 20


def cells(y, p):
    """Thresholds halfway between probabilities, from the lowest, and the cells there."""
    order = np.argsort(p, kind="stable")
    y, p = y[order], p[order]
    first = np.flatnonzero(np.append(True, p[1:] != p[:-1]))
    below = np.append(0, np.cumsum(y))[np.append(first, len(y))]
    fn, tn = below, np.append(first, len(y)) - below
    edges = np.concatenate([[0.0], p[first], [1.0]])
    return (edges[:-1] + edges[1:]) / 2, (y.sum() - fn, len(y) - y.sum() - tn, fn, tn)


def f1(tp, fp, fn, tn):
    return 2 * tp / np.maximum(2 * tp + fp + fn, 1)


def mcc(tp, fp, fn, tn):
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn) * 1.0
    return (tp * tn - fp * fn) / np.sqrt(np.maximum(product, 1))


def exact(score, y, p):
    """The best threshold, of several the one nearest to 0.5."""
    thresholds, found = cells(y, p)
    values = score(*found)
    best = np.flatnonzero(values == values.max())
    return thresholds[best[np.argmin(np.abs(thresholds[best] - 0.5))]]


def plateau(tolerance):
    """The middle, by probability, of the thresholds around the best that are at most `tolerance` worse."""

    def rule(score, y, p):
        thresholds, found = cells(y, p)
        values = score(*found)
        good, best = values >= values.max() - tolerance, int(values.argmax())
        low = best - np.argmin(np.append(good[best::-1], False)) + 1
        high = best + np.argmin(np.append(good[best:], False)) - 1
        return (thresholds[low] + thresholds[high]) / 2

    return rule


def standard_error(times):
    """A plateau as wide as a rough standard error of the score, 0.5 / sqrt(positives), times a factor."""
    return lambda score, y, p: plateau(times * 0.5 / np.sqrt(max(y.sum(), 1)))(score, y, p)


def folds(rule, count=5):
    """The mean of the thresholds that `rule` finds without each of several folds."""

    def averaged(score, y, p):
        fold = np.empty(len(y), int)
        for k in (0, 1):
            rows = np.flatnonzero(y == k)
            fold[rows] = np.arange(len(rows)) % count
        return float(np.mean([rule(score, y[fold != k], p[fold != k]) for k in range(count)]))

    return averaged


RULES = {
    "exact": exact,
    "plateau 0": plateau(0.0),
    "plateau 0.002": plateau(0.002),
    "plateau 0.01": plateau(0.01),
    "plateau 0.02": plateau(0.02),
    "plateau 0.1 SE": standard_error(0.1),
    "plateau 0.3 SE": standard_error(0.3),
    "folds": folds(exact),
    "folds, plateau 0.01": folds(plateau(0.01)),
    "at 0.5": lambda score, y, p: 0.5,
}


def problems():
    """Yields the labels and probabilities of samples that did not train, for each data set and model."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    from keras_softsets import datasets

    for name in DATA:
        train, *others = datasets.load(name)
        positive = {"wine_quality": 4, "letter": 20}.get(name, 1)
        x, y = (np.concatenate([part[k] for part in others]) for k in (0, 1))
        for model in (LogisticRegression(max_iter=1000), HistGradientBoostingClassifier(random_state=0)):
            model.fit(train[0], train[1] == positive)
            yield name, type(model).__name__, (y == positive).astype(int), model.predict_proba(x)[:, 1]


def measure():
    """Yields a row for each data set, model, size, score and rule: the mean test score over halves."""
    for name, model, y, p in problems():
        for size in SIZES:
            scores = {(score, rule): [] for score in (f1, mcc) for rule in RULES}
            for seed in range(HALVES):
                rows = np.random.default_rng(seed).permutation(len(y))
                tuning, test = rows[: len(y) // 2], rows[len(y) // 2 :]
                tuning = tuning[:size]
                if y[tuning].sum() < 2:
                    continue
                for score, rule in scores:
                    decided = p[test] >= RULES[rule](score, y[tuning], p[tuning])
                    truth = y[test] == 1
                    found = [
                        np.sum(a & b)
                        for a, b in ((truth, decided), (~truth, decided), (truth, ~decided), (~truth, ~decided))
                    ]
                    scores[score, rule].append(float(score(*map(float, found))))
            for (score, rule), values in scores.items():
                if values:
                    yield [name, model, size or "all", score.__name__, rule, f"{np.mean(values):.5f}"]


def main():
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "benchmarks/results/tuner_rules.csv")
    rows = list(measure())
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["data", "model", "size", "score", "rule", "test"], *rows])
    path.with_suffix(".md").write_text(table(rows))
    summarise(rows)


def table(rows):
    """Markdown: the mean test score of each rule over data sets and models, for each score and size."""
    columns = [(score, size) for score in ("f1", "mcc") for size in ("100", "500", "all")]
    head = ["threshold", *(f"{score}, {size}" for score, size in columns)]
    lines = [head, ["---"] * len(head)]
    for rule in RULES:
        found = [[float(row[5]) for row in rows if (row[3], str(row[2]), row[4]) == (*case, rule)] for case in columns]
        lines.append([rule, *(f"{np.mean(values):.3f}" for values in found)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def summarise(rows):
    """Prints the mean difference of each rule to the exact optimum, with a standard error over data sets."""
    values = {tuple(row[:5]): float(row[5]) for row in rows}
    for size in ("every size", *(size or "all" for size in SIZES)):
        for rule in RULES:
            gaps = {}
            for (*case, found), value in values.items():
                if found == rule and size in ("every size", case[2]):
                    gaps.setdefault(case[0], []).append(value - values[(*case, "exact")])
            means = [np.mean(each) for each in gaps.values()]
            error = np.std(means, ddof=1) / np.sqrt(len(means))
            ahead = f"ahead on {sum(m > 0 for m in means)} of {len(means)}"
            print(f"{size!s:10} | {rule:20} | {np.mean(means):+.4f} ± {error:.4f} | {ahead}")


if __name__ == "__main__":
    main()
