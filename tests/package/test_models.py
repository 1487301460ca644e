"""The two networks: architecture, parameter counts, outputs, saving and errors."""

import math

import keras
import numpy as np
import pytest

from keras_softsets import models

LOG_ODDS = math.log(0.02 / 0.98)


def rows(*shape: int) -> np.ndarray:
    return np.random.RandomState(0).normal(size=shape).astype("float32")


def layers(model: keras.Model, kind: type) -> list[keras.Layer]:
    return [layer for layer in model.layers if type(layer) is kind]


def logit(probabilities: np.ndarray) -> np.ndarray:
    return np.log(probabilities) - np.log1p(-probabilities)


@pytest.mark.parametrize("features", [1, 6, 13, 22, 29])
def test_mlp_has_the_stated_number_of_parameters(features):
    assert models.mlp(features).count_params() == 32 * features + 577


def test_mlp_is_32_16_1_with_relu_and_dropout_after_each_hidden_layer():
    model = models.mlp(6)
    assert [type(layer).__name__ for layer in model.layers] == [
        "InputLayer", "Dense", "Dropout", "Dense", "Dropout", "Dense", "Activation",
    ]  # fmt: skip
    assert [layer.units for layer in layers(model, keras.layers.Dense)] == [32, 16, 1]
    assert [layer.activation.__name__ for layer in layers(model, keras.layers.Dense)] == ["relu", "relu", "linear"]
    assert [layer.rate for layer in layers(model, keras.layers.Dropout)] == [0.5, 0.5]


def test_mlp_dropout_is_the_callers():
    assert [layer.rate for layer in layers(models.mlp(6, dropout=0.2), keras.layers.Dropout)] == [0.2, 0.2]


def test_tiny_darknet_has_the_stated_number_of_parameters():
    model = models.tiny_darknet()
    assert model.count_params() == 917_617
    assert sum(math.prod(weight.shape) for weight in model.non_trainable_weights) == 4_384


def test_tiny_darknet_convolutions_are_those_of_the_architecture():
    convolutions = layers(models.tiny_darknet(), keras.layers.Conv2D)
    assert [(layer.kernel_size[0], layer.filters) for layer in convolutions] == [
        (3, 16),
        (3, 32),
        (1, 16), (3, 128), (1, 16), (3, 128),
        (1, 32), (3, 256), (1, 32), (3, 256),
        (1, 64), (3, 512), (1, 64), (3, 512), (1, 128),
        (1, 1),
    ]  # fmt: skip
    assert [layer.use_bias for layer in convolutions] == [False] * 15 + [True]


def test_tiny_darknet_pools_between_groups_and_normalises_every_convolution():
    model = models.tiny_darknet()
    kinds = [type(layer).__name__ for layer in model.layers]
    block = ["Conv2D", "BatchNormalization", "LeakyReLU"]
    expected = ["InputLayer"]
    for index, length in enumerate((1, 1, 4, 4, 5)):
        expected += ["MaxPooling2D"] * bool(index) + block * length
    assert kinds == [*expected, "Conv2D", "GlobalAveragePooling2D", "Activation"]
    assert {layer.negative_slope for layer in layers(model, keras.layers.LeakyReLU)} == {0.1}


def test_tiny_darknet_starts_as_in_pytorch():
    model = models.tiny_darknet()
    kernels = [layer.kernel.numpy() for layer in layers(model, keras.layers.Conv2D)]
    for kernel in kernels:
        bound = np.prod(kernel.shape[:-1]) ** -0.5
        assert np.abs(kernel).max() <= bound
        np.testing.assert_allclose(kernel.std(), bound / math.sqrt(3), rtol=4 / math.sqrt(kernel.size))
    same_shape = [kernel for kernel in kernels if kernel.shape == (3, 3, 64, 512)]
    assert len(same_shape) == 2
    assert not np.array_equal(*same_shape)
    normalisations = layers(model, keras.layers.BatchNormalization)
    assert {(layer.momentum, layer.epsilon) for layer in normalisations} == {(0.9, 1e-5)}


@pytest.mark.parametrize(
    ("model", "name", "shape"),
    [(models.mlp(7), "features", (None, 7)), (models.tiny_darknet((48, 32, 1)), "image", (None, 48, 32, 1))],
)
def test_models_are_uncompiled_with_a_named_input_and_one_probability(model, name, shape):
    assert not model.compiled
    assert [tensor.name for tensor in model.inputs] == [name]
    assert model.input_shape == shape
    assert model.output_shape == (None, 1)
    output = model.predict(10 * rows(64, *shape[1:]), verbose=0)
    assert output.dtype == np.float32
    assert 0 <= output.min() < output.max() <= 1


@pytest.mark.parametrize(("build", "shape"), [(models.mlp, (5,)), (models.tiny_darknet, (16, 16, 3))])
def test_logits_are_the_log_odds_of_the_probabilities(build, shape):
    size = shape[0] if len(shape) == 1 else shape
    probabilities, logits = build(size), build(size, logits=True)
    logits.set_weights(probabilities.get_weights())
    x = rows(8, *shape)
    np.testing.assert_allclose(
        logits.predict(x, verbose=0), logit(probabilities.predict(x, verbose=0)), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(("build", "shape"), [(models.mlp, (5,)), (models.tiny_darknet, (16, 16, 3))])
def test_positive_rate_sets_the_first_predictions(build, shape):
    size = shape[0] if len(shape) == 1 else shape
    blank = np.zeros((3, *shape), "float32")
    np.testing.assert_allclose(build(size).predict(blank, verbose=0), 0.5)
    np.testing.assert_allclose(build(size, positive_rate=0.02).predict(blank, verbose=0), 0.02, rtol=1e-5)
    np.testing.assert_allclose(
        build(size, positive_rate=0.02, logits=True).predict(blank, verbose=0), LOG_ODDS, rtol=1e-5
    )


@pytest.mark.parametrize("build", [models.mlp, models.tiny_darknet])
def test_classes_give_as_many_outputs(build):
    model = build(6, classes=4) if build is models.mlp else build((16, 16, 3), classes=4)
    assert model.output_shape == (None, 4)


@pytest.mark.parametrize(
    ("model", "shape"), [(models.mlp(5, positive_rate=0.1), (5,)), (models.tiny_darknet((16, 16, 3)), (16, 16, 3))]
)
def test_saved_model_predicts_the_same(model, shape, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    x = rows(4, *shape)
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))


def test_output_stays_float32_under_mixed_precision():
    policy = keras.mixed_precision.dtype_policy()
    keras.mixed_precision.set_dtype_policy("mixed_bfloat16")
    try:
        assert models.mlp(3).output.dtype == "float32"
        assert models.tiny_darknet((16, 16, 3)).output.dtype == "float32"
    finally:
        keras.mixed_precision.set_dtype_policy(policy)


def test_mlp_learns_a_separable_problem():
    keras.utils.set_random_seed(0)
    x = rows(512, 3)
    y = (x[:, 0] > 0).astype("float32")
    model = models.mlp(3)
    model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy")
    model.fit(x, y, epochs=30, batch_size=64, verbose=0)
    assert np.mean((model.predict(x, verbose=0)[:, 0] >= 0.5) == y) > 0.95


@pytest.mark.parametrize(
    ("build", "argument", "value"),
    [
        (lambda v: models.mlp(v), "features", 0),
        (lambda v: models.mlp(v), "features", 2.0),
        (lambda v: models.mlp(v), "features", True),
        (lambda v: models.mlp(3, classes=v), "classes", -1),
        (lambda v: models.mlp(3, dropout=v), "dropout", 1.0),
        (lambda v: models.mlp(3, dropout=v), "dropout", -0.1),
        (lambda v: models.mlp(3, positive_rate=v), "positive_rate", 0.0),
        (lambda v: models.mlp(3, positive_rate=v), "positive_rate", 1),
        (lambda v: models.tiny_darknet(v), "input_shape", (32, 32)),
        (lambda v: models.tiny_darknet(v), "input_shape", (15, 32, 3)),
        (lambda v: models.tiny_darknet(v), "input_shape", (32.0, 32, 3)),
        (lambda v: models.tiny_darknet(v), "input_shape", 32),
        (lambda v: models.tiny_darknet(classes=v), "classes", 0),
        (lambda v: models.tiny_darknet(positive_rate=v), "positive_rate", 1.5),
    ],
)
def test_bad_arguments_are_named_with_the_received_value(build, argument, value):
    with pytest.raises(ValueError, match=rf"^`{argument}` must be .*\. Received: {argument}=") as error:
        build(value)
    assert str(error.value).endswith(f"{argument}={value!r}")


def test_numpy_integers_are_integers():
    assert models.mlp(np.int64(6)).count_params() == 769
