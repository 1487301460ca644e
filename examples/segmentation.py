"""Find small objects in pictures: every pixel is a sample, the loss is the Jaccard index (IoU) that is reported.

    python examples/segmentation.py

Labels and predictions have the shape (n, height, width, classes); all axes but the last are samples. Pixels at the edge
of an object, where an annotator could not tell, get the weight 0 and leave no trace in the four sums. The pictures are
made up on the spot. An interrupted run starts again; it takes a minute or two.
"""

import argparse
from pathlib import Path

import keras
import numpy as np

from keras_softsets import SoftJaccard, metrics, plots, tune_threshold

CLASSES = ("disc", "square")
SIDE = 32


def make_pictures(number, seed):
    """Returns pictures (n, 32, 32, 1), masks (n, 32, 32, 2) and pixel weights (n, 32, 32)."""
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    away = random.uniform(6, SIDE - 6, (4, number, 1, 1))  # centres: disc's row and column, square's row and column
    disc = np.hypot(rows - away[0], columns - away[1])  # distance of each pixel from the centre
    square = np.maximum(abs(rows - away[2]), abs(columns - away[3]))
    masks = np.stack([disc <= 2.5, square <= 5], -1)  # 2 % and 11 % of the pixels
    unsure = (abs(disc - 2.5) < 0.5) | (abs(square - 5) < 0.5)
    pictures = masks[..., :1] * 1.0 + masks[..., 1:] * 0.7 + random.normal(0, 0.6, (number, SIDE, SIDE, 1))
    return pictures.astype("float32"), masks.astype("float32"), (~unsure).astype("float32")


def make_model():
    inputs = x = keras.Input((SIDE, SIDE, 1), name="picture")
    for filters, dilation in ((8, 1), (16, 2), (16, 4)):  # dilation: a pixel sees 15 x 15 neighbours
        x = keras.layers.Conv2D(filters, 3, padding="same", dilation_rate=dilation, activation="relu")(x)
    outputs = keras.layers.Conv2D(len(CLASSES), 1, activation="sigmoid")(x)
    return keras.Model(inputs, outputs)


def train(name, loss, data, validation, args):
    print(f"\nTraining with {name}")
    keras.utils.set_random_seed(0)
    model = make_model()
    # weighted_metrics, not metrics: those would count the unsure pixels.
    model.compile(keras.optimizers.Adam(3e-3), loss, weighted_metrics=[metrics.Jaccard(name="iou")])
    pictures, masks, weights = data
    model.fit(pictures, masks, 32, args.epochs, sample_weight=weights, validation_data=validation, verbose=2)
    return model


def draw(pictures, masks, predicted, file):
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    colours = ["white", plots.COLOURS[0], plots.COLOURS[4], plots.COLOURS[6]]
    titles = ["picture", "truth", *predicted]
    figure = Figure(figsize=(2.2 * len(titles), 6.6), layout="constrained", dpi=120)
    axes = figure.subplots(3, len(titles))
    for row in range(3):
        decided = [masks[row], *(p[row] >= 0.5 for p in predicted.values())]
        axes[row, 0].imshow(pictures[row, ..., 0], cmap="gray")
        for axis, mask in zip(axes[row, 1:], decided):
            axis.imshow(mask[..., 0] + 2 * mask[..., 1], cmap=ListedColormap(colours), vmin=0, vmax=3)
    for axis, title in zip(axes[0], titles):
        axis.set_title(title)
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
    handles = [Patch(color=colour, label=name) for colour, name in zip(colours[1:], (*CLASSES, "both"))]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=1024, help="to train on (default: 1024)")
    parser.add_argument("--epochs", type=int, default=10, help="default: 10")
    parser.add_argument("--output", type=Path, default=Path("runs/segmentation"), help="where the picture goes")
    parser.add_argument("--smoke", action="store_true", help="few pictures and two epochs, to see that it runs")
    args = parser.parse_args()
    if args.smoke:
        args.pictures, args.epochs = 64, 2

    data, validation, test = (make_pictures(args.pictures // share, seed) for seed, share in enumerate((1, 4, 2)))
    losses = {"BCE": "binary_crossentropy", "SoftJaccard": SoftJaccard()}
    trained = {name: train(name, loss, data, validation, args) for name, loss in losses.items()}
    predicted = {name: model.predict(test[0], verbose=0) for name, model in trained.items()}
    decided = {f"{name}, at 0.5": p >= 0.5 for name, p in predicted.items()}
    # The fair competitor: cross-entropy, with the best threshold for each class on validation pictures.
    on_validation = trained["BCE"].predict(validation[0], verbose=0)
    tuned = tune_threshold(validation[1], on_validation, "jaccard", validation[2]).threshold
    decided["BCE, tuned by class"] = predicted["BCE"] >= tuned

    _, masks, weights = test
    print(f"\n{'IoU on test data':22}" + "".join(f"{name:>10}" for name in [*CLASSES, "mean"]))
    for name, labels in decided.items():
        by_class = [float(value) for value in metrics.Jaccard(average=None)(masks, labels, weights)]
        print(f"{name:22}" + "".join(f"{value:10.3f}" for value in [*by_class, np.mean(by_class)]))
    args.output.mkdir(parents=True, exist_ok=True)
    draw(test[0], masks, predicted, args.output / "masks.png")
    print(f"Picture: {args.output / 'masks.png'}")


if __name__ == "__main__":
    main()
