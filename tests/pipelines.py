"""tf.data without autotuning.

With it, deleting an iterator, as Keras does after each epoch, sometimes waits for a thread that sleeps for up to a
minute; in the whole test suite, for two minutes of two workers.
"""

import tensorflow as tf

_OPTIONS = tf.data.Options()
_OPTIONS.autotune.enabled = False


def stop_autotuning():
    """Turns it off for every iterator that this process makes from now on, of Keras as well."""
    # Where TensorFlow itself turns it off in debug mode. If it is renamed one day, tests are only slower.
    tf.data.Dataset._apply_debug_options = lambda dataset: dataset.with_options(_OPTIONS)
