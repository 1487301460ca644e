"""The loss to start with for a score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keras_softsets._checks import Average
from keras_softsets.blends._blend import BlendedLoss
from keras_softsets.decisions._decision import DecisionLike
from keras_softsets.losses import GuidedCrossentropy, SoftSetLoss
from keras_softsets.scores._registry import ScoreLike, resolve

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from keras_softsets._adapters import ScoreParameters

_AT_THRESHOLDS, _OF_CLASSES = 1.0, 0.3  # weight of the cross-entropy


def loss_for(
    score: ScoreLike = "f1",
    *,
    threshold: DecisionLike | None = None,
    average: Average = "macro",
    from_logits: bool = False,
    ignore_class: int | None = None,
    **score_args: Unpack[ScoreParameters],
) -> BlendedLoss:
    """Returns the loss to start with for a score: the set loss plus cross-entropy that the score guides.

    | score | parts |
    |---|---|
    | of one threshold, `"f1"` | `SoftSetLoss(score)` + `GuidedCrossentropy(score)` |
    | of the c x c matrix, `"kappa"` | `SoftSetLoss(score)` + 0.3 `GuidedCrossentropy(score)` |
    | area under a curve, a sweep, an operating point such as `AtRecall(0.9)` | `SoftSetLoss(score)` + cross-entropy |

    The set loss makes the decision good, and cross-entropy makes the model start, learn from every sample and rank.
    See "Choosing a loss" in the documentation for what was measured.

    Args:
        score: A name such as `"f1"`, a score such as `scores.f_beta(beta=2)`, or a function of a `ConfusionMatrix`.
            Defaults to `"f1"`.
        threshold: How probabilities become decisions, as in `SoftSetLoss`. Defaults to `None`: 0.5, and the argmax for
            scores of the c x c matrix.
        average: How the values of several classes become one, as in `SoftSetLoss`. Defaults to `"macro"`.
        from_logits: Whether predictions are logits. Defaults to `False`.
        ignore_class: Class id that does not count, such as 255 in masks. Defaults to `None`.
        **score_args: Parameters of the score, such as `beta=2`.

    Returns:
        A `BlendedLoss`, whose parts have the names of the score and `"guided"` or `"crossentropy"`. It holds a running
        matrix: make one for each output of each model.

    Examples:
        >>> loss_for("jaccard", threshold="argmax", ignore_class=255).weights
        {'jaccard': 1.0, 'guided': 1.0}
        >>> loss_for("kappa", weights="quadratic").weights
        {'kappa': 1.0, 'guided': 0.3}
    """
    shared: dict[str, Any] = {"from_logits": from_logits, "ignore_class": ignore_class}
    resolved = resolve(score, score_args, loss_for)
    set_loss = SoftSetLoss(resolved, threshold=threshold, average=average, **shared)
    (found,), decision = set_loss.evaluation.scores, set_loss.evaluation.decision
    if found.curve or decision.rates or decision.rows > 1:
        key, entropy = "crossentropy", GuidedCrossentropy("accuracy", **shared)  # plain, and it knows `ignore_class`
    else:
        key, entropy = "guided", GuidedCrossentropy(resolved, threshold=threshold, average=average, **shared)
    weight = _OF_CLASSES if set_loss.evaluation.c_x_c else _AT_THRESHOLDS
    parts = {found.name: set_loss, key: entropy}
    return BlendedLoss(parts, {found.name: 1.0, key: weight}, name=f"soft_{found.name}_and_{key}")
