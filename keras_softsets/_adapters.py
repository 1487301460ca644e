"""What named losses and metrics share: registration, and signatures that `help()` and IDEs show in full."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import keras

from keras_softsets.decisions import AtRate
from keras_softsets.evaluation import signature_of

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    from keras_softsets.decisions import DecisionLike
    from keras_softsets.evaluation import AverageLike
    from keras_softsets.heaviside import HeavisideLike

    class Options(TypedDict, total=False):
        """The arguments that every loss and metric takes."""

        threshold: DecisionLike | None
        heaviside: HeavisideLike
        average: AverageLike
        from_logits: bool
        zero_division: float | str
        per_sample: bool
        ignore_class: int | None
        name: str | None
        dtype: Any

    class LossOptions(Options, total=False):
        """The arguments that every loss takes."""

        reduction: str | None


Class = TypeVar("Class", bound=type)


class NamedScore:
    """What is common to losses and metrics whose class determines the score.

    Attributes:
        score_name: The score.
    """

    score_name: ClassVar[str]

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the loss or metric."""
        general: Any = super()
        return {name: value for name, value in general.get_config().items() if name != "score"}


class AtRateArguments(NamedScore):
    """What losses and metrics at operating points share: the first argument is a rate, which determines `threshold`.

    Attributes:
        rate_name: Name of the first argument.
        decision: The decision that takes it as its argument.
        hidden_options: Arguments of the general class that these classes do not take.
    """

    rate_name: ClassVar[str]
    decision: ClassVar[type[AtRate]]
    hidden_options: ClassVar[tuple[str, ...]] = ("threshold",)

    def _start(self, rate: float | Sequence[float], name: str, options: Any) -> None:
        if "threshold" in options:
            raise ValueError(
                f"`threshold` must not be given, because it follows from `{self.rate_name}`. "
                f"Received: threshold={options['threshold']!r}"
            )
        general: Any = super()
        at_rate: Any = self.decision  # a dataclass of rates
        general.__init__(self.score_name, threshold=at_rate(rate), name=name, **options)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, from which Keras rebuilds the loss or metric."""
        config = {name: value for name, value in super().get_config().items() if name != "threshold"}
        return {**self._rate(), **config}

    def _arguments(self) -> dict[str, Any]:
        loss_or_metric: Any = self
        general: Any = super()
        return {**general._arguments(), **self._rate(), "name": loss_or_metric.name}

    def _rate(self) -> dict[str, Any]:
        rates = self.evaluation.decision.rates  # type: ignore[attr-defined]  # of the loss or metric
        return {self.rate_name: rates[0] if len(rates) == 1 else list(rates)}


def registered(package: str, module: str) -> Callable[[Class], Class]:
    """Returns a decorator that registers a class for saving under a public module and spells out its options."""

    def decorate(kind: Class) -> Class:
        kind.__module__ = module  # saved files contain this name and must survive a move between private files
        setattr(kind, "__signature__", _ClassSignature(_spelled_out(kind)))  # noqa: B010  (assignment has no type)
        return keras.saving.register_keras_serializable(package=package)(kind)

    return decorate


class _ClassSignature:
    """A signature for the class alone: instances are callable too (tf.function calls them), with a different one."""

    def __init__(self, signature: inspect.Signature) -> None:
        self._signature = signature

    def __get__(self, instance: object | None, owner: type) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        return self._signature


def _spelled_out(kind: Any) -> inspect.Signature:
    """The constructor's signature, with the arguments of the general class spelled out in place of `**options`."""
    constructors = [vars(base)["__init__"] for base in kind.__mro__ if "__init__" in vars(base)]
    chain = [_without_self(inspect.signature(constructor)) for constructor in constructors]
    ends = next(k for k, signature in enumerate(chain) if "options" not in signature.parameters)
    return signature_of(chain[: max(ends, 1)], hidden=getattr(kind, "hidden_options", ()))


def _without_self(signature: inspect.Signature) -> inspect.Signature:
    return signature.replace(parameters=list(signature.parameters.values())[1:])
