"""Which device is measured."""

from __future__ import annotations

import os

import tensorflow as tf


def choose(name: str) -> None:
    """Hides the GPUs for `"cpu"`, also from processes that are started later; refuses `"gpu"` if there is none."""
    if name == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        tf.config.set_visible_devices([], "GPU")
    if name == "gpu" and not tf.config.list_physical_devices("GPU"):
        raise SystemExit("--device gpu needs a GPU that TensorFlow sees. Received: none")
