r"""Ask an exported classifier as a client of TF Serving would: JSON in, JSON out.

    python examples/serve.py                                   # no server: runs the SavedModel here, same JSON
    docker run -p 8501:8501 -v "$PWD/saved_models/example_classifier:/models/example_classifier" \
        -e MODEL_NAME=example_classifier tensorflow/serving
    python examples/serve.py --url http://localhost:8501/v1/models/example_classifier:predict

The features are standardised ones, as datasets.load returns them. saved_models/README.md says more.
"""

import argparse
import json
import sys
import urllib.error
import urllib.request
from pathlib import Path

# Three points of synthetic_05: deep among the negatives, in between, deep among the positives.
ROWS = [[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0], [2.5, 2.5, 2.5]]


def ask_server(url, request):
    """Posts the request; the standard library is all that a client needs."""
    body = json.dumps(request).encode()
    headers = {"Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        sys.exit(f"The server refused: {error.code} {error.read().decode()}")  # TF Serving says why, in JSON
    except urllib.error.URLError as error:
        sys.exit(f"No answer from {url}: {error.reason}")


def ask_saved_model(folder, request):
    """Answers as TF Serving does: the newest version, one prediction with all outputs for each instance."""
    import tensorflow as tf  # neither Keras nor keras_softsets

    versions = [int(child.name) for child in folder.glob("*") if child.name.isdigit()]
    if not versions:
        sys.exit(f"No version of a model in {folder}; make one with export_classifier or an example's --export")
    serve = tf.saved_model.load(str(folder / str(max(versions)))).signatures["serving_default"]
    ((name, spec),) = serve.structured_input_signature[1].items()  # of one input, instances are plain rows
    outputs = serve(**{name: tf.constant(request["instances"], spec.dtype)})
    columns = {key: tensor.numpy().tolist() for key, tensor in outputs.items()}
    return {"predictions": [dict(zip(columns, row)) for row in zip(*columns.values())]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="of a server, such as http://localhost:8501/v1/models/NAME:predict")
    parser.add_argument(
        "--model",
        type=Path,
        default=Path("saved_models/example_classifier"),
        help="folder of versions, without a --url",
    )
    parser.add_argument("--instances", help='JSON rows, such as "[[0.5, 1, 2]]", or @file.json (default: three rows)')
    parser.add_argument("--smoke", action="store_true", help="has no effect: this example is quick")
    args = parser.parse_args()

    instances = ROWS
    if args.instances:
        text = Path(args.instances[1:]).read_text() if args.instances.startswith("@") else args.instances
        instances = json.loads(text)
    request = {"instances": instances}
    print(f"Request:  {json.dumps(request)}")
    response = ask_server(args.url, request) if args.url else ask_saved_model(args.model, request)
    print(f"Response: {json.dumps(response)}")


if __name__ == "__main__":
    main()
