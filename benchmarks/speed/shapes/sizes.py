"""Batches of new sizes, in a step that is traced once for all of them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import tensorflow as tf

from benchmarks.speed.cases import BASE, Batch
from benchmarks.speed.measurements import in_own_process, resident_memory
from benchmarks.speed.shapes.plan import AT_PRECISION, AT_RECALL, EVERY, ONE, SEVERAL
from benchmarks.speed.timing import quartiles
from keras_softsets._backend.tensorflow._sizes import padded_size

LARGEST = 100_000
LIMITS = {"ms": 3.0, "mean_ms": 25, "programs": 24, "MB": 60}


def run(sizes: int) -> dict[str, Any]:
    """Measures each loss in a separate process."""
    return {name: in_own_process(new_sizes, (name, sizes)) for name in (BASE, ONE, SEVERAL, AT_RECALL, AT_PRECISION)}


def new_sizes(case: tuple[str, int]) -> dict[str, Any]:
    """Returns the quartiles of the time of a first call, the number of compiled programs, and the memory they take."""
    name, count = case
    loss, random = EVERY[name], np.random.default_rng(0)
    y, p = (tf.constant(x) for x in Batch(LARGEST).arrays())
    kernel = loss.make(**loss.arguments)

    @tf.function(reduce_retracing=True)
    def step(y: Any, p: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(p)
            value = kernel(y, p)
        return tape.gradient(value, p)

    for n in (10, 11):  # the second size makes it a step for all of them
        step(y[:n], p[:n])
    drawn = [int(n) for n in random.choice(np.arange(12, LARGEST), count, replace=False)]
    before = resident_memory()
    times = [_first(step, y[:n], p[:n]) for n in drawn]
    after = resident_memory()
    found = {"ms": quartiles(times), "total_s": round(sum(times) / 1e3, 2), "mean_ms": round(sum(times) / count, 1)}
    if before is not None and after is not None:
        found["MB"] = round((after - before) / 2**20, 1)
    programs = {BASE: 0, AT_RECALL: 3, AT_PRECISION: 3}.get(name, 2)  # sums, slopes, and the search for a threshold
    return {**found, "programs": programs * len({_padded(n) for n in drawn})} if programs else found


def _padded(samples: int) -> int:
    return int(padded_size(tf.constant(samples), 1))


def _first(step: Any, *arrays: Any) -> float:
    start = time.perf_counter()
    step(*arrays).numpy()
    return 1e3 * (time.perf_counter() - start)
