"""What users read: losses and metrics as the call that makes them, and errors that suggest what was probably meant."""

import inspect
import re

import keras
import pytest
from cases import of_tensorflow

import keras_softsets
from keras_softsets import (
    AtRecall,
    BlendedLoss,
    LinearHeaviside,
    PerClass,
    SoftF1,
    SoftSetLoss,
    check_score,
    evaluate,
    metrics,
    scores,
    tune_threshold,
)
from keras_softsets.scores._registry import RESERVED
from keras_softsets.scores._suggestions import _SYNONYMS

CALLS = [
    "SoftF1()",
    "SoftF1(threshold=0.3)",
    "SoftF1(threshold=[0.1, 0.5], heaviside='sigmoid')",
    "SoftF1(threshold='argmax', average=[3.0, 1.0], zero_division='ignore', dtype='float64')",
    "SoftF1(heaviside=LinearHeaviside(delta=0.2), from_logits=True, per_sample=True, ignore_class=255)",
    "SoftF1(average=None, reduction='sum')",
    "SoftFBeta(beta=2)",
    "SoftTversky(alpha=0.3, beta=0.7)",
    "SoftKappa(weights=None)",
    "SoftAUROC()",
    "SoftAUROC(name='part', max_fpr=0.1)",
    "SoftSetLoss('f_beta', beta=2, average=None)",
    "SoftPrecisionAtRecall(0.9)",
    "SoftPrecisionAtRecall([0.9, 0.95], name='soft_precision')",
    "metrics.F1()",
    "metrics.Kappa()",
    "metrics.Kappa(weights=None)",
    "metrics.F1(threshold=PerClass(thresholds=(0.2, 0.7)), name='tuned')",
    "metrics.F1(threshold=AtRecall(rates=(0.9,)))",
    "metrics.SoftSetMetric('f_beta', beta=2, heaviside='linear')",
    "metrics.PrecisionAtRecall(0.9, average='micro')",
    "metrics.Scores({'f1': scores.f1(), 'low': scores.f_beta(beta=2)}, threshold=0.4)",
    "metrics.Confusion()",
    "metrics.Confusion(threshold=0.3, average=None)",
    "metrics.MulticlassConfusion(from_logits=True)",
    "BlendedLoss({'f1': SoftF1(), 'recall': SoftRecall(threshold=0.2)}, weights={'f1': 1.0, 'recall': 0.3})",
    "BlendedLoss({'f1': SoftF1()}, name='alone')",
]
NAMES = {**vars(keras_softsets), "AtRecall": AtRecall, "PerClass": PerClass, "LinearHeaviside": LinearHeaviside}


@pytest.mark.parametrize("call", CALLS)
def test_the_call_is_shown_and_makes_the_same(call):
    made = eval(call, NAMES)
    shown = call.replace("metrics.", "").replace("scores.", "")
    assert repr(made) == shown
    assert repr(type(made).from_config(made.get_config())) == shown  # also after loading, when nothing is a default


def test_what_cannot_be_saved_is_shown():
    def cost(cells):
        return cells.tp

    assert repr(SoftSetLoss(cost)) == f"SoftSetLoss({cost!r})"
    assert repr(SoftF1(heaviside=cost)) == f"SoftF1(heaviside={cost!r})"
    assert str(metrics.F1(threshold=0.3)) == "F1(threshold=0.3)"


@of_tensorflow
def test_a_blend_is_shown_inside_a_graph_with_its_weights_of_now():
    import tensorflow as tf

    blend = BlendedLoss({"f1": SoftF1(), "bce": keras.losses.BinaryCrossentropy()})
    blend.set_weights({"f1": 0.5, "bce": 2.0})
    shown = []
    tf.function(lambda: shown.append(repr(blend)))()
    assert shown[0].startswith("BlendedLoss({'f1': SoftF1(), 'bce': ")
    assert shown[0].endswith(", weights={'f1': 0.5, 'bce': 2.0})")
    assert repr(blend.metrics()[0]) == "SetPart(SoftF1(), 'f1_loss')"


def test_scores_of_a_metric_keep_their_parameters():
    assert repr(metrics.Scores(["f1", scores.f_beta(beta=2)])) == "Scores({'f1': f1(), 'f_beta': f_beta(beta=2)})"


Y, P = [0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evaluate(Y, P, mask=[1, 0]), "`mask`; pass it as `sample_weight`, with 0 for what does not count"),
        (lambda: SoftF1(mask=[1, 0]), "`mask`; pass it as `sample_weight` where the loss or metric is called"),
        (lambda: metrics.F1(sample_weight=[1, 0]), "`sample_weight`; pass it to `fit`, or where the loss or metric"),
        (lambda: tune_threshold(Y, P, threshold=0.5), "`threshold`; `evaluate` and metrics take a given one"),
        (lambda: tune_threshold(Y, P, decison="argmax"), r"`decison`; did you mean `decision`\?"),
        (lambda: evaluate(Y, P, decison="argmax"), "`decison`; score `f1` takes no parameters"),
        (lambda: SoftF1(reductoin="sum"), r"`reductoin`; did you mean `reduction`\?"),
        (lambda: evaluate(Y, P, reductoin="sum"), "`reductoin`; score `f1` takes no parameters"),
        (lambda: metrics.F1(reduction="sum"), "`reduction`; score `f1` takes no parameters"),
        (lambda: tune_threshold(Y, P, "f_beta", per_sample=True), "`per_sample`; score `f_beta` takes beta"),
        (lambda: metrics.Scores(["f1"], treshold=0.3), r"`treshold`; did you mean `threshold`\?"),
        (lambda: metrics.PrecisionAtRecall(0.5, treshold=0.3), "`treshold`; score `precision` takes no parameters"),
        (lambda: check_score("f1", monotome=False), r"`monotome`; did you mean `monotone`\?"),
        (lambda: scores.get("f_beta", betta=2), r"`betta`; did you mean `beta`\?"),
        (lambda: scores.f_beta(treshold=0.3), "`treshold`; score `f_beta` takes beta"),
        (lambda: scores.get("f1", mask=1), "`mask`; pass it as `sample_weight`"),
    ],
)
def test_only_arguments_of_the_function_called_are_suggested(call, message):
    with pytest.raises(ValueError, match=f"^There is no argument {message}.* Received: "):
        call()


def test_arguments_of_other_functions_are_never_suggested():
    for function in (evaluate, tune_threshold):
        taken = set(inspect.signature(function).parameters)
        for name in RESERVED:
            if name not in {*taken, "curve"}:
                with pytest.raises(ValueError, match=f"There is no argument `{name}`; ") as error:
                    function(Y, P, **{name: 1})
                suggested = re.findall(r"did you mean `(\w+)`", str(error.value))
                assert set(suggested) <= taken - {name}


@pytest.mark.parametrize(
    ("written", "meant"),
    {
        **{
            "auroc": "roc_auc",
            "AUROC": "roc_auc",
            "auc": "roc_auc",
            "auprc": "pr_auc",
            "ap": "average_precision",
            "F1": "f1",
        },
        **{"dice": "f1", "iou": "jaccard", "IoU": "jaccard", "sensitivity": "recall", "Recall": "recall"},
        **{
            "f1_score": "f1",
            "fbeta_score": "f_beta",
            "matthews_corrcoef": "mcc",
            "average-precision": "average_precision",
        },
        **{"g mean": "g_mean", "balanced_acc": "balanced_accuracy", "precison": "precision", "qwk": "kappa"},
    }.items(),
)
def test_a_score_by_another_name_is_suggested(written, meant):
    message = rf"`score` must be one of accuracy, .*; did you mean `{meant}`\? Received: score='{written}'$"
    for use in (lambda: evaluate(Y, P, written), lambda: SoftSetLoss(written), lambda: tune_threshold(Y, P, written)):
        with pytest.raises(ValueError, match=message):
            use()


def test_suggestions_exist_and_are_made_only_if_something_is_similar():
    assert set(_SYNONYMS.values()) <= set(scores.names())
    assert not set(_SYNONYMS) & set(scores.names())
    for unknown in ("loss", "f3", 3, None, 10**400):
        with pytest.raises(ValueError, match=r"is imported\. Received: score=") as error:
            scores.get(unknown)
        assert "did you mean" not in str(error.value)


def test_a_rule_of_an_unknown_score_is_named():
    for key, meant in {"recal": "recall", "Sensitivity": "recall"}.items():
        message = rf"^A key of `at_least` must be one of .* did you mean `{meant}`\? Received: at_least={{'{key}': "
        with pytest.raises(ValueError, match=message):
            tune_threshold(Y, P, at_least={key: 0.5})
    with pytest.raises(ValueError, match=r"^`at_least\['recall'\]` must be a finite number\. Received"):
        tune_threshold(Y, P, at_least={"recall": "high"})
