"""Several scores of the same cells, which are summed once."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from keras import ops

from keras_softsets import scores as registry
from keras_softsets._backend import Tensor
from keras_softsets._checks import Average, ZeroDivision
from keras_softsets._evaluation import Evaluation
from keras_softsets.decisions._decision import DecisionLike
from keras_softsets.heaviside import HeavisideLike
from keras_softsets.metrics._base import CellsMetric
from keras_softsets.metrics._soft_set import register
from keras_softsets.scores._registry import ScoreLike
from keras_softsets.scores._suggestions import unknown_argument

if TYPE_CHECKING:
    from typing_extensions import Never


@register
class Scores(CellsMetric):
    """Several scores in one metric: the cells are summed once, and each score is a key in the logs.

    Args:
        scores: Names, scores such as `scores.f_beta(beta=2)` or functions of a `ConfusionMatrix`; or a mapping from
            your own keys to these. The default keys are the scores' names, followed by the values of their parameters
            if a name occurs twice.
        threshold: As in `SoftSetMetric`. Defaults to `None`: 0.5. Areas under a curve have other default thresholds,
            so it must be given if they are mixed with other scores.
        heaviside: As in `SoftSetMetric`. Defaults to `"step"`.
        average: As in `SoftSetMetric`. Defaults to `"macro"`.
        from_logits: As in `SoftSetMetric`. Defaults to `False`.
        zero_division: As in `SoftSetMetric`. Defaults to `0.0`.
        per_sample: As in `SoftSetMetric`. Defaults to `False`.
        ignore_class: As in `SoftSetMetric`. Defaults to `None`.
        class_names: As in `SoftSetMetric`. Defaults to `None`.
        name: Name of the metric. Any name other than the default is put before the keys, `low_f1` for `name="low"`, so
            that one model can have several. Defaults to `"scores"`.
        dtype: Type of the results. Defaults to `None`, floatx.

    Examples:
        >>> from keras_softsets import scores
        >>> metric = Scores(["f1", "precision", scores.f_beta(beta=2)])
        >>> values = metric([0, 0, 0, 1, 1], [0.1, 0.6, 0.7, 0.4, 0.9])
        >>> {key: round(float(value), 4) for key, value in values.items()}
        {'f1': 0.4, 'precision': 0.3333, 'f_beta': 0.4545}
    """

    def __init__(
        self,
        scores: Sequence[ScoreLike] | Mapping[str, ScoreLike],
        *,
        threshold: DecisionLike | None = None,
        heaviside: HeavisideLike = "step",
        average: Average = "macro",
        from_logits: bool = False,
        zero_division: ZeroDivision = 0.0,
        per_sample: bool = False,
        ignore_class: int | None = None,
        class_names: Sequence[str] | None = None,
        name: str = "scores",
        dtype: Any = None,
        **score_args: Never,
    ) -> None:
        named = _named(scores)
        for argument in score_args:
            raise unknown_argument(argument, type(self))
        evaluation = Evaluation(
            list(named.values()),
            threshold=threshold,
            heaviside=heaviside,
            average=average,
            from_logits=from_logits,
            zero_division=zero_division,
            per_sample=per_sample,
            ignore_class=ignore_class,
        )
        curves = {score.curve for score in evaluation.scores}
        if len(curves) == 2 and threshold is None:
            raise ValueError(
                "`threshold` must be given if areas under a curve and scores of one threshold are mixed, or use two "
                f"metrics. Received: scores={list(evaluation.scores)}"
            )
        super().__init__(evaluation, name=name, dtype=dtype, class_names=class_names)
        self._names = list(named)

    def result(self) -> dict[str, Tensor]:
        """Returns each score of everything since the last reset; 0 before the first batch."""
        values = [ops.zeros(())] * len(self._names) if self._empty else self._values()
        named = [self._named(key, value) for key, value in zip(self._keys(), values)]
        return {key: value for each in named for key, value in each.items()}

    def _keys(self) -> list[str]:
        return [name if self.name == "scores" else f"{self.name}_{name}" for name in self._names]

    def _arguments(self) -> dict[str, Any]:
        scores = dict(zip(self._names, self.evaluation.scores))
        return {**super()._arguments(), "scores": scores, "name": self.name}

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the metric."""
        saved = [score.config() for score in self.evaluation.scores]
        return {"scores": dict(zip(self._names, saved)), **super().get_config()}


def _named(scores: Any) -> dict[str, registry.Score]:
    if isinstance(scores, Mapping):
        named = {key: _resolved(score) for key, score in scores.items()}
    else:
        several = isinstance(scores, Iterable) and not isinstance(scores, str)
        listed = [_resolved(score) for score in scores] if several else []
        names = [score.name for score in listed]
        named = {_key(score, names.count(score.name) > 1): score for score in listed}
        if len(named) < len(listed):
            raise ValueError(f"`scores` must differ in names or parameters. Received: scores={listed}")
    if not named:
        raise ValueError(f"`scores` must be a non-empty sequence or mapping of scores. Received: scores={scores!r}")
    return named


def _resolved(score: Any) -> registry.Score:
    if not isinstance(score, Mapping):
        return registry.get(score)
    parameters = {name: value for name, value in score.items() if name != "score"}  # from `get_config`
    return registry.get(score.get("score", score), **parameters)


def _key(score: registry.Score, repeated: bool) -> str:
    return "_".join([score.name, *map(_word, score.parameters.values())]) if repeated else score.name


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, numbers.Real) else str(value)
