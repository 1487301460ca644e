"""What JAX and PyTorch share: masks beside tensors, and what has nothing to do without graphs or replicas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras.src.backend.common import masking  # no public name in Keras 3.15

from keras_softsets._backend._types import Tensor


def mask_of(x: Any) -> Tensor | None:
    """The mask that a layer attached to a tensor."""
    return masking.get_keras_mask(x)


def with_mask(x: Tensor, mask: Tensor) -> Tensor:
    """Attaches a mask to a tensor."""
    masking.set_keras_mask(x, mask)
    return x


def keep_nan(x: Tensor, y: Tensor) -> Tensor:
    """A user's function `y` of `x`, which hides no NaN."""
    return y


def assert_in_graph(suspicious: Tensor, rules: Callable[[], list[tuple[Tensor, str, Tensor]]]) -> None:
    """Nothing: a compiled step cannot raise errors, and NaN is the only signal."""


def try_out(function: Callable[[], Any]) -> None:
    """Calls a function to see whether it raises."""
    function()


def make_variable(make: Callable[[], Any]) -> Any:
    """Makes a variable, which all devices share or each process has for itself."""
    return make()


def replica_count() -> int:
    """By what a loss is divided: 1, because gradients of replicas are averaged or those of the global batch."""
    return 1


def replicas_in_sync() -> int:
    """How many replicas write to a metric's variables: 1."""
    return 1


def replica_index() -> int:
    """Which of them this is."""
    return 0


def keras_scales() -> bool:
    """Whether Keras divides its own losses by the number of replicas here."""
    return False


def sum_over_replicas(totals: Tensor) -> Tensor:
    """The totals themselves, where they are those of the global batch."""
    return totals


def gather_samples(samples: Any) -> Any:
    """The samples themselves, likewise."""
    return samples
