"""What the examples share: arguments, checked before anything slow is imported, and a strategy for the devices.

Importing TensorFlow takes seconds, so each example reads its command line first, and `--help` and mistakes are answered
at once. Names are therefore listed here instead of being read from the package; the tests compare the two.
"""

import argparse
import math
from pathlib import Path

TABLES = ("adult", "cocktail_party", "creditcard_fraud", "mammography", "spambase", "synthetic_05", "synthetic_33")
SCORES = (  # for one class against the rest, as a model with one output has
    *("accuracy", "average_precision", "balanced_accuracy", "cohen_kappa", "f1", "f_beta", "g_mean", "jaccard", "mcc"),
    *("pr_auc", "precision", "recall", "roc_auc", "specificity", "tversky", "youden_j"),
)
LOSSES = (
    *("SoftAUPRC", "SoftAUROC", "SoftAccuracy", "SoftAveragePrecision", "SoftBalancedAccuracy", "SoftF1", "SoftFBeta"),
    *("SoftGMean", "SoftJaccard", "SoftMCC", "SoftPrecision", "SoftRecall", "SoftSpecificity", "SoftTversky"),
)
MOST_DEVICES = 16  # of one machine


def make_parser(description):
    """Returns a parser that shows a script's docstring as it is written."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def whole(low=1, high=None):
    """Returns a type of argument: a whole number of at least `low`, and at most `high`."""
    rule = f"must be a whole number of at least {low}" + ("" if high is None else f" and at most {high}")
    return _checked(int, lambda value: low <= value <= (math.inf if high is None else high), rule)


def between(low, high, closed=False):
    """Returns a type of argument: a number between two others, which are included if `closed`."""
    rule = f"must be a number from {low:g} to {high:g}" if closed else f"must be a number between {low:g} and {high:g}"
    return _checked(float, lambda value: low < value < high or (closed and value in (low, high)), rule)


def positive(rule="must be a number greater than 0"):
    """Returns a type of argument: a finite number greater than 0."""
    return _checked(float, lambda value: 0 < value < math.inf, rule)


def folder():
    """Returns a type of argument: a folder that exists or can be created."""

    def usable(path):
        existing = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
        return existing.is_dir()

    return _checked(Path, usable, "must be a folder, or a path where one can be created")


def add_seed(parser, of):
    parser.add_argument("--seed", type=whole(0, 2**32 - 1), default=0, help=f"seed of {of} (default: 0)")


def _checked(convert, is_right, rule):
    def read(text):
        try:
            value = convert(text)
        except ValueError:
            value = None
        if value is None or not is_right(value):
            raise argparse.ArgumentTypeError(f"{rule}. Received: {text}")
        return value

    return read


def make_strategy(devices=None, without_gpu=None):
    """Returns a strategy over the first GPUs, or over logical CPU devices, which behave the same but are no faster.

    Call it before anything else runs: devices cannot be changed later.

    Args:
        devices: Number of devices; by default all GPUs.
        without_gpu: Number of devices if there is no GPU and `devices` is not given; by default one, without replicas.
    """
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if gpus and devices and devices > len(gpus):
        raise SystemExit(f"--devices must be at most the number of visible GPUs, {len(gpus)}. Received: {devices}")
    if gpus:
        return tf.distribute.MirroredStrategy([f"GPU:{k}" for k in range(devices or len(gpus))])
    count = devices or without_gpu
    if not count:
        return tf.distribute.get_strategy()
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
    return tf.distribute.MirroredStrategy([f"CPU:{k}" for k in range(count)])


def rounded_batch(batch_size, strategy):
    """Returns a multiple of the number of replicas: Keras 3.15 needs a first batch of equal size on all of them."""
    replicas = strategy.num_replicas_in_sync
    return math.ceil(batch_size / replicas) * replicas
