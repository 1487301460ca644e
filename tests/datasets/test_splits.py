"""Which sample goes where, standardisation and pipelines, on arrays."""

import numpy as np
import pytest

from keras_softsets.datasets._splits import Scaling, fit_scaling, pipeline, stratified_indices


def test_stratified_indices_partition_every_stratum():
    strata = np.repeat([0, 1, 2], [1000, 100, 7])
    parts = stratified_indices(strata, (0.16, 0.20), seed=0)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(strata)))
    assert [np.bincount(strata[part], minlength=3).tolist() for part in parts] == [
        [640, 64, 5],
        [160, 16, 1],
        [200, 20, 1],
    ]


def test_stratified_indices_come_in_random_order():
    """In every part: neither one class after the other nor sorted within a class."""
    strata = np.repeat([0, 1], 1000)
    for part in stratified_indices(strata, (0.2, 0.3), seed=0):
        assert 0.3 < strata[part[:100]].mean() < 0.7
        for label in (0, 1):
            ascents = np.diff(part[strata[part] == label]) > 0
            assert 0.35 < ascents.mean() < 0.65


def test_stratified_indices_are_those_of_the_seed():
    strata = np.repeat([0, 1], [50, 20])
    np.random.seed(7)  # noqa: NPY002 - The global state must not matter.
    first, other = stratified_indices(strata, (0.2,), seed=3), stratified_indices(strata, (0.2,), seed=4)
    np.random.seed(8)  # noqa: NPY002
    again = stratified_indices(strata, (0.2,), seed=3)
    for part, part_again, part_other in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(part, part_again)
        assert set(part) != set(part_other)


def test_scaling_of_a_constant_feature_is_finite():
    x = np.stack([np.full(1000, 0.1, "float32"), np.arange(1000, dtype="float32")], axis=1)
    scaled = fit_scaling(x).apply(x)
    np.testing.assert_allclose(scaled[:, 0], 0, atol=1e-6)
    assert scaled[:, 1].std() == pytest.approx(1)


@pytest.mark.parametrize("order", ["channels last", "channels first", "reversed"])
def test_scaling_of_images_is_by_channel_in_any_memory_order(order):
    x = np.random.RandomState(0).randint(0, 256, (9000, 4, 5, 3)).astype("uint8")
    x[..., 1] //= 2
    if order == "channels first":
        x = np.ascontiguousarray(x.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    elif order == "reversed":
        x = x[::-1, ::-1, :, ::-1]
    scaling = fit_scaling(x)
    np.testing.assert_allclose(scaling.mean, x.mean(axis=(0, 1, 2)), rtol=1e-6)
    np.testing.assert_allclose(scaling.deviation, x.std(axis=(0, 1, 2)), rtol=1e-6)
    before = x.copy()
    scaled = Scaling(np.array([1, 2, 3]), np.array([1, 2, 4])).apply(x)
    np.testing.assert_allclose(scaled, (x - [1.0, 2, 3]) / [1, 2, 4])
    np.testing.assert_array_equal(x, before)


def test_shuffling_is_by_seed():
    part = (np.arange(100, dtype="float32")[:, None], np.arange(100, dtype="float32"))
    unscaled = Scaling(np.zeros(1, "float32"), np.ones(1, "float32"))

    def order(seed):
        batches = list(pipeline(part, unscaled, 10, seed).as_numpy_iterator())
        for x, y in batches:
            np.testing.assert_array_equal(x[:, 0], y)  # A row keeps its label.
        return np.concatenate([y for _, y in batches]).tolist()

    orders = [order(seed) for seed in (1, 1, 2, None)]
    assert orders[0] == orders[1] != orders[2]
    assert orders[3] == list(range(100)) == sorted(orders[2]) != orders[2]
