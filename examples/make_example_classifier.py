"""Makes saved_models/example_classifier: the paper's MLP on synthetic_05, trained with SoftF1 and a fixed seed.

    rm -r saved_models/example_classifier/1
    python examples/make_example_classifier.py

It is small enough to be part of the repository, for examples/serve.py, for the tests, and to try TF Serving with.
"""

from pathlib import Path

from _common import folder, make_parser, whole


def parse_arguments():
    parser = make_parser(__doc__)
    parser.add_argument("--epochs", type=whole(), default=300, help="maximum number of epochs (default: 300)")
    parser.add_argument(
        "--export", type=folder(), default=Path("saved_models/example_classifier"), help="folder of versions"
    )
    parser.add_argument(
        "--smoke", action="store_true", help="three epochs, and the next version of runs/make_example_classifier"
    )
    args = parser.parse_args()
    args.version = 1
    if args.smoke:
        args.epochs = 3
        if args.export == parser.get_default("export"):
            args.export, args.version = Path("runs/make_example_classifier"), None  # None: the next free number
    return args


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds

import keras
import tensorflow as tf

from keras_softsets import SoftF1, WindowedEarlyStopping, datasets, export_classifier, metrics, models, tune_threshold


def main(args):
    keras.utils.set_random_seed(0)
    data = datasets.load("synthetic_05")  # features are standardised, and the exported model expects them so
    model = models.mlp(3)
    model.compile(keras.optimizers.Adam(1e-3), SoftF1(), metrics=[metrics.F1()])
    model.fit(
        *data.train,
        batch_size=1024,
        epochs=args.epochs,
        validation_data=data.validation,
        validation_batch_size=len(data.validation[0]),  # in one batch, val_loss is the loss of the validation set
        callbacks=[WindowedEarlyStopping(window=50)],
        verbose=2,
    )
    tuned = tune_threshold(data.validation[1], model.predict(data.validation[0], verbose=0)[:, 0], "f1")
    folder = export_classifier(model, args.export, threshold=tuned.threshold, version=args.version)

    # What counts is what the exported file answers, not the model in memory.
    serve = tf.saved_model.load(str(folder)).signatures["serving_default"]
    answer = serve(features=tf.constant(data.test[0]))
    labels = tf.cast(answer["label"], tf.float32)
    print(f"Exported to {folder}: threshold {tuned.threshold:.6f}, F1 on test data", end=" ")
    print(f"{float(metrics.F1()(data.test[1], labels)):.4f}")


if __name__ == "__main__":
    main(ARGUMENTS)
