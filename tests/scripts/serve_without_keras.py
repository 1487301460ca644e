"""Loads SavedModels where neither Keras nor keras_softsets can be imported, and answers with their signature.

Usage: python serve_without_keras.py FOLDER; for each FOLDER/*.npz of inputs, runs the SavedModels FOLDER/*/<version>/
of the same name and writes FOLDER/*.<version>.out.npz.
"""

import pathlib
import sys

ABSENT = ("keras", "tf_keras", "keras_softsets")
sys.modules.update(dict.fromkeys(ABSENT))  # to import one of them is now an ImportError


def main(folder):
    import numpy as np
    import tensorflow as tf

    for inputs in sorted(folder.glob("*.npz")):
        with np.load(inputs) as file:
            arrays = {name: tf.constant(file[name]) for name in file}
        for version in inputs.with_suffix("").iterdir():
            serve = tf.saved_model.load(version).signatures["serving_default"]
            answer = {name: tensor.numpy() for name, tensor in serve(**arrays).items()}
            np.savez(inputs.with_suffix(f".{version.name}.out"), **answer)
    assert all(sys.modules[name] is None for name in ABSENT)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
