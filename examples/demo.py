"""From nothing to a served model: train with cross-entropy and with SoftF1, compare, plot, export, load, classify.

    make demo            # or: python examples/demo.py --help

The data are the paper's "Synthetic 5 %": two overlapping clouds of points, 4.76 % of them positive.
"""

import argparse
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

from keras_softsets import (
    SoftF1,
    WindowedEarlyStopping,
    datasets,
    export_classifier,
    metrics,
    models,
    plots,
    tune_threshold,
)

THRESHOLDS = [k / 10 for k in range(1, 10)]  # the paper reports the mean over these
COLUMNS = ("F1", "Precision", "Recall", "Accuracy")


class Progress(keras.callbacks.Callback):
    """One line for each training instead of one for each epoch."""

    def __init__(self, name, epochs):
        super().__init__()
        self.bar = tqdm(total=epochs, desc=f"{name:>7}", unit="epoch", leave=True)

    def on_epoch_end(self, epoch, logs=None):
        self.bar.set_postfix(val_loss=f"{logs['val_loss']:.4f}", val_f1=f"{logs['val_f1']:.3f}", refresh=False)
        self.bar.update()

    def on_train_end(self, logs=None):
        self.bar.close()


def train(name, loss, data, epochs):
    keras.utils.set_random_seed(0)
    model = models.mlp(data.train[0].shape[1])
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=[metrics.F1()])
    model.fit(
        *data.train,
        batch_size=1024,
        epochs=epochs,
        validation_data=data.validation,
        validation_batch_size=len(data.validation[0]),  # in one batch, val_loss is the loss of the validation set
        callbacks=[WindowedEarlyStopping(window=50), Progress(name, epochs)],
        verbose=0,
    )
    return model


def scores(y, p, threshold):
    values = [float(getattr(metrics, name)(threshold=threshold)(y, p)) for name in COLUMNS]
    return [*values, float(metrics.AUROC()(y, p))]


def print_table(y, rows):
    head = [*COLUMNS, "AUROC"]
    print(f"\n{'':32}" + "".join(f"{name:>11}" for name in head))
    for label, p, threshold in rows:
        print(f"{label:32}" + "".join(f"{value:11.3f}" for value in scores(y, p, threshold)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=300, help="most epochs of a training; early stopping may end it")
    parser.add_argument("--output", type=Path, default=Path("runs/demo"), help="where the picture goes")
    parser.add_argument("--export", type=Path, default=Path("saved_models/demo"), help="where the winner goes")
    parser.add_argument("--smoke", action="store_true", help="a few epochs only, to see that it runs")
    args = parser.parse_args()
    epochs = 5 if args.smoke else args.epochs

    data = datasets.load("synthetic_05")
    print(f"synthetic_05: {len(data.train[0])} samples to train on, {np.mean(data.train[1]):.2%} positive\n")
    trained = {
        "BCE": train("BCE", keras.losses.BinaryCrossentropy(), data, epochs),
        "SoftF1": train("SoftF1", SoftF1(), data, epochs),
    }

    x, y = data.test
    on_test = {name: model.predict(x, verbose=0)[:, 0] for name, model in trained.items()}
    on_validation = {name: model.predict(data.validation[0], verbose=0)[:, 0] for name, model in trained.items()}
    tuned = {name: tune_threshold(data.validation[1], p, "f1") for name, p in on_validation.items()}
    rows = []
    for name, p in on_test.items():
        rows.append((f"{name}, mean over 0.1 ... 0.9", p, THRESHOLDS))
        rows.append((f"{name}, at 0.5", p, 0.5))
        rows.append((f"{name}, tuned to {tuned[name].threshold:.3f}", p, float(tuned[name].threshold)))
    print_table(y, rows)
    print("\nThe threshold is tuned on validation data, all figures are of test data.")

    args.output.mkdir(parents=True, exist_ok=True)
    picture = args.output / "f1_against_threshold.png"
    plots.score_against_threshold(y, on_test, "f1").savefig(picture)
    print(f"Picture: {picture}")

    winner = max(tuned, key=lambda name: tuned[name].score)  # chosen on validation data
    folder = export_classifier(trained[winner], args.export, threshold=float(tuned[winner].threshold))
    print(f"Exported {winner} with its threshold to {folder}")

    serving = tf.saved_model.load(str(folder)).signatures["serving_default"]  # needs neither Keras nor this package
    answer = serving(features=tf.constant(x[:5]))
    print("\nFive rows, classified by the exported model:")
    for row, truth, p, label in zip(x, y, answer["probability"].numpy(), answer["label"].numpy()):
        print(
            f"  {np.round(row, 2)!s:24} probability {np.ravel(p)[0]:.3f}  label {np.ravel(label)[0]}  truth {truth:.0f}"
        )


if __name__ == "__main__":
    main()
