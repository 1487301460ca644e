"""What losses, metrics and values owe to Keras and to users: a stable name in saved files, `repr`, typed options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import keras

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    from keras_softsets._checks import Average, ZeroDivision
    from keras_softsets.decisions._decision import DecisionLike
    from keras_softsets.heaviside import HeavisideLike

    class ScoreParameters(TypedDict, total=False):
        """Parameters of the package's scores. Bind those of your own: `SoftSetLoss(my_score(alert_cost=0.05))`."""

        alpha: float
        beta: float
        costs: Sequence[Sequence[float]]
        max_fpr: float | None
        min_recall: float | None
        weights: str | None

    class Options(TypedDict, total=False):
        """The arguments that every loss and metric takes, except `threshold` and `name`."""

        heaviside: HeavisideLike
        average: Average
        from_logits: bool
        zero_division: ZeroDivision
        per_sample: bool
        ignore_class: int | None
        dtype: Any

    class CurveLossOptions(Options, total=False):
        """Those that areas under a curve do not list themselves."""

        reduction: str | None

    class LossOptions(CurveLossOptions, total=False):
        """The arguments that every loss takes."""

        threshold: DecisionLike | None
        name: str | None

    class CurveMetricOptions(Options, total=False):
        """Those that areas under a curve do not list themselves."""

        class_names: Sequence[str] | None

    class MetricOptions(CurveMetricOptions, total=False):
        """The arguments that every metric takes."""

        threshold: DecisionLike | None
        name: str | None


Class = TypeVar("Class", bound=type)


def registered(package: str, module: str) -> Callable[[Class], Class]:
    """Returns a decorator that registers a class for saving, as one of a public module."""

    def decorate(kind: Class) -> Class:
        kind.__module__ = module  # saved files contain this name and must survive a move between private files
        return keras.saving.register_keras_serializable(package=package)(kind)

    return decorate


class Shown:
    """Base of losses and metrics, which are shown as the call that makes them.

    Attributes:
        name_prefix: What precedes the score's name in the default name.
    """

    evaluation: Any
    name: str
    dtype: str
    name_prefix = ""

    def _arguments(self) -> dict[str, Any]:
        """Returns the arguments by name, as a user would write them; `call` drops any that the constructor lacks."""
        score = self.evaluation.scores[0]
        return {
            "score": score.name if score.registered else score.function,
            **self.evaluation.arguments(),
            **score.parameters,
            "name": None if self.name == self.name_prefix + score.name else self.name,
            "dtype": written_dtype(self),
        }

    def __repr__(self) -> str:
        return call(type(self), self._arguments())


class AtRateArguments:
    """What losses and metrics at operating points share: the first argument is a rate, which determines `threshold`.

    Attributes:
        score_name: The score.
        rate_name: Name of the first argument.
        decision: The decision that takes it as its argument.
    """

    score_name: ClassVar[str]
    rate_name: ClassVar[str]
    decision: ClassVar[Any]

    def _start(self, rate: Any, name: str, unknown: dict[str, Any], **options: Any) -> None:
        if "threshold" in unknown:
            raise ValueError(
                f"`threshold` must not be given, because it follows from `{self.rate_name}`. "
                f"Received: threshold={unknown['threshold']!r}"
            )
        general: Any = super()
        threshold = self.decision.named(self.rate_name, rate)  # recall is also called sensitivity
        general.__init__(self.score_name, threshold=threshold, name=name, **options, **unknown)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the loss or metric."""
        general: Any = super()
        fixed = ("score", "threshold", "per_sample")
        return {**self._rate(), **{name: value for name, value in general.get_config().items() if name not in fixed}}

    def _arguments(self) -> dict[str, Any]:
        adapter: Any = self
        general: Any = super()
        return {**general._arguments(), **self._rate(), "name": adapter.name}

    def _rate(self) -> dict[str, Any]:
        rates = self.evaluation.decision.rates  # type: ignore[attr-defined]  # of the loss or metric
        return {self.rate_name: rates[0] if len(rates) == 1 else list(rates)}


def written_dtype(adapter: Any) -> str | None:
    """Returns the argument `dtype`, whose default is floatx."""
    return None if adapter.dtype == keras.config.floatx() else adapter.dtype


def call(kind: type, values: dict[str, Any]) -> str:
    """Returns a constructor's call: required arguments by position, others by name unless they have their default."""
    parameters = arguments_of(kind)
    required = [repr(values[name]) for name, p in parameters.items() if p.default is p.empty and name in values]
    defaults = {name: p.default for name, p in parameters.items() if p.default is not p.empty}
    options = {name: values[name] for name, default in defaults.items() if name in values and values[name] != default}
    if "score" in parameters:  # which may have any parameters
        options = {name: value for name, value in values.items() if name not in parameters} | options
    return f"{kind.__name__}({', '.join([*required, *(f'{name}={value!r}' for name, value in options.items())])})"


def arguments_of(caller: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Returns the arguments of a function or constructor by name; `**options` are those of the base class."""
    found: dict[str, inspect.Parameter] = {}
    constructors = [vars(kind)["__init__"] for kind in getattr(caller, "__mro__", ()) if "__init__" in vars(kind)]
    for function in constructors or [caller]:
        parameters = inspect.signature(function).parameters
        found = {**{name: p for name, p in parameters.items() if p.kind not in _OPEN}, **found}
        if "options" not in parameters:
            break
    return {name: p for name, p in found.items() if name not in ("self", "options")}


_OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
