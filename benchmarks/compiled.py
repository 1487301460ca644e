"""What the compilers for TPUs and GPUs say about a training step, without any.

    pip install "keras-softsets[jax]" libtpu
    python -m benchmarks.compiled                                             # 4 chips of TPU v5e
    python -m benchmarks.compiled --topology v5e:16x16 --batch-size 4194304   # 256

    pip install "keras-softsets[jax]" "jax[cuda12]"
    JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1 python -m benchmarks.compiled --topology 1x1x4   # 4 GPUs A100 of one machine

A small network is trained data parallel with each loss: its step is compiled ahead of time for a topology of chips. For
each loss this prints the bytes that the step accesses, its temporary memory, the compiler's estimate of its time, and
the collectives of the program: how many, and how many numbers they move. Those of the gradients are the same for all
losses; the difference to cross-entropy is what the loss adds.
"""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # there is no machine with TPUs to be asked about itself

import jax
import keras
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from benchmarks import markdown
from keras_softsets import GuidedCrossentropy, SoftF1, SoftKappa, SoftPrecisionAtRecall

BASE = "BinaryCrossentropy"
LOSSES: dict[str, Callable[[], Any]] = {
    BASE: keras.losses.BinaryCrossentropy,
    "SoftF1, 1 threshold": SoftF1,
    "SoftF1, 9 thresholds": lambda: SoftF1(threshold=[k / 10 for k in range(1, 10)]),
    "SoftF1, 99 thresholds": lambda: SoftF1(threshold=[k / 100 for k in range(1, 100)]),
    "SoftPrecisionAtRecall(0.9)": lambda: SoftPrecisionAtRecall(0.9),
    "GuidedCrossentropy, window=None": lambda: GuidedCrossentropy("f1", window=None),
    "CategoricalCrossentropy, 5 classes": keras.losses.CategoricalCrossentropy,
    "SoftKappa, 5 classes": SoftKappa,
}
_A100 = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048 core_count: 108 fpus_per_core: 64
  shared_memory_per_block: 49152 shared_memory_per_core: 167936 shared_memory_per_block_optin: 166912
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  registers_per_core_limit: 65536 registers_per_block_limit: 65536 cuda_compute_capability { major: 8 }
  memory_bandwidth: 2039000000000 l2_cache_size: 41943040 clock_rate_ghz: 1.1105 device_memory_size: 79050250240
}
platform_name: "CUDA" dnn_version_info { major: 9 minor: 8 } device_description_str: "NVIDIA A100-SXM4-80GB"
"""
_COLLECTIVE = re.compile(r"= (.*?) (all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)(?:-start)?\(")
_SHAPE = re.compile(r"[a-z]+\d+\[([\d,]*)\]")


def chips(topology: str) -> Any:
    """Returns the chips of a topology: of TPUs, such as v5e:2x2x1, or as many A100 as machines x ... x GPUs says."""
    if ":" in topology:
        return topologies.get_topology_desc(platform="tpu", topology_name=topology).devices
    options = {"target_config": _A100, "topology": topology}
    return topologies.get_topology_desc(platform="cuda", topology_name=topology, **options).devices


def compiled(name: str, topology: str, batch_size: int, features: int = 64) -> Any:
    """Returns the compiled step of a batch that is split over all chips."""
    mesh = Mesh(np.asarray(chips(topology)), ("batch",))
    split, everywhere = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (("batch",), ()))
    outputs = 5 if "classes" in name else 1
    layers = [keras.layers.Dense(64, "relu"), keras.layers.Dense(outputs, "softmax" if outputs > 1 else "sigmoid")]
    model, loss = keras.Sequential([keras.Input((features,)), *layers]), LOSSES[name]()

    def step(weights: list[Any], x: Any, y: Any) -> tuple[Any, list[Any]]:
        def value(weights: list[Any]) -> Any:
            return loss(y, model.stateless_call(weights, [], x, training=True)[0])

        found, gradients = jax.value_and_grad(value)(weights)
        return found, [w - 0.1 * g for w, g in zip(weights, gradients)]

    def shaped(shape: tuple[int, ...], sharding: Any) -> Any:
        return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)

    weights = [shaped(w.shape, everywhere) for w in model.trainable_variables]
    batch = [shaped((batch_size, n), split) for n in (features, outputs)]
    return jax.jit(step).lower(weights, *batch).compile()


def collectives(program: str) -> list[tuple[str, int]]:
    """Returns the kind of each collective of a program, and how many numbers it results in."""
    found = []
    for result, kind in _COLLECTIVE.findall(program):
        found.append((kind, sum(math.prod(map(int, filter(None, s.split(",")))) for s in _SHAPE.findall(result))))
    return found


def facts(name: str, topology: str, batch_size: int) -> dict[str, Any]:
    """Returns what the compiler says about the step with a loss."""
    step = compiled(name, topology, batch_size)
    cost, memory = step.cost_analysis() or {}, step.memory_analysis()  # of GPUs, there may be none
    return {
        "bytes": cost.get("bytes accessed", math.nan),
        "temporary": getattr(memory, "temp_size_in_bytes", math.nan),
        "seconds": cost.get("optimal_seconds", math.nan),
        "collectives": collectives(step.as_text()),
    }


def table(topology: str, batch_size: int) -> str:
    """Returns the table of all losses."""
    header = ["loss", "MB accessed", "temporary, kB", "estimate, µs", "collectives", "numbers in them"]
    rows = []
    for name in LOSSES:
        found = facts(name, topology, batch_size)
        sizes = [size for _, size in found["collectives"]]
        numbers = [f"{found['bytes'] / 1e6:.3g}", f"{found['temporary'] / 1e3:.3g}", f"{found['seconds'] * 1e6:.3g}"]
        rows.append([name, *numbers, str(len(sizes)), f"{sum(sizes):,}"])
    return markdown.table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.compiled", description=__doc__)
    parser.add_argument("--topology", default="v5e:2x2x1", help="the chips (default: v5e:2x2x1)")
    parser.add_argument("--batch-size", type=int, default=65_536, help="of all chips (default: 65536)")
    options = parser.parse_args()
    print(table(options.topology, options.batch_size))


if __name__ == "__main__":
    main()
