"""What TensorFlow spends time on that no test looks at; off in every process of the tests."""

import tensorflow as tf
from tensorflow.python.util import tf_stack

_UNTUNED = tf.data.Options()
_UNTUNED.autotune.enabled = False


def spare():
    """Calls the functions below. Each replaces a private one; if that is renamed one day, tests are only slower."""
    stop_autotuning()
    note_no_origins()


def stop_autotuning():
    """Turns off autotuning for every iterator of tf.data that this process makes from now on, of Keras as well.

    With it, deleting an iterator, as Keras does after each epoch, sometimes waits for a thread that sleeps for up to a
    minute: in the whole test suite, for 140 seconds of the two workers together.
    """
    # Where TensorFlow itself turns it off in debug mode.
    tf.data.Dataset._apply_debug_options = lambda dataset: dataset.with_options(_UNTUNED)


def note_no_origins():
    """Gives every operation of a graph the same lines of Python for the place where it was made.

    TensorFlow walks the stack for each of them, which is deep in Keras under pytest, and shows the lines only in
    messages of operations that fail. Without it tests of training take 5 to 8 % less time.
    """
    here = tf_stack.extract_stack()
    tf_stack.extract_stack = lambda stacklevel=1: here
