"""Approximations of the step: values, slopes, the properties that the paper proves, errors, saving."""

import dataclasses
import functools

import keras
import numpy as np
import pytest
import reference
from cases import compiled, with_gradient
from keras import ops

from keras_softsets import (
    Heaviside,
    LinearHeaviside,
    SigmoidHeaviside,
    SoftF1,
    StepHeaviside,
    TabulatedHeaviside,
    heaviside,
)

THRESHOLDS = (0.01, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 0.99)
SOFT = (LinearHeaviside(), LinearHeaviside(0.0), LinearHeaviside(0.2), LinearHeaviside(0.5), SigmoidHeaviside())
P = np.linspace(0, 1, 1001).astype("float32")


class Ramp(Heaviside):
    """A user's approximation that says nothing about its configuration."""

    def __init__(self, slope):
        self.slope = slope

    def call(self, p, threshold):
        return ops.clip(0.5 + self.slope * (p - threshold), 0, 1)


class HiddenRamp(Ramp):
    def __init__(self, steepness):
        super().__init__(steepness)
        self._steepness = steepness


@pytest.mark.parametrize("ramp", [Ramp, HiddenRamp])
def test_approximations_with_other_arguments_are_others(ramp):
    values = [float(SoftF1(heaviside=ramp(slope))([0, 1, 1], [0.3, 0.6, 0.9])) for slope in (1.0, 50.0)]
    np.testing.assert_allclose(values, [0.2105, 0], atol=1e-4)


def test_configuration_is_the_arguments_by_default():
    assert Ramp(3.0).get_config() == {"slope": 3.0}
    assert repr(Ramp(3.0)) == "Ramp(slope=3.0)"
    with pytest.raises(NotImplementedError, match=r"HiddenRamp .* no attribute steepness"):
        HiddenRamp(3.0).get_config()


@pytest.mark.parametrize("threshold", [0.0, 1.5, [0.5, 1.0], None, float("nan")])
@pytest.mark.parametrize("h", [LinearHeaviside(), SigmoidHeaviside(), TabulatedHeaviside()])
def test_threshold_is_checked(h, threshold):
    with pytest.raises(ValueError, match="threshold"):
        h(0.5, threshold)


@pytest.mark.parametrize("h", [StepHeaviside(), TabulatedHeaviside("step")])
def test_the_step_takes_every_threshold_that_a_tuner_can_return(h):
    for threshold, expected in ((0.0, [1, 1, 1]), (1.0, [0, 0, 1]), (float("inf"), [0, 0, 0])):
        np.testing.assert_array_equal(h([0.0, 0.5, 1.0], threshold), expected)
    for threshold in (-0.1, 1.5, None, float("nan"), -float("inf")):
        with pytest.raises(ValueError, match="threshold"):
            h(0.5, threshold)


def slope_of(h, p, threshold):
    p = ops.convert_to_tensor(p, "float32")
    return ops.convert_to_numpy(with_gradient(lambda p: h(p, threshold), p)[1])


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("delta", [0.0, 0.1, 0.2, 0.5])
def test_linear_is_equation_5(threshold, delta):
    expected = reference.linear(P.astype("float64"), threshold, delta)
    np.testing.assert_allclose(LinearHeaviside(delta)(P, threshold), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_linear_slopes_are_m1_m2_m3(threshold):
    margin = min(threshold, 1 - threshold)
    p = [threshold - 0.75 * margin, threshold, threshold + 0.75 * margin]
    np.testing.assert_allclose(slope_of(LinearHeaviside(), p, threshold), reference.linear_slopes(threshold), rtol=1e-5)


def test_break_points_belong_to_the_middle_segment():
    np.testing.assert_allclose(slope_of(LinearHeaviside(), [0.25, 0.75], 0.5), [1.6, 1.6], rtol=1e-6)


@pytest.mark.parametrize("threshold", [1e-6, 1e-3, 0.999, 1 - 1e-6, 1 - 1e-9])
def test_linear_stays_in_the_unit_interval_at_extreme_thresholds(threshold):
    h = LinearHeaviside()(np.concatenate([P, [np.nextafter(np.float32(1), np.float32(0))]]), threshold)
    h = ops.convert_to_numpy(h)
    assert h.min() >= 0
    assert h.max() <= 1
    assert h[0] == 0
    assert h[1000] == 1


@pytest.mark.parametrize("k", [0.5, 10.0, 50.0, 1000.0])
def test_sigmoid(k):
    with np.errstate(over="ignore"):
        expected = reference.sigmoid(P.astype("float64"), 0.3, k)
    np.testing.assert_allclose(SigmoidHeaviside(k)(P, 0.3), expected, rtol=1e-4, atol=1e-7)
    assert np.isfinite(slope_of(SigmoidHeaviside(k), P, 0.3)).all()


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.7])
def test_step_is_positive_at_the_threshold_itself(threshold):
    np.testing.assert_array_equal(StepHeaviside()(np.float32([threshold, threshold - 1e-6, 1]), threshold), [1, 0, 1])


@pytest.mark.parametrize("h", SOFT, ids=repr)
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_half_at_the_threshold_non_decreasing_and_in_range(h, threshold):
    values = ops.convert_to_numpy(h(P, threshold))
    assert float(h(threshold, threshold)) == pytest.approx(0.5, abs=2e-6)
    assert np.diff(values).min() >= -1e-7
    assert values.min() >= 0
    assert values.max() <= 1


@pytest.mark.parametrize("delta", [0.1, 0.2])
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_linear_reaches_its_limits_and_is_lipschitz(delta, threshold):
    """Eq. 4, and Theorem 4.1: the Lipschitz constant is max(m1, m2, m3)."""
    h = LinearHeaviside(delta)
    assert float(h(0.0, threshold)) == 0
    assert float(h(1.0, threshold)) == 1
    secants = np.diff(h(ops.convert_to_tensor(P, "float64"), threshold)) / np.diff(P.astype("float64"))
    bound = max(reference.linear_slopes(threshold, delta))
    assert secants.max() <= bound * (1 + (1e-4 if keras.config.backend() == "jax" else 1e-6))  # JAX: float32
    assert secants.max() >= bound * 0.9 or threshold in (0.01, 0.99)  # attained, where the grid is fine enough


def test_membership_of_positive_and_negative_is_one_by_symmetry():
    for h in SOFT:
        np.testing.assert_allclose(h(P, 0.3) + h(1 - P, 0.7), 1, atol=1e-6)


def test_thresholds_broadcast():
    for h in (*SOFT, StepHeaviside(), TabulatedHeaviside()):
        grid = h(P[:, None], np.array([0.2, 0.5, 0.8]))
        np.testing.assert_allclose(grid[:, 2], h(P, 0.8), atol=1e-6)
        np.testing.assert_allclose(h(P, ops.convert_to_tensor(0.8)), h(P, 0.8), atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "bool"])
def test_narrow_types_are_widened(dtype):
    for h in (*SOFT, StepHeaviside()):
        value = h(ops.cast([0, 1], dtype), 0.5)
        assert ops.dtype(value) == "float32"
        np.testing.assert_allclose(value, h([0.0, 1.0], 0.5))


def test_values_outside_the_unit_interval_are_clipped():
    np.testing.assert_array_equal(LinearHeaviside()([-0.5, 1.5], 0.3), [0, 1])


@pytest.mark.parametrize("base", [LinearHeaviside(), SigmoidHeaviside(20.0)], ids=repr)
@pytest.mark.parametrize("decimals", [1, 2, 3])
def test_table_is_the_base_at_truncated_p_with_the_slope_of_the_chord(base, decimals):
    cells = 10**decimals
    typed = np.arange(cells + 1) / cells  # what a user types stays where it is: 0.29 is not truncated to 0.28
    p = np.concatenate([typed[:-1], typed[:-1] + 0.4 / cells, typed[:-1] + 0.99 / cells]).astype("float32")
    h = TabulatedHeaviside(base, decimals)
    np.testing.assert_allclose(h(p, 0.3), base(np.tile(typed[:-1], 3), 0.3), atol=1e-6)
    chord = np.diff(base(ops.convert_to_tensor(typed), 0.3)) * cells
    np.testing.assert_allclose(slope_of(h, p, 0.3), np.tile(chord, 3), rtol=1e-2, atol=1e-3)
    assert float(h(1.0, 0.3)) == float(base(1.0, 0.3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearHeaviside(0.51), "delta=0.51"),
        (lambda: LinearHeaviside(-0.1), "delta=-0.1"),
        (lambda: LinearHeaviside(float("nan")), "delta=nan"),
        (lambda: LinearHeaviside("0.1"), "delta='0.1'"),
        (lambda: SigmoidHeaviside(0), "k=0"),
        (lambda: SigmoidHeaviside(float("inf")), "k=inf"),
        (lambda: SigmoidHeaviside(1e39), "k=1e+39"),
        (lambda: TabulatedHeaviside(decimals=0), "decimals=0"),
        (lambda: TabulatedHeaviside(decimals=1.5), "decimals=1.5"),
        (lambda: heaviside.get("ramp"), "heaviside='ramp'"),
        (lambda: heaviside.get(LinearHeaviside), "LinearHeaviside"),
        (lambda: heaviside.get(None), "heaviside=None"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match="must be") as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize("h", [*SOFT, StepHeaviside(), TabulatedHeaviside(SigmoidHeaviside(5), 3)], ids=repr)
def test_values_are_equal_hashable_and_survive_saving(h):
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(h))
    assert again == h
    assert hash(again) == hash(h)
    assert again != LinearHeaviside(0.123)
    assert repr(again) == repr(h)
    np.testing.assert_array_equal(again(P, 0.3), h(P, 0.3))


def test_a_users_own_approximation():
    class Cubic(Heaviside):
        def call(self, p, threshold):
            return p**3

    assert float(heaviside.get(Cubic())(0.5, 0.1)) == 0.125
    assert float(heaviside.get(lambda p, threshold: p**2)(0.5, 0.1)) == 0.25
    with pytest.raises(ValueError, match="cannot be saved"):
        heaviside.get(lambda p, threshold: p).get_config()
    with pytest.raises(NotImplementedError, match="must implement call"):
        Heaviside()(0.5, 0.5)


# What tells two approximations apart, also in the cache of kernels.


class Options(Heaviside):
    def __init__(self, **options):
        self.options = options

    def call(self, p, threshold):
        return ops.sigmoid(self.options["k"] * (p - threshold))


class Late(Heaviside):
    k = 10.0

    def call(self, p, threshold):
        return ops.sigmoid(self.k * (p - threshold))


@dataclasses.dataclass
class Annealed(Heaviside):
    k: object = 10.0

    def call(self, p, threshold):
        return ops.sigmoid(self.k * (p - threshold))


def late(k):
    heaviside = Late()
    heaviside.k = k
    return heaviside


KINDS = {
    "an attribute set later": late,
    "**options": lambda k: Options(k=k),
    "a dataclass": Annealed,
    "a tensor": lambda k: Annealed(ops.convert_to_tensor(k)),
    **({} if keras.config.backend() == "torch" else {"an array": lambda k: Annealed(np.float32([k]))}),  # no operand
    "a variable": lambda k: Annealed(keras.Variable(k, dtype="float32")),
    "a function": lambda k: lambda p, threshold: ops.sigmoid(k * (p - threshold)),
    "a table": lambda k: TabulatedHeaviside(late(k), decimals=4),
}


@pytest.mark.parametrize("kind", KINDS)
def test_approximations_that_differ_do_not_share_a_kernel(kind):
    y, p = [0, 1, 1], [0.3, 0.6, 0.9]
    for k in (3.0, 30.0):
        expected = float(SoftF1(heaviside=SigmoidHeaviside(k))(y, p))
        assert float(SoftF1(heaviside=KINDS[kind](k))(y, p)) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("thresholds", [0.5, (0.3, 0.5)], ids=["one", "two"])
def test_a_variable_is_read_in_every_step(thresholds):
    """Annealing: also inside a graph that was traced before, and with a trainable variable under a tape."""
    k, y, p = keras.Variable(3.0), ops.convert_to_tensor([0.0, 1, 1]), ops.convert_to_tensor([0.3, 0.6, 0.9])
    loss = SoftF1(heaviside=Annealed(k), threshold=thresholds)

    @compiled
    def value_and_gradient(y, p):
        return with_gradient(lambda x: loss(y, x), p)

    for steepness in (3.0, 30.0):
        k.assign(steepness)
        fixed = SoftF1(heaviside=SigmoidHeaviside(steepness), threshold=thresholds)
        expected, fixed_gradient = with_gradient(functools.partial(fixed, y), p)
        value, gradient = value_and_gradient(y, p)
        assert float(loss(y, p)) == pytest.approx(float(expected), rel=1e-5)
        assert float(value) == pytest.approx(float(expected), rel=1e-5)
        np.testing.assert_allclose(gradient, fixed_gradient, rtol=1e-4)


def test_an_attribute_that_changes_is_seen_by_the_next_eager_call():
    heaviside, y, p = late(3.0), [0, 1, 1], [0.3, 0.6, 0.9]
    loss = SoftF1(heaviside=heaviside)
    before = float(loss(y, p))
    heaviside.k = 30.0
    assert float(loss(y, p)) == pytest.approx(float(SoftF1(heaviside=SigmoidHeaviside(30.0))(y, p)), rel=1e-5)
    assert abs(before - float(loss(y, p))) > 0.01


def test_values_of_this_package_are_frozen_and_others_compare_by_identity():
    assert LinearHeaviside(0.2) == LinearHeaviside(delta=0.2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        LinearHeaviside().delta = 0.3
    assert Ramp(1.0) != Ramp(1.0)
    same = Ramp(1.0)
    assert same == same


def test_a_config_must_be_that_of_an_approximation():
    with pytest.raises(ValueError, match="`heaviside` must be"):
        heaviside.get(keras.saving.serialize_keras_object(keras.layers.ReLU()))
    config = keras.saving.serialize_keras_object(LinearHeaviside(0.3))
    assert config["module"] == "keras_softsets.heaviside"
    assert heaviside.get(config) == LinearHeaviside(0.3)
