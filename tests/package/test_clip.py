"""NaN that no clipping hides, with every supported TensorFlow."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_softsets import AtRecall, Heaviside, confusion_matrix
from keras_softsets._backend.tensorflow import _graphs

X = np.float32([-1.0, 0.0, 0.5, 0.75, 1.0, 2.0, np.nan])
COMPILED = {"eager": lambda f: f, "graph": tf.function, "XLA": lambda f: tf.function(f, jit_compile=True)}


class Ramp(Heaviside):
    def call(self, p, threshold):
        return keras.ops.clip(0.5 + 5 * (p - threshold), 0, 1)


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("version", [(2, 18), _graphs.TENSORFLOW])  # both ways, where the newer one may be taken
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_clip_keeps_nan_and_has_a_slope_on_the_bounds(compiled, version, dtype, monkeypatch):
    monkeypatch.setattr(_graphs, "TENSORFLOW", version)

    def clipped(x, high):
        with tf.GradientTape() as tape:
            tape.watch([x, high])
            value = _graphs.clip(x, 0.0, high)
        return (value, *tape.gradient(value, [x, high]))

    x, high = tf.constant(X.astype(dtype)), tf.constant([1, 1, 1, 0.75, 1, 1, 1], dtype)
    value, in_x, in_high = COMPILED[compiled](clipped)(x, high)
    assert value.dtype == dtype
    np.testing.assert_array_equal(value, np.array([0, 0, 0.5, 0.75, 1, 1, np.nan], dtype))
    np.testing.assert_array_equal(in_x[:-1], [0, 1, 1, 1, 1, 0])
    np.testing.assert_array_equal(in_high[:-1], [0, 0, 0, 0, 0, 1])
    constant = COMPILED[compiled](lambda x: _graphs.clip(x, 0.0, 1.0))(x)  # of which XLA makes a clamp
    np.testing.assert_array_equal(constant, np.array([0, 0, 0.5, 0.75, 1, 1, np.nan], dtype))


@pytest.mark.parametrize("compiled", COMPILED)
@pytest.mark.parametrize("version", [(2, 18), _graphs.TENSORFLOW])
def test_a_clip_of_the_user_hides_no_nan(compiled, version, monkeypatch):
    monkeypatch.setattr(_graphs, "TENSORFLOW", version)
    y, p = tf.constant([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), tf.constant([[0.75, 0.25], [np.nan, 0.45], [0.45, 0.55]])
    find = COMPILED[compiled](lambda y, p: confusion_matrix(y, p, threshold=AtRecall(0.5), heaviside=Ramp()).tp)
    np.testing.assert_array_equal(np.isnan(find(y, p)), [[True, False]])
    h, slope = COMPILED[compiled](lambda p: _value_and_slope(Ramp(), p))(p)
    np.testing.assert_allclose(h, [[1, 0], [np.nan, 0.25], [0.25, 0.75]], rtol=1e-6)
    np.testing.assert_array_equal(slope[2], [5, 5])


def _value_and_slope(heaviside, p):
    with tf.GradientTape() as tape:
        tape.watch(p)
        h = heaviside(p, 0.5)
    return h, tape.gradient(h, p)
