"""Find small objects in images: every pixel has one of three classes, and the loss follows the IoU that is reported.

    python examples/segmentation.py

Masks hold class ids, (n, height, width); predictions are a softmax, (n, height, width, classes). Pixels at the edge
of an object, where an annotator could not tell, have the id 255, which `ignore_class` removes. Half of the images have
no disc, and a quarter have no square: `per_sample=True` makes each image a separate set, and `zero_division="ignore"`
leaves a class out of an image's mean if it is neither present nor predicted there. The images are generated. A run
takes a minute or two; an interrupted run starts from the beginning.

`SoftJaccard` alone would end at an IoU of 0 for both shapes: within one epoch everything is background, and a class of
probability 0 has no gradient at the argmax. `loss_for("jaccard")` adds cross-entropy, which has one.
"""

from pathlib import Path

from _common import folder, make_parser, whole


def parse_arguments():
    parser = make_parser(__doc__)
    parser.add_argument("--images", type=whole(8), default=1024, help="images to train on (default: 1024)")
    parser.add_argument("--epochs", type=whole(), default=10, help="number of epochs (default: 10)")
    parser.add_argument("--output", type=folder(), default=Path("runs/segmentation"), help="folder for the figure")
    parser.add_argument("--smoke", action="store_true", help="few images and two epochs, to check that it runs")
    args = parser.parse_args()
    if args.smoke:
        args.images, args.epochs = 64, 2
    return args


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds

import keras
import numpy as np

from keras_softsets import evaluate, loss_for, metrics, plots, tune_threshold

CLASSES = ("background", "disc", "square")
SIDE, UNSURE = 32, 255
OPTIONS = {"threshold": "argmax", "ignore_class": UNSURE}
PER_IMAGE = {"per_sample": True, "zero_division": "ignore"}


def make_images(number, seed):
    """Returns images (n, 32, 32, 1) and masks of class ids (n, 32, 32)."""
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    away = random.uniform(6, SIDE - 6, (4, number, 1, 1))  # centres: disc's row and column, square's row and column
    nowhere = random.random((2, number, 1, 1)) < [[[[0.5]]], [[[0.25]]]]
    disc = np.hypot(rows - away[0], columns - away[1]) + 99 * nowhere[0]  # distance of each pixel from the centre
    square = np.maximum(abs(rows - away[2]), abs(columns - away[3])) + 99 * nowhere[1]
    masks = np.where(disc <= 2.5, 1, np.where(square <= 5, 2, 0))
    images = np.array([0.0, 1.0, 0.7])[masks] + random.normal(0, 0.6, masks.shape)
    masks[(abs(disc - 2.5) < 0.5) | (abs(square - 5) < 0.5)] = UNSURE
    return images[..., None].astype("float32"), masks.astype("uint8")


def make_model():
    inputs = x = keras.Input((SIDE, SIDE, 1), name="image")
    for filters, dilation in ((8, 1), (16, 2), (16, 4)):  # dilation: a pixel sees 15 x 15 neighbours
        x = keras.layers.Conv2D(filters, 3, padding="same", dilation_rate=dilation, activation="relu")(x)
    outputs = keras.layers.Conv2D(len(CLASSES), 1, activation="softmax")(x)
    return keras.Model(inputs, outputs)


def train(name, loss, data, validation, args):
    print(f"\nTraining with {name}")
    keras.utils.set_random_seed(0)
    model = make_model()
    model.compile(keras.optimizers.Adam(3e-3), loss, metrics=[metrics.Jaccard(name="iou", **OPTIONS, **PER_IMAGE)])
    model.fit(*data, 32, args.epochs, validation_data=validation, verbose=2)
    return model


def row(masks, p, decision):
    """Returns the IoU of each class and their mean over all pixels, and the mean over images."""
    options = OPTIONS | {"threshold": decision}
    by_class = evaluate(masks, p, "jaccard", average=None, **options)
    return [*by_class, np.mean(by_class), evaluate(masks, p, "jaccard", **options, **PER_IMAGE)]


def draw(images, masks, predicted, file):
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    colours = ["white", plots.COLOURS[0], plots.COLOURS[4], "0.7"]
    titles = ["image", "truth", *predicted]
    figure = Figure(figsize=(2.2 * len(titles), 6.6), layout="constrained", dpi=120)
    axes = figure.subplots(3, len(titles))
    for k in range(3):
        axes[k, 0].imshow(images[k, ..., 0], cmap="gray")
        for axis, ids in zip(axes[k, 1:], [np.minimum(masks[k], 3), *(p[k].argmax(-1) for p in predicted.values())]):
            axis.imshow(ids, cmap=ListedColormap(colours), vmin=0, vmax=3)
    for axis, title in zip(axes[0], titles):
        axis.set_title(title)
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
    handles = [Patch(color=colour, label=name) for colour, name in zip(colours[1:], (*CLASSES[1:], "unsure"))]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(file)


def main(args):
    data, validation, test = (make_images(args.images // share, seed) for seed, share in enumerate((1, 4, 2)))
    losses = {
        "cross-entropy": keras.losses.SparseCategoricalCrossentropy(ignore_class=UNSURE),
        "SoftJaccard + guided": loss_for("jaccard", **OPTIONS),
    }
    trained = {name: train(name, loss, data, validation, args) for name, loss in losses.items()}
    predicted = {name: model.predict(test[0], verbose=0) for name, model in trained.items()}
    rows = {name: row(test[1], p, "argmax") for name, p in predicted.items()}
    # What to compare with: cross-entropy, with the best offset for each class on validation images.
    on_validation = trained["cross-entropy"].predict(validation[0], verbose=0)
    tuned = tune_threshold(validation[1], on_validation, "jaccard", decision="argmax", ignore_class=UNSURE).threshold
    rows["cross-entropy, offsets tuned"] = row(test[1], predicted["cross-entropy"], tuned)

    print(f"\n{'IoU on test data':30}" + "".join(f"{name:>12}" for name in [*CLASSES, "mean", "per image"]))
    for name, values in rows.items():
        print(f"{name:30}" + "".join(f"{value:12.3f}" for value in values))
    args.output.mkdir(parents=True, exist_ok=True)
    draw(*test, predicted, args.output / "masks.png")
    print(f"Figure: {args.output / 'masks.png'}")


if __name__ == "__main__":
    main(ARGUMENTS)
