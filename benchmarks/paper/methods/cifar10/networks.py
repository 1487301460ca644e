"""The networks for CIFAR-10, by name, untrained; all have one logit."""

from __future__ import annotations

import keras

from keras_softsets import models


def tiny_darknet() -> keras.Model:
    """Returns the package's Tiny Darknet, with PyTorch's initial weights."""
    return models.tiny_darknet(logits=True)


def tiny_darknet_keras() -> keras.Model:
    """Returns the same with Keras's initial weights, and Keras's defaults of batch normalisation."""
    model = tiny_darknet()
    for layer in model.layers:
        if isinstance(layer, keras.layers.Conv2D):
            layer.kernel.assign(keras.initializers.GlorotUniform()(layer.kernel.shape))
        elif isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum, layer.epsilon = 0.99, 1e-3
    return model


def yolov3_tiny() -> keras.Model:
    """Returns the backbone of YOLOv3-tiny: the paper cites YOLOv3 for its network, and this is YOLOv3's tiny one."""
    inputs = x = keras.Input((32, 32, 3), name="image")
    for index, filters in enumerate((16, 32, 64, 128, 256, 512, 1024)):
        x = keras.layers.Conv2D(filters, 3, padding="same", use_bias=False, kernel_initializer=_uniform())(x)
        x = keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)
        x = keras.layers.LeakyReLU(negative_slope=0.1)(x)
        if index < 5:
            x = keras.layers.MaxPooling2D(2)(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    return keras.Model(
        inputs, keras.layers.Dense(1, kernel_initializer=_uniform(), name="logits")(x), name="yolov3_tiny"
    )


def _uniform() -> keras.initializers.Initializer:
    return keras.initializers.VarianceScaling(1 / 3, "fan_in", "uniform")


BUILDERS = {network.__name__: network for network in (tiny_darknet, tiny_darknet_keras, yolov3_tiny)}
