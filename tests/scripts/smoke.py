"""Uses an installed package as a new user would, where matplotlib and TensorFlow Datasets are not installed.

python smoke.py FOLDER (an empty one, for the export)
"""

import sys

sys.modules.update(dict.fromkeys(("matplotlib", "tensorflow_datasets", "sklearn", "PIL", "tqdm")))  # as if not there

import keras
import numpy as np
import tensorflow as tf

import keras_softsets
from keras_softsets import SoftF1, datasets, evaluate, export_classifier, metrics, models, plots, tune_threshold


def refused(function, *arguments):
    """Returns what an ImportError says."""
    try:
        function(*arguments)
    except ImportError as error:
        return str(error)
    raise AssertionError(f"{function.__name__} must need an extra")


def main():
    print(keras_softsets.__file__)
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    y = (random.random(512) < 0.2).astype("float32")
    x = random.normal(size=(512, 3)).astype("float32") + 2 * y[:, None]
    model = models.mlp(3, dropout=0.0)
    model.compile(keras.optimizers.Adam(0.01), SoftF1(), metrics=[metrics.F1()])
    logged = model.fit(x, y, batch_size=128, epochs=10, verbose=0).history
    assert logged["loss"][-1] < logged["loss"][0], logged
    p = model.predict(x, verbose=0)
    tuned = tune_threshold(y, p)
    assert abs(evaluate(y, p, threshold=tuned.threshold) - tuned.score) < 1e-6
    served = tf.saved_model.load(export_classifier(model, sys.argv[1], tuned.threshold)).signatures["serving_default"]
    np.testing.assert_array_equal(served(features=tf.constant(x))["label"], p >= np.float32(tuned.threshold))
    assert "synthetic_05" in [each.name for each in datasets.describe()]
    assert "keras-softsets[datasets]" in refused(datasets.load, "synthetic_05")
    assert "keras-softsets[plots]" in refused(plots.score_against_threshold, y, p)
    print(f"F1 {tuned.score:.3f}")


if __name__ == "__main__":
    main()
