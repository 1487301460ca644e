"""`load` as users see it, on generated and on made-up data; which sample goes where, and how it is standardised."""

import functools
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from raw_files import MADE_UP, cifar10_batches, expect_made_up

from keras_softsets import datasets, models
from keras_softsets.datasets._splits import Scaling, fit_scaling, pipeline, stratified_indices
from keras_softsets.datasets.builders import BUILDERS
from keras_softsets.datasets.sets import synthetic


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


def test_copies_of_wines_are_left_out(load):
    """Of 4,898 wines, 3,961 differ in what was measured; a quarter of the test wines has copies in the other parts."""
    every, distinct = (load("wine_quality", distinct=flag) for flag in (False, True))
    rows = [{row.tobytes() for row in x} for x, _ in distinct]
    assert [len(found) for found in rows] == [len(x) for x, _ in distinct]
    assert len(set.union(*rows)) == sum(map(len, rows)) == 3_961
    assert len(distinct.test[0]) == len(np.unique(every.test[0], axis=0))
    np.testing.assert_allclose(distinct.train[0].mean(0), 0, atol=1e-5)
    assert np.bincount(distinct.test[1]).min() > 20


def test_standardised_with_the_statistics_of_the_training_part_only(load):
    table = synthetic.blobs(2_500)
    train, validation, test = stratified_indices(table.labels, (0.16, 0.20), seed=3)
    mean, deviation = table.features[train].mean(axis=0), table.features[train].std(axis=0)
    splits = load("synthetic_33", seed=3)
    for (x, y), indices in zip(splits, (train, validation, test), strict=True):
        np.testing.assert_allclose(x, (table.features[indices] - mean) / deviation, atol=1e-5)
        np.testing.assert_array_equal(y, table.labels[indices])
    np.testing.assert_allclose(splits.train[0].std(axis=0), 1, atol=1e-5)
    assert abs(splits.test[0].std(axis=0) - 1).min() > 1e-4


def ranks(splits):
    """Returns the place of every sample of each part among all samples, by its first feature, whatever the scaling."""
    firsts = [x[:, 0] for x, _ in splits]
    places = np.argsort(np.argsort(np.concatenate(firsts)))
    return np.split(places, np.cumsum([len(first) for first in firsts])[:-1])


def test_seed_decides_the_split_and_nothing_else_does(load, tmp_path, monkeypatch):
    first = load("synthetic_05", seed=1)
    np.random.seed(5)  # noqa: NPY002 - The global state must not matter.
    tf.random.set_seed(5)
    monkeypatch.setenv("KERAS_SOFTSETS_RAW_DIR", str(tmp_path))
    again = load("synthetic_05", 1, data_dir=tmp_path)
    for (x, y), (x2, y2) in zip(first, again, strict=True):
        np.testing.assert_array_equal(x, x2)
        np.testing.assert_array_equal(y, y2)
    for part, other in zip(ranks(first), ranks(load("synthetic_05", 2)), strict=True):
        assert len(part) == len(other)
        assert set(part) != set(other)


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


def test_only_the_training_pipeline_is_shuffled_anew_in_each_epoch_and_alike_in_each_run(load):
    run, again = (load("synthetic_05", as_numpy=False) for _ in range(2))
    epochs = [collect(run.train)[0] for _ in range(2)]
    assert not np.array_equal(*epochs)
    np.testing.assert_array_equal(np.sort(epochs[0], axis=0), np.sort(epochs[1], axis=0))
    for epoch in epochs:
        np.testing.assert_array_equal(collect(again.train)[0], epoch)
    for part in (run.validation, run.test):
        np.testing.assert_array_equal(collect(part)[0], collect(part)[0])


def test_pipelines_are_batched_with_known_shapes(load):
    sizes = {
        None: [[1024, 1024, 1024, 1024, 704], [1024, 176], [1024, 476]],
        700: [[700] * 6 + [600], [700, 500], [700] * 2 + [100]],
    }
    for batch_size, expected in sizes.items():
        parts = load("synthetic_33", as_numpy=False, batch_size=batch_size)
        assert [[len(y) for _, y in part.as_numpy_iterator()] for part in parts] == expected
        for part, batches in zip(parts, expected, strict=True):
            assert int(part.cardinality()) == len(batches)
            assert part.element_spec == (tf.TensorSpec((None, 3), tf.float32), tf.TensorSpec((None,), tf.float32))


def test_a_model_trains_on_the_arrays_and_on_the_pipelines(load):
    keras.utils.set_random_seed(0)
    model = models.mlp(3)
    model.compile("adam", "binary_crossentropy")
    arrays, pipelines = load("synthetic_33"), load("synthetic_33", as_numpy=False)

    def loss():
        of_arrays, of_pipeline = model.evaluate(*arrays.test, verbose=0), model.evaluate(pipelines.test, verbose=0)
        assert of_arrays == pytest.approx(of_pipeline, rel=1e-5)
        return of_arrays

    losses = [loss()]
    history = model.fit(*arrays.train, validation_data=arrays.validation, batch_size=1024, epochs=5, verbose=0)
    losses.append(loss())
    more = model.fit(pipelines.train, validation_data=pipelines.validation, epochs=5, verbose=0)
    losses.append(loss())
    # Always saying "one in three" costs 0.637, the best that is possible about 0.30.
    assert losses[0] > 0.6 > losses[1] + 0.02 > losses[1] > losses[2]
    assert history.history["val_loss"][0] > history.history["val_loss"][-1] > more.history["val_loss"][-1]


def made_up_classes(x):
    """Returns the class and the place in the raw files of standardised made-up images, recognised by their pattern."""
    records = np.frombuffer(b"".join(cifar10_batches().values()), "uint8").reshape(-1, 3073)
    raw = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)

    def pattern(images):
        centred = images - images.mean(axis=(1, 2), keepdims=True, dtype="float64")
        return (centred / centred.std(axis=(1, 2), keepdims=True)).reshape(len(images), -1)

    likeness = pattern(x) @ pattern(raw).T / 3072
    places = likeness.argmax(axis=1)
    np.testing.assert_allclose(likeness.max(axis=1), 1, atol=1e-5)
    return records[places, 0], places


def test_cifar10_keeps_the_official_test_set_and_stratifies_by_class(made_up_cifar10):
    splits, other = made_up_cifar10(), made_up_cifar10(seed=1)
    classes, places = zip(*(made_up_classes(x) for x, _ in splits), strict=True)
    # Of the 125 training images, 13 are of each of the classes 0 to 4 and 12 of each of the others.
    assert [np.bincount(each).tolist() for each in classes[:2]] == [[10] * 10, [3] * 5 + [2] * 5]
    assert sorted([*places[0], *places[1]]) == list(range(125))
    assert places[2].tolist() == list(range(125, 150))
    for (x, y), ids in zip(splits, classes, strict=True):
        assert x.shape == (len(y), 32, 32, 3)
        assert (x.dtype, y.dtype) == (np.float32, np.float32)
        np.testing.assert_array_equal(y, ids == 6)
    assert set(made_up_classes(other.train[0])[1]) != set(places[0])
    assert made_up_classes(other.test[0])[1].tolist() == list(range(125, 150))


def test_cifar10_is_standardised_with_the_statistics_of_the_training_part_only(made_up_cifar10):
    train, validation, test = (x.astype("float64") for x, _ in made_up_cifar10())
    np.testing.assert_allclose(train.mean(axis=(0, 1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(train.std(axis=(0, 1, 2)), 1, atol=1e-5)
    for part in (validation, test):
        assert abs(part.mean(axis=(0, 1, 2))).max() > 1e-4


def test_cifar10_pipelines_hold_the_same_images(made_up_cifar10):
    arrays, pipelines = made_up_cifar10(), made_up_cifar10(as_numpy=False)
    for (x, y), dataset in zip(arrays, pipelines, strict=True):
        assert dataset.element_spec == (
            tf.TensorSpec((None, 32, 32, 3), tf.float32),
            tf.TensorSpec((None,), tf.float32),
        )
        x2, y2 = collect(dataset)
        order, order2 = (np.argsort(made_up_classes(images)[1]) for images in (x, x2))
        np.testing.assert_allclose(x2[order2], x[order], atol=1e-6)
        np.testing.assert_array_equal(y2[order2], y[order])
    assert [len(y) for _, y in made_up_cifar10(as_numpy=False, batch_size=64).train] == [64, 36]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("letter", [[6] * 26, [2] * 26, [2] * 26]),
        ("wine_quality", [[13, 6, 6, 6, 13], [3, 2, 2, 2, 3], [4, 2, 2, 2, 4]]),
    ],
)
def test_several_classes_are_stratified_class_ids(tmp_path, monkeypatch, name, parts):
    expect_made_up(monkeypatch, name)
    MADE_UP[name].write(tmp_path)
    arguments = {"raw_dir": tmp_path, "data_dir": tmp_path / "prepared"}
    arrays, pipelines = (datasets.load(name, **arguments, as_numpy=as_numpy) for as_numpy in (True, False))
    features = datasets.describe()[list(BUILDERS).index(name)].features
    for (x, y), dataset, counts in zip(arrays, pipelines, parts, strict=True):
        assert (x.dtype, y.dtype, x.shape) == (np.float32, np.int32, (sum(counts), features))
        assert np.bincount(y).tolist() == counts
        assert dataset.element_spec == (tf.TensorSpec((None, features), tf.float32), tf.TensorSpec((None,), tf.int32))
        np.testing.assert_array_equal(np.sort(collect(dataset)[1]), np.sort(y))
    np.testing.assert_allclose(arrays.train[0].std(axis=0), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "iris"}, r"^`name` must be one of adult, .*wine_quality\. Received: name='iris'$"),
        ({"seed": -1}, r"^`seed` must be an integer from 0 to 2\*\*32 - 1\. Received: seed=-1$"),
        ({"seed": 1.5}, r"seed=1\.5$"),
        ({"seed": True}, r"seed=True$"),
        ({"seed": 2**32}, r"seed=4294967296$"),
        ({"as_numpy": False, "batch_size": 0}, r"^`batch_size` must be a positive integer or None\. Received: .*=0$"),
        ({"as_numpy": False, "batch_size": 2.0}, r"batch_size=2\.0$"),
        ({"distinct": "no"}, r"^`distinct` must be True or False\. Received: distinct='no'$"),
        ({"batch_size": 32}, r"^`batch_size` must be None unless as_numpy=False\. Received: batch_size=32$"),
    ],
)
def test_bad_arguments_are_named_with_the_received_value(load, arguments, message):
    with pytest.raises(ValueError, match=message):
        load(**{"name": "synthetic_05", **arguments})


def test_missing_extra_names_the_package_and_the_command(monkeypatch):
    for module in ("keras_softsets.datasets.builders", "keras_softsets.datasets._tfds"):
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.delattr("keras_softsets.datasets.builders")
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)  # as if it were not installed
    message = (
        r'^`load` needs the package tensorflow_datasets; install it with pip install "keras-softsets\[datasets\]"\.$'
    )
    with pytest.raises(ModuleNotFoundError, match=message):
        datasets.load("synthetic_05")


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
