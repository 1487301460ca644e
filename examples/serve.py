r"""Ask an exported classifier, as a client of TF Serving would: JSON in, JSON out.

    python examples/serve.py                                   # no server: runs the SavedModel here, same JSON
    docker run -p 8501:8501 -v "$PWD/saved_models/example_classifier:/models/example_classifier" \
        -e MODEL_NAME=example_classifier tensorflow/serving
    python examples/serve.py --url http://localhost:8501/v1/models/example_classifier:predict

The features are standardised, as datasets.load returns them. See saved_models/README.md for more.
"""

import argparse
import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

from _common import make_parser

# Three points of synthetic_05: deep among the negatives, in between, deep among the positives.
ROWS = [[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0], [2.5, 2.5, 2.5]]


def web_address(text):
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"must start with http:// or https://. Received: {text}")
    return text


def rows(text):
    try:
        found = json.loads(Path(text[1:]).read_text() if text.startswith("@") else text)
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"must be JSON, or @ and the path of a file with it, but {error}") from None
    if not isinstance(found, list) or not found:
        raise argparse.ArgumentTypeError(f"must be a list of rows. Received: {text}")
    return found


def ask_server(url, request):
    """Posts the request; the standard library is all that a client needs."""
    body = json.dumps(request).encode()
    headers = {"Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        sys.exit(f"The server refused: {error.code} {error.read().decode()}")  # TF Serving gives the reason in JSON
    except urllib.error.URLError as error:
        sys.exit(f"No answer from {url}: {error.reason}")


def ask_saved_model(folder, request):
    """Answers as TF Serving does: with the newest version, and one prediction with all outputs for each instance."""
    import tensorflow as tf  # neither Keras nor keras_softsets

    versions = [int(child.name) for child in folder.glob("*") if child.name.isdigit()]
    if not versions:
        sys.exit(f"No version of a model in {folder}; make one with export_classifier or an example's --export")
    serve = tf.saved_model.load(str(folder / str(max(versions)))).signatures["serving_default"]
    specs = serve.structured_input_signature[1]
    try:
        outputs = serve(**tensors_of(request["instances"], specs))
    except (TypeError, ValueError, KeyError, tf.errors.OpError) as error:
        sys.exit(f"--instances must be rows for {sorted(specs.items())}, but {error}")
    columns = {key: tensor.numpy().tolist() for key, tensor in outputs.items()}
    return {"predictions": [dict(zip(columns, row)) for row in zip(*columns.values())]}


def tensors_of(instances, specs):
    """Returns a tensor for each input: a row is a dictionary of them, or for a single input its value."""
    import tensorflow as tf

    rows = [row if isinstance(row, dict) else dict.fromkeys(specs, row) for row in instances]
    tensors = {name: tf.constant([row[name] for row in rows], spec.dtype) for name, spec in specs.items()}
    wrong = [name for name, spec in specs.items() if not spec.shape.is_compatible_with(tensors[name].shape)]
    if wrong:
        raise ValueError(f"{wrong[0]} has the shape {tuple(tensors[wrong[0]].shape)}")
    return tensors


def main():
    parser = make_parser(__doc__)
    parser.add_argument(
        "--url", type=web_address, help="address of a server, such as http://localhost:8501/v1/models/NAME:predict"
    )
    parser.add_argument(
        "--model",
        type=Path,
        default=Path("saved_models/example_classifier"),
        help="folder of versions, used if there is no --url",
    )
    parser.add_argument(
        "--instances",
        type=rows,
        default=ROWS,
        help='JSON rows, such as "[[0.5, 1, 2]]", or @file.json (default: three rows)',
    )
    parser.add_argument("--smoke", action="store_true", help="has no effect: this example is quick")
    args = parser.parse_args()

    request = {"instances": args.instances}
    print(f"Request:  {json.dumps(request)}")
    response = ask_server(args.url, request) if args.url else ask_saved_model(args.model, request)
    print(f"Response: {json.dumps(response)}")


if __name__ == "__main__":
    main()
