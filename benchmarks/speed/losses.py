"""Who is compared: Keras's losses and ours by name, and peers in PyTorch where the `peers` extra is installed.

`KERAS_BACKEND=jax python -m benchmarks.speed.losses` times some on another backend, where TensorFlow is not installed.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np

from benchmarks.speed.cases import BASE, Batch
from benchmarks.speed.timing import Rounds, Run, interleaved, summary
from keras_softsets import LinearHeaviside, SigmoidHeaviside, SoftF1, TabulatedHeaviside

NINE = [k / 10 for k in range(1, 10)]
MANY = [k / 100 for k in range(1, 100)]
UNEVEN = [0.013, 0.0971, 0.2017, 0.31, 0.4423, 0.5551, 0.6713, 0.8117, 0.953]


@dataclass(frozen=True)
class Loss:
    """A Keras loss with its arguments.

    Attributes:
        name: What tables call it.
        make: Its class.
        arguments: What its class is called with.
    """

    name: str
    make: Callable[..., keras.losses.Loss]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def step(self, batch: Batch, compiled: bool) -> Run:
        """Returns the loss's share of a training step: its value and its gradient with respect to p, waited for."""
        return _STEPS[keras.config.backend()](self.make(**self.arguments), batch.arrays(), compiled)


def _on_tensorflow(loss: Any, arrays: list[np.ndarray], compiled: bool) -> Run:
    import tensorflow as tf

    @tf.function(jit_compile=compiled)
    def step(y: Any, p: Any, *w: Any) -> tuple[Any, Any]:
        with tf.GradientTape() as tape:
            tape.watch(p)
            value = loss(y, p, *w)
        return value, tape.gradient(value, p)

    tensors = [tf.constant(x) for x in arrays]

    def run() -> float:
        value = float(step(*tensors)[0])  # on a CPU the gradient is ready as well
        if tf.config.list_logical_devices("GPU"):
            tf.test.experimental.sync_devices()
        return value

    return run


def _on_jax(loss: Any, arrays: list[np.ndarray], compiled: bool) -> Run:
    import jax

    y, p, *w = map(jax.numpy.asarray, arrays)
    step = jax.jit(jax.value_and_grad(lambda p, y, *w: loss(y, p, *w)))
    return lambda: float(jax.block_until_ready(step(p, y, *w))[0])


def _on_torch(loss: Any, arrays: list[np.ndarray], compiled: bool) -> Run:
    import torch

    y, p, *w = map(torch.as_tensor, arrays)
    return _step(p, lambda: loss(y, p, *w))


_STEPS = {"tensorflow": _on_tensorflow, "jax": _on_jax, "torch": _on_torch}


_SIGMOID, _TABLE = SigmoidHeaviside(), TabulatedHeaviside(LinearHeaviside())

LOSSES = {
    loss.name: loss
    for loss in (
        Loss(BASE, keras.losses.BinaryCrossentropy),
        Loss("Keras Dice", keras.losses.Dice),
        Loss("linear, 1 threshold", SoftF1),
        Loss("linear, 9 thresholds", SoftF1, {"threshold": NINE}),
        Loss("linear, 9 uneven thresholds", SoftF1, {"threshold": UNEVEN}),
        Loss("linear, 99 thresholds", SoftF1, {"threshold": MANY}),
        Loss("sigmoid, 1 threshold", SoftF1, {"heaviside": _SIGMOID}),
        Loss("sigmoid, 9 thresholds", SoftF1, {"heaviside": _SIGMOID, "threshold": NINE}),
        Loss("sigmoid, 99 thresholds", SoftF1, {"heaviside": _SIGMOID, "threshold": MANY}),
        Loss("tabulated, 1 threshold", SoftF1, {"heaviside": _TABLE}),
        Loss("tabulated, 9 thresholds", SoftF1, {"heaviside": _TABLE, "threshold": NINE}),
        Loss("tabulated, 99 thresholds", SoftF1, {"heaviside": _TABLE, "threshold": MANY}),
    )
}


def named(*names: str) -> tuple[Loss, ...]:
    """Returns losses by their names."""
    return tuple(LOSSES[name] for name in names)


AP_PERF_BATCH = 20  # its projection is cubic in the batch: 20 samples take about as long as the others' million


@dataclass(frozen=True)
class Peer:
    """A loss of another package.

    Attributes:
        name: What tables call it.
        package: What has to be installed.
        build: Returns a step on labels and probabilities.
    """

    name: str
    package: str
    build: Callable[[list[np.ndarray]], Run]

    def step(self, batch: Batch, compiled: bool) -> Run | None:
        """Returns a step; None if the package is not installed. PyTorch is not compiled in either case."""
        return self.build(batch.arrays()) if importlib.util.find_spec(self.package) else None


def _torch_btg(arrays: list[np.ndarray]) -> Run:
    """The authors' F1 loss at 0.1, ..., 0.9; its hard-coded `.cuda()` is made a no-op."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch_btg.loss import fb_loss
    torch.Tensor.cuda = lambda self, *_, **__: self  # replaced on purpose, see above
    loss = fb_loss()
    y, p = (torch.tensor(x[:, 0]) for x in arrays[:2])
    return _step(p, lambda: loss(p, y)[0])


def _ap_perf(arrays: list[np.ndarray]) -> Run:
    """AP-Perf's F1 layer, on the logits of the first few samples."""
    import torch

    layer = adversarial_f1()
    y = torch.tensor((np.arange(AP_PERF_BATCH) % 4 == 0).astype("float32"))
    p = np.clip(arrays[1][:AP_PERF_BATCH, 0], 1e-3, 1 - 1e-3)
    logits = torch.tensor(np.log(p / (1 - p)))
    return _step(logits, lambda: layer(logits, y))


def adversarial_f1() -> Any:
    """Returns Fathony and Kolter's adversarial F1, a function of logits and labels, from their package `ap-perf`."""
    from ap_perf import MetricLayer, PerformanceMetric

    class F1(PerformanceMetric):
        def define(self, C: Any) -> Any:
            return 2 * C.tp / (C.ap + C.pp)

    metric = F1()
    metric.initialize()
    metric.enforce_special_case_positive()
    return MetricLayer(metric)


def _step(variable: Any, loss: Callable[[], Any]) -> Run:
    variable.requires_grad_()

    def run() -> float:
        variable.grad = None
        value = loss()
        value.backward()
        return float(value)

    return run


TORCH_BTG = Peer("torch-btg, 9 thresholds", "torch_btg", _torch_btg)
AP_PERF = Peer(f"AP-Perf, batch of {AP_PERF_BATCH}", "ap_perf", _ap_perf)


def on_this_backend(sizes: tuple[int, ...], rounds: Rounds) -> dict[str, Any]:
    """Returns times and ratios of one and nine thresholds on the backend that Keras runs on, by batch size."""
    found = {}
    for size in sizes:
        losses = named(BASE, "linear, 1 threshold", "linear, 9 thresholds")
        times = interleaved({loss.name: loss.step(Batch(size), True) for loss in losses}, rounds)
        found[f"n={size}"] = {name: summary(times[name], times[BASE]) for name in times}
    return found


if __name__ == "__main__":
    print(json.dumps(on_this_backend((1_000_000, 1024), Rounds(float(sys.argv[1]) if sys.argv[1:] else 20.0))))
