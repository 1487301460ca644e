"""Logits that are exported as probabilities: refused where the layers tell, and only there."""

import keras
import pytest

from keras_softsets.export import export_classifier
from keras_softsets.export._classifier import linear_head

L = keras.layers


@keras.saving.register_keras_serializable("keras_softsets_tests")
class SquashingDense(L.Dense):
    def call(self, inputs):
        return keras.ops.sigmoid(super().call(inputs))


class SquashingModel(keras.Model):
    """A functional model with a `call` of its own."""

    def __init__(self):
        inputs = keras.Input((4,))
        super().__init__(inputs, L.Dense(1)(inputs))

    def call(self, inputs):
        return keras.ops.sigmoid(super().call(inputs))


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.head = L.Dense(1)

    def call(self, inputs):
        return self.head(inputs)


def sequential(*layers, shape=(4,)):
    return keras.Sequential([keras.Input(shape), *layers])


def functional(*layers, shape=(4,)):
    inputs = outputs = keras.Input(shape)
    for layer in layers:
        outputs = layer(outputs)
    return keras.Model(inputs, outputs)


def shared(squash_last):
    """A layer that appears twice, so that the order of `model.layers` says nothing about the last one."""
    inputs, dense, squash = keras.Input((4,)), L.Dense(4), L.Activation("sigmoid")
    hidden = squash(dense(squash(inputs)))
    return keras.Model(inputs, hidden if squash_last else dense(hidden))


def subclassed():
    model = Subclassed()
    model(keras.ops.ones((2, 4)))
    return model


def second_head():
    """A model of two heads, of which one is used."""
    inputs = keras.Input((4,))
    both = keras.Model(inputs, [L.Dense(1)(inputs), L.Dense(1, "sigmoid")(inputs)])
    return keras.Model(inputs, both(inputs)[1])


IMAGE, SERIES, VOLUME = (6, 6, 2), (6, 2), (4, 4, 4, 1)
LOGITS = {
    "dense": lambda make: make(L.Dense(8, "relu"), L.Dense(1)),
    "dense linear": lambda make: make(L.Dense(1, "linear")),
    "dense bfloat16": lambda make: make(L.Dense(1, dtype="mixed_bfloat16")),
    "einsum": lambda make: make(L.EinsumDense("ab,bc->ac", output_shape=3)),
    "conv 1": lambda make: make(L.Conv1D(1, 3), shape=SERIES),
    "conv 2": lambda make: make(L.Conv2D(1, 3), shape=IMAGE),
    "conv 3": lambda make: make(L.Conv3D(1, 3), shape=VOLUME),
    "conv transposed": lambda make: make(L.Conv2DTranspose(1, 3), shape=IMAGE),
    "conv separable": lambda make: make(L.SeparableConv2D(1, 3), shape=IMAGE),
    "conv depthwise": lambda make: make(L.DepthwiseConv2D(3), shape=IMAGE),
    "activation linear": lambda make: make(L.Dense(1), L.Activation("linear", dtype="float32")),
    "reshaped": lambda make: make(L.Dense(1), L.Reshape(())),
    "flattened": lambda make: make(L.Dense(1), L.Flatten(), L.Identity()),
    "each time step": lambda make: make(L.TimeDistributed(L.Dense(1)), shape=SERIES),
    "nested": lambda make: make(L.Dense(4, "relu"), sequential(L.Dense(1))),
    "nested twice": lambda make: make(functional(sequential(L.Dense(1)))),
    "nested and linear": lambda make: make(functional(L.Dense(1)), L.Activation("linear")),
}
UNCERTAIN = {
    "sigmoid": lambda make: make(L.Dense(1, "sigmoid")),
    "softmax": lambda make: make(L.Dense(3, "softmax")),
    "hard sigmoid": lambda make: make(L.Dense(3, "hard_sigmoid")),
    "activation sigmoid": lambda make: make(L.Dense(1), L.Activation("sigmoid")),
    "activation layer": lambda make: make(L.Dense(1), L.Softmax()),
    "clipped": lambda make: make(L.Dense(1), L.ReLU(max_value=1.0)),
    "float32 cast": lambda make: make(L.Dense(1, "sigmoid"), L.Activation("linear", dtype="float32")),
    "float32 cast of sigmoid layer": lambda make: make(L.Dense(1), L.Activation("sigmoid"), L.Activation("linear")),
    "identity of sigmoid": lambda make: make(L.Dense(1, "sigmoid"), L.Identity()),
    "activation only": lambda make: make(L.Activation("linear")),
    "rescaled": lambda make: make(L.Dense(1, "tanh"), L.Rescaling(0.5, 0.5)),
    "rescaled logits": lambda make: make(L.Dense(1), L.Rescaling(0.5, 0.5)),
    "lambda": lambda make: make(L.Dense(1), L.Lambda(keras.ops.sigmoid)),
    "own function": lambda make: make(L.Dense(1, lambda x: 1 / (1 + keras.ops.exp(-x)))),
    "own layer": lambda make: make(SquashingDense(1)),
    "pooled": lambda make: make(L.Conv2D(1, 3), L.GlobalAveragePooling2D(), shape=IMAGE),
    "each time step": lambda make: make(L.TimeDistributed(L.Dense(1, "sigmoid")), shape=SERIES),
    "recurrent": lambda make: make(L.LSTM(1), shape=SERIES),
    "normalised": lambda make: make(L.Dense(1), L.BatchNormalization()),
    "nested": lambda make: make(sequential(L.Dense(1), L.Activation("sigmoid"))),
    "nested logits": lambda make: make(sequential(L.Dense(1)), L.Activation("sigmoid")),
    "nested model with its own call": lambda make: make(SquashingModel()),
}


def input_as_output():
    x = keras.Input((4,))
    try:
        return keras.Model(x, x)
    except ValueError:
        pytest.skip(f"Keras {keras.__version__} makes no such models")


OTHERS = {
    "operation": lambda: keras.Model(x := keras.Input((4,)), keras.ops.sigmoid(L.Dense(1)(x))),
    "operation by symbol": lambda: keras.Model(x := keras.Input((4,)), 0.5 + 0.1 * L.Dense(1)(x)),
    "shared": lambda: shared(squash_last=True),
    "own call": SquashingModel,
    "subclassed": subclassed,
    "second head": second_head,
    "input": input_as_output,
}


@pytest.mark.parametrize("make", [sequential, functional])
@pytest.mark.parametrize("kind", LOGITS)
def test_linear_heads_are_found(kind, make):
    assert linear_head(LOGITS[kind](make)).activation is keras.activations.linear


def test_a_linear_head_is_found_behind_a_shared_layer():
    assert isinstance(linear_head(shared(squash_last=False)), L.Dense)


@pytest.mark.parametrize("make", [sequential, functional])
@pytest.mark.parametrize("kind", UNCERTAIN)
def test_what_may_be_a_probability_is_not_refused(kind, make):
    assert linear_head(UNCERTAIN[kind](make)) is None


@pytest.mark.parametrize("kind", OTHERS)
def test_other_models_are_not_refused(kind):
    assert linear_head(OTHERS[kind]()) is None


@pytest.mark.parametrize("make", [sequential, functional])
def test_found_again_after_saving(make, tmp_path):
    for index, (layers, is_linear) in enumerate([([L.Dense(1)], True), ([SquashingDense(1)], False)]):
        make(*layers).save(tmp_path / f"{index}.keras")
        assert (linear_head(keras.models.load_model(tmp_path / f"{index}.keras")) is not None) == is_linear


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="a SavedModel needs TensorFlow")
def test_export_refuses_logits_and_names_both_ways_out(tmp_path):
    model = sequential(L.Dense(1, name="head"))
    with pytest.raises(
        ValueError, match=r"`from_logits` must be True .*ReLU\(max_value=1.0\).*=False, last layer 'head'"
    ):
        export_classifier(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()
    export_classifier(model, tmp_path / "model", from_logits=True)
    export_classifier(sequential(model, L.ReLU(max_value=1.0)), tmp_path / "model")
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["1", "2"]
