"""`load` and `describe` as users see them, on generated and on made-up data."""

import doctest
import functools
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from raw_files import MADE_UP, cifar10_batches, expect_made_up

from keras_softsets import datasets, models
from keras_softsets.datasets import _catalog, _load, _synthetic
from keras_softsets.datasets._splits import Scaling, fit_scaling, pipeline, stratified_indices
from keras_softsets.datasets.builders import BUILDERS


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("prepared")


@pytest.fixture
def load(data_dir):
    return functools.partial(datasets.load, data_dir=data_dir)


@pytest.fixture
def made_up_cifar10(tmp_path, monkeypatch):
    expect_made_up(monkeypatch, "cifar10_frog")
    MADE_UP["cifar10_frog"].write(tmp_path)
    return functools.partial(datasets.load, "cifar10_frog", raw_dir=tmp_path, data_dir=tmp_path / "prepared")


def test_import_is_cheap():
    code = "import sys, keras_softsets.datasets as d; d.describe(); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "tensorflow_datasets" not in run.stdout.split()
    assert "keras_softsets.datasets" in run.stdout.split()


def test_documented_examples_hold(load):
    for module, examples in ((_catalog, 3), (_load, 3)):
        results = doctest.testmod(module, extraglobs={"load": load})
        assert (results.attempted, results.failed) == (examples, 0)


def test_describe_states_the_papers_numbers():
    numbers = {facts.name: (facts.size, facts.positives, facts.features) for facts in datasets.describe()}
    assert numbers == {
        "adult": (48_842, 11_687, 13),
        "cifar10_frog": (60_000, 6_000, 3_072),
        "cifar10_transportation": (60_000, 24_000, 3_072),
        "cocktail_party": (4_800, 1_454, 22),
        "creditcard_fraud": (284_807, 492, 29),
        "mammography": (11_183, 260, 6),
        "synthetic_05": (5_250, 250, 3),
        "synthetic_33": (7_500, 2_500, 3),
    }
    assert set(numbers) == set(BUILDERS)
    assert all(facts.source and facts.licence for facts in datasets.describe())


@pytest.mark.parametrize(
    ("name", "negatives", "positives"), [("synthetic_05", 5000, 250), ("synthetic_33", 5000, 2500)]
)
def test_parts_are_64_16_and_20_percent_of_each_class(load, name, negatives, positives):
    splits = load(name)
    assert splits._fields == ("train", "validation", "test")
    for (x, y), share in zip(splits, (0.64, 0.16, 0.20), strict=True):
        assert (x.dtype, y.dtype) == (np.float32, np.float32)
        assert x.shape == (len(y), 3)
        assert y.shape == (round(share * (negatives + positives)),)
        assert y.sum() == share * positives
        assert set(np.unique(y)) == {0, 1}


def test_no_sample_is_in_two_parts(load):
    rows = np.concatenate([x for x, _ in load("synthetic_33")])
    assert len(np.unique(rows, axis=0)) == 7_500


def test_standardised_with_the_statistics_of_the_training_part_only(load):
    table = _synthetic.blobs(2_500)
    train, validation, test = stratified_indices(table.labels, (0.16, 0.20), seed=3)
    mean, deviation = table.features[train].mean(axis=0), table.features[train].std(axis=0)
    splits = load("synthetic_33", seed=3)
    for (x, y), indices in zip(splits, (train, validation, test), strict=True):
        np.testing.assert_allclose(x, (table.features[indices] - mean) / deviation, atol=1e-5)
        np.testing.assert_array_equal(y, table.labels[indices])
    np.testing.assert_allclose(splits.train[0].std(axis=0), 1, atol=1e-5)
    assert abs(splits.test[0].std(axis=0) - 1).min() > 1e-4


def test_seed_decides_the_split_and_nothing_else_does(load, tmp_path):
    first, again, other = (
        load("synthetic_05", seed=1),
        load("synthetic_05", 1, data_dir=tmp_path),
        load("synthetic_05", 2),
    )
    for (x, y), (x2, y2) in zip(first, again, strict=True):
        np.testing.assert_array_equal(x, x2)
        np.testing.assert_array_equal(y, y2)
    assert not np.array_equal(first.test[0], other.test[0])


def test_synthetic_blobs_are_isotropic_and_two_deviations_apart():
    table = _synthetic.blobs(2_500)
    negative, positive = table.features[table.labels == 0], table.features[table.labels == 1]
    np.testing.assert_allclose(np.cov(negative.T), 100 * np.eye(3), atol=5)
    np.testing.assert_allclose(np.cov(positive.T), 100 * np.eye(3), atol=8)
    assert np.linalg.norm(positive.mean(axis=0) - negative.mean(axis=0)) == pytest.approx(20, abs=0.8)


def test_synthetic_sets_share_their_negatives_and_remove_positives_at_random():
    few, many = _synthetic.blobs(250), _synthetic.blobs(2_500)
    np.testing.assert_array_equal(few.features[:5_000], many.features[:5_000])
    kept = {tuple(row) for row in many.features[5_000:]}
    assert all(tuple(row) in kept for row in few.features[5_000:])
    assert not np.array_equal(few.features[5_000:], many.features[5_000:5_250])


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
    train = stratified_indices(np.repeat([0, 1], 500), (0.2,), seed=0)[0]
    assert 0.3 < np.mean(train[:100] >= 500) < 0.7
    assert (np.diff(train) < 0).any()


def test_scaling_of_a_constant_feature_is_finite():
    x = np.stack([np.full(1000, 0.1, "float32"), np.arange(1000, dtype="float32")], axis=1)
    scaled = fit_scaling(x).apply(x)
    np.testing.assert_allclose(scaled[:, 0], 0, atol=1e-6)
    assert scaled[:, 1].std() == pytest.approx(1)


def test_scaling_of_pictures_is_by_channel_in_any_memory_order():
    x = np.random.RandomState(0).randint(0, 256, (9000, 3, 4, 5)).astype("uint8").transpose(0, 2, 3, 1)
    scaling = fit_scaling(x)
    np.testing.assert_allclose(scaling.mean, x.mean(axis=(0, 1, 2)), rtol=1e-6)
    np.testing.assert_allclose(scaling.deviation, x.std(axis=(0, 1, 2)), rtol=1e-6)
    np.testing.assert_allclose(
        Scaling(np.array([1, 2, 3]), np.array([1, 2, 4])).apply(x), (x - [1.0, 2, 3]) / [1, 2, 4]
    )


def test_constant_column_of_a_data_set_becomes_zero(tmp_path, monkeypatch):
    expect_made_up(monkeypatch, "mammography")
    MADE_UP["mammography"].write(tmp_path)
    file = tmp_path / "mammography.csv"
    header, *rows = file.read_text().splitlines()
    file.write_text("\n".join([header, *("7.7," + row.split(",", 1)[1] for row in rows)]))
    for x, _ in datasets.load("mammography", raw_dir=tmp_path, data_dir=tmp_path / "prepared"):
        np.testing.assert_array_equal(x[:, 0], 0)
        assert np.isfinite(x).all()


def collect(dataset):
    batches = list(dataset.as_numpy_iterator())
    return np.concatenate([x for x, _ in batches]), np.concatenate([y for _, y in batches])


def test_pipelines_hold_the_same_samples_as_the_arrays(load):
    arrays, pipelines = load("synthetic_33"), load("synthetic_33", as_numpy=False)
    for (x, y), dataset, shuffled in zip(arrays, pipelines, (True, False, False), strict=True):
        x2, y2 = collect(dataset)
        if shuffled:
            assert not np.allclose(x, x2)
            order, order2 = np.lexsort(x.T), np.lexsort(x2.T)
            x, y, x2, y2 = x[order], y[order], x2[order2], y2[order2]
        np.testing.assert_allclose(x2, x, atol=1e-6)
        np.testing.assert_array_equal(y2, y)


def test_training_pipeline_is_shuffled_anew_in_each_epoch_and_by_seed(load):
    train = load("synthetic_05", as_numpy=False).train
    first, second = collect(train)[0], collect(train)[0]
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(collect(load("synthetic_05", as_numpy=False).train)[0], first)
    assert not np.array_equal(collect(load("synthetic_05", seed=1, as_numpy=False).train)[0], first)


def test_shuffling_is_by_seed():
    part = (np.arange(100, dtype="float32")[:, None], np.zeros(100, "float32"))
    unscaled = Scaling(np.zeros(1, "float32"), np.ones(1, "float32"))
    orders = [collect(pipeline(part, unscaled, 10, seed))[0][:, 0].tolist() for seed in (1, 1, 2, None)]
    assert orders[0] == orders[1] != orders[2]
    assert orders[3] == list(range(100)) == sorted(orders[2])


def test_pipelines_are_batched_with_known_shapes(load):
    train, validation, _ = load("synthetic_33", as_numpy=False)
    assert [len(y) for _, y in train.as_numpy_iterator()] == [1024, 1024, 1024, 1024, 704]
    assert int(train.cardinality()) == 5
    assert validation.element_spec == (tf.TensorSpec((None, 3), tf.float32), tf.TensorSpec((None,), tf.float32))
    small = load("synthetic_33", as_numpy=False, batch_size=100)
    assert [int(dataset.cardinality()) for dataset in small] == [48, 12, 15]


def test_a_model_trains_on_the_arrays_and_on_the_pipelines(load):
    model = models.mlp(3)
    model.compile("adam", "binary_crossentropy")
    arrays, pipelines = load("synthetic_33"), load("synthetic_33", as_numpy=False)
    model.fit(*arrays.train, validation_data=arrays.validation, batch_size=1024, verbose=0)
    model.fit(pipelines.train, validation_data=pipelines.validation, verbose=0)
    assert model.evaluate(*arrays.test, verbose=0) == pytest.approx(model.evaluate(pipelines.test, verbose=0), rel=1e-5)


def test_cifar10_keeps_the_official_test_set_and_stratifies_by_class(made_up_cifar10):
    splits = made_up_cifar10()
    assert [x.shape for x, _ in splits] == [(100, 32, 32, 3), (25, 32, 32, 3), (25, 32, 32, 3)]
    assert [int(y.sum()) for _, y in splits] == [10, 2, 3]
    classes = np.frombuffer(cifar10_batches()["test_batch"], "uint8").reshape(-1, 3073)[:, 0]
    np.testing.assert_array_equal(splits.test[1], classes == 6)
    assert {x.dtype for x, _ in splits} == {np.dtype("float32")}
    np.testing.assert_allclose(splits.train[0].mean(axis=(0, 1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(splits.train[0].std(axis=(0, 1, 2), dtype="float64"), 1, atol=1e-5)
    other = made_up_cifar10(seed=1)
    assert not np.array_equal(other.train[1], splits.train[1])
    np.testing.assert_array_equal(other.test[1], splits.test[1])


def test_cifar10_pipelines_hold_the_same_pictures(made_up_cifar10):
    arrays, pipelines = made_up_cifar10(), made_up_cifar10(as_numpy=False)
    assert pipelines.train.element_spec[0] == tf.TensorSpec((None, 32, 32, 3), tf.float32)
    np.testing.assert_allclose(collect(pipelines.validation)[0], arrays.validation[0], atol=1e-6)
    assert [len(y) for _, y in made_up_cifar10(as_numpy=False, batch_size=64).train] == [64, 36]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "iris"}, r"^`name` must be one of adult, .*synthetic_33\. Received: name='iris'$"),
        ({"seed": -1}, r"^`seed` must be an integer from 0 to 2\*\*32 - 1\. Received: seed=-1$"),
        ({"seed": 1.5}, r"seed=1\.5$"),
        ({"seed": True}, r"seed=True$"),
        ({"seed": 2**32}, r"seed=4294967296$"),
        ({"as_numpy": False, "batch_size": 0}, r"^`batch_size` must be a positive integer or None\. Received: .*=0$"),
        ({"as_numpy": False, "batch_size": 2.0}, r"batch_size=2\.0$"),
        ({"batch_size": 32}, r"^`batch_size` must be None unless as_numpy=False\. Received: batch_size=32$"),
    ],
)
def test_bad_arguments_are_named_with_the_received_value(load, arguments, message):
    with pytest.raises(ValueError, match=message):
        load(**{"name": "synthetic_05", **arguments})


def test_missing_extra_names_the_package_and_the_command(monkeypatch):
    monkeypatch.delitem(sys.modules, "keras_softsets.datasets.builders")
    monkeypatch.delattr("keras_softsets.datasets.builders", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Hidden(), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match=r"tensorflow_datasets.*pip install \"keras-softsets\[datasets\]\""):
        datasets.load("synthetic_05")


class Hidden:
    """An import hook in whose eyes tensorflow_datasets is not installed."""

    def find_spec(self, name, path=None, target=None):
        if name == "keras_softsets.datasets.builders":
            raise ModuleNotFoundError(name="tensorflow_datasets")
        return None
