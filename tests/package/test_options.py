"""The arguments of losses and metrics: each has an effect, and type checkers know them all."""

import itertools
import pathlib
import re
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_softsets import (
    Argmax,
    AtPrecision,
    AtRecall,
    GuidedCrossentropy,
    LinearHeaviside,
    PerClass,
    SigmoidHeaviside,
    SoftKappa,
    SoftSetLoss,
    confusion_matrix,
    loss_for,
    metrics,
    multiclass_confusion_matrix,
)

RANDOM = np.random.default_rng(3)
LABELS = np.eye(3)[RANDOM.integers(0, 3, (6, 8))]
LABELS[0, :, 1] = 0  # a class that is absent from the first set
LOGITS = RANDOM.normal(size=(6, 8, 3)) + LABELS
P = np.exp(LOGITS) / np.exp(LOGITS).sum(-1, keepdims=True)
P[0, :, 1] = 1e-3
DECISIONS = {
    "a number": 0.4,
    "a sweep": [0.2, 0.4, 0.6],
    "PerClass": PerClass([0.3, 0.4, 0.5]),
    "Argmax": Argmax(),
    "AtRecall": AtRecall(0.8),
    "AtPrecision": AtPrecision(0.6),
}
CHANGES = {
    "heaviside": (LinearHeaviside(0.3), SigmoidHeaviside(20)),
    "average": ("micro", "weighted", [1.0, 5.0, 0.5]),
    "from_logits": (True,),
    "zero_division": (1.0,),
    "per_sample": (True,),
    "ignore_class": (2,),
}
SCORES = {"f1": None, "roc_auc": "an area under a curve", "kappa": "a score of the c x c matrix"}  # rows of the table
COLUMNS = {"Argmax": 1, "AtRecall": 2, "AtPrecision": 2}  # of the table; the others are in the first


def documented():
    """What the page says about each argument: a cell for each kind of decision."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "api" / "index.md").read_text()
    rows = page.split("| argument | a number")[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip(" `") for cell in row.strip("|").split(" | ")] for row in rows]
    return {name: said for name, *said in cells}


def value(kind, score, decision, **options):
    y = LABELS.argmax(-1) if "ignore_class" in options else LABELS
    adapter = kind(score, threshold=decision, **options)
    weight = np.zeros(LABELS.shape[:2]) if "zero_division" in options else None  # of nothing, every score is 0 / 0
    return float(np.asarray(adapter(y, P.astype("float32"), weight)))


@pytest.mark.parametrize(("score", "decision", "argument"), itertools.product(SCORES, DECISIONS, CHANGES))
def test_arguments_have_the_effects_that_the_table_in_the_docs_says(score, decision, argument):
    table, column = documented(), COLUMNS.get(decision, 0)
    said = table[argument][column]
    refused = said.startswith("refused") or table.get(SCORES[score], ["yes"] * 3)[column] == "refused"
    before = {"zero_division": 0.0} if argument == "zero_division" else {}
    for kind, changed in itertools.product((SoftSetLoss, metrics.SoftSetMetric), CHANGES[argument]):
        if refused:
            with pytest.raises(ValueError, match=r"^`(threshold|heaviside)` must"):
                value(kind, score, DECISIONS[decision], **{argument: changed})
            continue
        idle = score == "kappa" and "the c x c matrix have one value" in said
        idle = idle or (kind is metrics.SoftSetMetric and "hard decisions stay the same" in said)
        plain = value(kind, score, DECISIONS[decision], **before)
        found = value(kind, score, DECISIONS[decision], **{argument: changed})
        assert (found == plain) == idle, (kind, changed)


def test_arguments_that_mean_nothing_are_refused():
    p = LABELS * 0.5
    for make in (
        lambda: metrics.F1(class_names=["a", "b", "c"]),
        lambda: SoftSetLoss("f1", ignore_class=255)(LABELS, p),  # neither ids nor one class
        lambda: GuidedCrossentropy(threshold=[0.2, 0.4]),
        lambda: GuidedCrossentropy(threshold=AtRecall(0.9)),
        lambda: GuidedCrossentropy(threshold=Argmax(costs=np.eye(3))),
        lambda: loss_for("f1", heaviside="sigmoid"),
        lambda: loss_for("f1", name="mine"),  # would name the parts
    ):
        with pytest.raises(ValueError, match=r"must (not )?be|There is no argument"):
            make()


def test_an_argmax_refuses_approximations_that_would_be_ignored():
    p = [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2]]
    for make in (
        lambda: SoftKappa(heaviside=SigmoidHeaviside(50)),
        lambda: SoftSetLoss("f1", threshold="argmax", heaviside="sigmoid"),
        lambda: metrics.Kappa(heaviside=LinearHeaviside(0.2)),
        lambda: confusion_matrix([0, 1], p, threshold="argmax", heaviside="sigmoid"),
        lambda: multiclass_confusion_matrix([0, 1], p, heaviside="sigmoid"),
    ):
        with pytest.raises(ValueError, match="`heaviside` must be 'linear' or 'step' with an argmax"):
            make()


def test_an_argmax_that_was_saved_with_an_idle_approximation_loads():
    config = SoftKappa().get_config()
    config["heaviside"] = keras.saving.serialize_keras_object(SigmoidHeaviside(50))
    p = [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.4, 0.5]]
    assert float(SoftKappa.from_config(config)([0, 1, 2], p)) == float(SoftKappa()([0, 1, 2], p))


REFUSED = """
from keras_softsets import SoftF1, SoftFBeta, SoftPrecisionAtRecall, SoftSetLoss, evaluate, metrics
from keras_softsets import SoftAUROC

SoftSetLoss("f1", treshold=0.3)
metrics.SoftSetMetric("f1", treshold=0.3)
metrics.Scores(["f1"], treshold=0.3)
evaluate([0], [0.5], treshold=0.3)
SoftF1(treshold=0.3)
SoftF1(0.3)
SoftFBeta(2, treshold=0.3)
SoftAUROC(max_fpr=0.1, treshold=0.3)
SoftPrecisionAtRecall(0.9, threshold=0.3)
metrics.PrecisionAtRecall(0.9, averages="micro")
metrics.Kappa(weight="linear")
"""
ACCEPTED = """
from keras_softsets import Argmax, AtRecall, PerClass, SoftF1, SoftFBeta, SoftPrecisionAtRecall, SoftSetLoss
from keras_softsets import evaluate, metrics, scores

SoftSetLoss("f_beta", beta=2, threshold=[0.1, 0.2], average=[1.0, 2.0])
SoftSetLoss(scores.get("f_beta", beta=2), zero_division="ignore")
SoftF1(threshold=PerClass([0.2, 0.7]), heaviside="sigmoid", reduction="sum", name="f1", dtype="float32")
SoftFBeta(2, threshold="argmax", from_logits=True)
SoftPrecisionAtRecall([0.9, 0.95], average="micro")
evaluate([0], [0.5], "roc_auc", max_fpr=0.1, per_sample=False)
metrics.Scores(["f1", "recall"], threshold=0.3, class_names=None)
metrics.PrecisionAtRecall(0.9, class_names=["a"], average=None)
metrics.Kappa("linear", ignore_class=255, threshold=Argmax(offsets=[0.0, 0.3]))
evaluate([0], [0.5], "precision", threshold=AtRecall(0.95))
"""


def errors(code, folder):
    file = folder / "typed.py"
    file.write_text(code)
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-error-summary", str(file)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert not found.stderr
    return [int(line) for line in re.findall(r"typed\.py:(\d+): error", found.stdout)]


def test_misspelt_arguments_are_refused(tmp_path):
    calls = [k for k, line in enumerate(REFUSED.splitlines(), 1) if "(" in line]
    assert len(calls) == 11
    assert sorted(set(errors(REFUSED, tmp_path))) == calls


def test_arguments_that_exist_are_accepted(tmp_path):
    assert errors(ACCEPTED, tmp_path) == []
