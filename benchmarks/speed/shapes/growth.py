"""How time grows with samples, classes, thresholds and replicas."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from benchmarks.speed import measurements
from benchmarks.speed.cases import BASE, Batch, Group
from benchmarks.speed.losses import LOSSES, named
from benchmarks.speed.shapes import plan
from benchmarks.speed.shapes.plan import ONE, SEVERAL
from benchmarks.speed.timing import Rounds, interleaved, summary

REPLICATED = 65_536  # samples of a global batch


def run(rounds: Rounds, quick: bool = False) -> dict[str, Any]:
    """Returns for each number and loss the times and the ratios to cross-entropy."""
    few = slice(1, 3) if quick else slice(None)
    losses = named(BASE, ONE, SEVERAL)
    return {
        "samples": {n: _timed(Group(Batch(n), losses), rounds) for n in plan.SAMPLES[few]},
        "classes": {c: _timed(plan.growing_classes(c).group, rounds) for c in plan.CLASSES[few]},
        "thresholds": {t: _timed(plan.growing_thresholds(t), rounds, str(t)) for t in plan.THRESHOLDS[few]},
        "replicas": {k: measurements.in_own_process(_replicas, (k, rounds)) for k in plan.REPLICAS[few]},
    }


def _timed(group: Group, rounds: Rounds, only: str | None = None) -> dict[str, Any]:
    times = measurements.step_times(group, rounds)
    found = {name: summary(times[name], times[BASE]) for name in times}
    return found if only is None else {BASE: found[BASE], "linear": found[only]}


def _replicas(case: tuple[int, Rounds]) -> dict[str, Any]:
    """Times one global batch on that many logical CPUs, which share the cores of this machine."""
    count, rounds = case
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
    strategy = tf.distribute.MirroredStrategy([f"CPU:{k}" for k in range(count)])
    y, p = Batch(REPLICATED).arrays()
    shares = [
        strategy.experimental_distribute_values_from_function(
            lambda context, x=x: tf.constant(x[context.replica_id_in_sync_group :: count])
        )
        for x in (y, p)
    ]
    runs = {name: _step(strategy, LOSSES[name].make(**LOSSES[name].arguments), shares) for name in (BASE, ONE, SEVERAL)}
    times = interleaved(runs, rounds)
    return {name: summary(found, times[BASE]) for name, found in times.items()}


def _step(strategy: Any, loss: keras.losses.Loss, shares: list[Any]) -> Any:
    def on_replica(y: Any, p: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(p)
            value = loss(y, p)
        return value, tape.gradient(value, p)

    @tf.function
    def step(*shares: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(on_replica, args=shares)[0], axis=None)

    return lambda: float(step(*shares))
