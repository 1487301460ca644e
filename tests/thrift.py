"""What TensorFlow spends time on that no test looks at; off in every process of the tests.

It replaces a private method of TensorFlow. Where that has another name, tests are only slower, and say so once.
`KERAS_SOFTSETS_THRIFT=0` leaves TensorFlow as it is: `make test-plain` runs the quick tests that way.
"""

import os
import warnings

import tensorflow as tf

_UNTUNED = tf.data.Options()
_UNTUNED.autotune.enabled = False


def spare():
    """Calls the function below."""
    if os.environ.get("KERAS_SOFTSETS_THRIFT", "1") == "0":
        return
    try:
        stop_autotuning()
    except AttributeError as error:
        warnings.warn(f"tests/thrift.py does not know this TensorFlow, so tests are slower: {error}")


def stop_autotuning():
    """Turns off autotuning for every iterator of tf.data that this process makes from now on, of Keras as well.

    With it, deleting an iterator, as Keras does after each epoch, sometimes waits for a thread that sleeps for up to a
    minute: in the whole test suite, for 140 seconds of the two workers together.
    """
    _replace(tf.data.Dataset, "_apply_debug_options", lambda dataset: dataset.with_options(_UNTUNED))


def _replace(owner, name, function):
    """Replaces what is there; adding an attribute that nothing reads would save nothing, and go unnoticed."""
    getattr(owner, name)
    setattr(owner, name, function)
