"""Losses and metrics are shown as the calls that make them."""

import keras
import pytest
import tensorflow as tf

import keras_softsets
from keras_softsets import AtRecall, BlendedLoss, LinearHeaviside, PerClass, SoftF1, SoftSetLoss, metrics, scores

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


def test_a_blend_is_shown_inside_a_graph_with_its_weights_of_now():
    blend = BlendedLoss({"f1": SoftF1(), "bce": keras.losses.BinaryCrossentropy()})
    blend.set_weights({"f1": 0.5, "bce": 2.0})
    shown = []
    tf.function(lambda: shown.append(repr(blend)))()
    assert shown[0].startswith("BlendedLoss({'f1': SoftF1(), 'bce': ")
    assert shown[0].endswith(", weights={'f1': 0.5, 'bce': 2.0})")
    assert repr(blend.metrics()[0]) == "SetPart(SoftF1(), 'f1_loss')"


def test_scores_of_a_metric_keep_their_parameters():
    assert repr(metrics.Scores(["f1", scores.f_beta(beta=2)])) == "Scores({'f1': f1(), 'f_beta': f_beta(beta=2)})"
