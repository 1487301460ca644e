"""Every script in examples/ runs with --smoke, and the committed classifier answers as recorded."""

import contextlib
import http.server
import io
import json
import pathlib
import re
import runpy
import sys
import threading

import numpy as np
import processes
import pytest
import sklearn.metrics
import tensorflow as tf

from keras_softsets import datasets, metrics

ROOT = pathlib.Path(__file__).parents[2]
SCRIPTS = sorted(path for path in (ROOT / "examples").glob("*.py") if not path.name.startswith("_"))
NUMBER = r"(-?\d+\.\d+)"

# What examples/make_example_classifier.py printed when it made the committed classifier.
THRESHOLD, F1 = 0.406043, 0.4098

# These set up devices for themselves; the others share the process, and what it has compiled.
ALONE = ("distributed", "train_mlp")

# What a script gets besides --smoke, a row of its table to be found in its output, and the files that it leaves.
# Paths are relative to an empty folder, in which every script runs.
EXPECTED = {
    "custom_score": ([], rf"savings passes 14 checks[\s\S]*savings, tuned +{NUMBER} ±", ["runs/custom_score/*.png"]),
    "demo": (
        [],
        rf"balanced cross-entropy \| {NUMBER} ±",
        ["runs/demo/demo.png", "runs/demo/results.json", "runs/demo/*.html", "saved_models/demo/*/1/saved_model.pb"],
    ),
    "make_example_classifier": ([], rf"F1 on test data {NUMBER}", ["runs/make_example_classifier/1/saved_model.pb"]),
    "multi_label": (
        ["--export", "out"],
        rf"BCE, tuned by label +{NUMBER}",
        ["runs/multi_label/f1_by_label.png", "out/1/saved_model.pb"],
    ),
    "precision_recall_tradeoff": (
        [],
        rf"F3 loss, mean over 0\.1 \.\.\. 0\.9 +{NUMBER}",
        ["runs/precision_recall_tradeoff/curves.png"],
    ),
    "segmentation": ([], rf"SoftJaccard \+ guided +{NUMBER}", ["runs/segmentation/masks.png"]),
    "screening": ([], rf"SoftPrecisionAtRecall +{NUMBER} +{NUMBER} +{NUMBER}", ["runs/screening/*.png"]),
    "serve": (["--model", str(ROOT / "saved_models/example_classifier")], rf'"probability": \[{NUMBER}', []),
    "train_mlp": (
        [
            "--devices=3",
            "--loss=SoftFBeta",
            "--beta=2",
            "--threshold",
            "0.3",
            "0.5",
            "--class-weight=2",
            "--oversample",
            "--export",
            "--tensorboard",
        ],
        rf"at 0\.5 +{NUMBER}",
        [
            "runs/train_mlp/*/epochs.csv",
            "runs/train_mlp/*/*.png",
            "runs/train_mlp/*/tensorboard/validation/*",
            "saved_models/*/1/saved_model.pb",
        ],
    ),
    "train_tiny_darknet": (
        ["--threshold", "0.25", "0.75", "--delta", "0.2"],
        rf"Test data: accuracy {NUMBER}",
        ["runs/train_tiny_darknet/smoke/epochs.csv", "runs/train_tiny_darknet/smoke/model.keras"],
    ),
}


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory):
    """A folder of TensorFlow Datasets for all scripts, so that none reads or writes the user's."""
    return tmp_path_factory.mktemp("tensorflow_datasets")


def run_here(script, *arguments):
    """Runs a script in this process, as `python script` would; returns what it prints."""
    sys.argv[:] = [str(script), *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        runpy.run_path(str(script), run_name="__main__")
    return shown.getvalue()


# test_replicas runs multi_worker, alone, with two workers and with one of them killed; test_backends, other_backends.
ELSEWHERE = ("multi_worker", "other_backends")


@pytest.mark.parametrize("script", [s for s in SCRIPTS if s.stem not in ELSEWHERE], ids=lambda path: path.stem)
def test_smoke(script, tmp_path, data_dir, monkeypatch):
    arguments, pattern, files = EXPECTED.get(script.stem, ([], NUMBER, []))
    monkeypatch.setenv("TFDS_DATA_DIR", str(data_dir))
    monkeypatch.delenv("KERAS_SOFTSETS_RAW_DIR", raising=False)  # a smoke run needs no raw data
    if script.stem in ALONE:
        shown = processes.run_well(script, "--smoke", *arguments, cwd=tmp_path)
    else:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", list(sys.argv))
        monkeypatch.syspath_prepend(script.parent)  # as `python script` does
        shown = run_here(script, "--smoke", *arguments)
    assert (found := re.search(pattern, shown)), shown[-3000:]
    assert float(found.group(1)) > 0, found.group(0)  # a score, a cost or a probability; 0 would be nothing learnt
    assert not re.search(r"\bnan\b", shown), shown[-3000:]
    for file in files:
        sizes = [path.stat().st_size for path in tmp_path.glob(file)]
        assert min(sizes, default=0) > 100, file


def test_every_example_of_ours_is_there():
    assert set(EXPECTED) <= {script.stem for script in (ROOT / "examples").glob("*.py")}


def test_serve_sends_to_a_server_what_it_answers_itself(tmp_path, monkeypatch):
    """Against a stand-in for TF Serving, which has its path, method, JSON and status codes."""
    script, model = ROOT / "examples/serve.py", ROOT / "saved_models/example_classifier"
    monkeypatch.syspath_prepend(script.parent)
    answer_here = runpy.run_path(str(script))["ask_saved_model"]
    path, requests = "/v1/models/example_classifier:predict", []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            known = self.path == path
            answer = answer_here(model, requests[-1]) if known else {"error": "Servable not found"}
            self.send_response(200 if known else 404)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        file = tmp_path / "rows.json"
        file.write_text("[[1, 1, 1], [-1, 0, 0.5]]")
        asked = processes.run(script, "--url", url + path, "--instances", f"@{file}")
        refused = processes.run(script, "--url", url + "/v1/models/other:predict")
        server.shutdown()
    assert asked.returncode == 0, asked.stderr
    assert requests[0] == {"instances": [[1, 1, 1], [-1, 0, 0.5]]}
    printed = json.loads(asked.stdout.split("Response: ")[1])
    assert printed == answer_here(model, requests[0])
    assert [row["label"] for row in printed["predictions"]] == [[1], [0]]
    assert refused.returncode != 0
    assert "404" in refused.stderr
    assert "Servable not found" in refused.stderr


@pytest.mark.parametrize(
    ("rows", "said"), [([[1, 2]], r"shape \(1, 2\)"), ([["a", 1, 2]], "but"), ([{"x": [1, 2, 3]}], "'features'")]
)
def test_serve_says_what_rows_must_be(rows, said, monkeypatch):
    script, model = ROOT / "examples/serve.py", ROOT / "saved_models/example_classifier"
    monkeypatch.syspath_prepend(script.parent)
    with pytest.raises(SystemExit, match=rf"--instances must be rows for \[\('features', .*{said}"):
        runpy.run_path(str(script))["ask_saved_model"](model, {"instances": rows})


def test_the_command_makes_the_committed_classifier(tmp_path, data_dir, monkeypatch):
    """As saved_models/README.md says. Thresholds of equal F1 are far apart, so another processor may choose another."""
    script = ROOT / "examples/make_example_classifier.py"
    monkeypatch.setenv("TFDS_DATA_DIR", str(data_dir))
    monkeypatch.syspath_prepend(script.parent)
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    shown = run_here(script, "--export", str(tmp_path / "example_classifier"))
    assert float(re.search(rf"F1 on test data {NUMBER}", shown)[1]) == pytest.approx(F1, abs=0.05)
    x = tf.constant(np.random.default_rng(0).normal(size=(200, 3)), tf.float32)
    answers = [
        tf.saved_model.load(str(folder / "1")).signatures["serving_default"](features=x)
        for folder in (tmp_path / "example_classifier", ROOT / "saved_models/example_classifier")
    ]
    assert answers[0].keys() == answers[1].keys()
    for name, value in answers[0].items():
        assert (value.dtype, value.shape) == (answers[1][name].dtype, answers[1][name].shape)
    ranks = [np.argsort(np.argsort(answer["probability"].numpy().ravel())) for answer in answers]
    assert np.corrcoef(*ranks)[0, 1] > 0.8  # not the same weights: 0.898 was measured


def test_example_classifier_scores_as_recorded(data_dir):
    folder = ROOT / "saved_models/example_classifier/1"
    assert sum(file.stat().st_size for file in folder.rglob("*")) < 1_000_000
    x, y = datasets.load("synthetic_05", data_dir=data_dir).test
    answer = tf.saved_model.load(str(folder)).signatures["serving_default"](features=tf.constant(x))
    probability, label = answer["probability"].numpy(), answer["label"].numpy()
    threshold = THRESHOLD
    assert np.abs(probability - threshold).min() > 1e-6  # so the six digits decide
    np.testing.assert_array_equal(label, probability >= threshold)
    assert float(metrics.F1()(y, label)) == pytest.approx(F1, abs=5e-4)
    assert sklearn.metrics.roc_auc_score(y, probability) == pytest.approx(0.908, abs=5e-4)


@pytest.mark.slow
def test_the_masks_of_the_default_run_are_found(tmp_path):
    """Not only that it runs: with a set loss alone, both shapes had an IoU of 0.000 for as long as nobody looked."""
    out = processes.run_well(ROOT / "examples" / "segmentation.py", cwd=tmp_path)
    rows = {
        name: [float(value) for value in re.search(rf"^{re.escape(name)} +([\d. ]+)$", out, re.MULTILINE)[1].split()]
        for name in ("cross-entropy", "SoftJaccard + guided")
    }
    _, disc, square, mean, _ = rows["SoftJaccard + guided"]
    assert disc > 0.6
    assert square > 0.8
    assert mean > rows["cross-entropy"][3]


@pytest.mark.slow
def test_the_rare_labels_of_the_default_run_are_found(tmp_path):
    """docs/classes.md shows this table."""
    out = processes.run_well(ROOT / "examples" / "multi_label.py", cwd=tmp_path)
    macro = {name: float(value) for name, value in re.findall(r"^(\w.*?) +(?:[\d.]+ +){5}([\d.]+) +[\d.]+$", out, re.M)}
    page = dict(
        re.findall(r"^\| (.*?) \|(?: [\d.]+ \|){5} \**([\d.]+)\** \|$", (ROOT / "docs/classes.md").read_text(), re.M)
    )
    for name, title in {
        "SoftF1 macro, at 0.5": "`SoftF1()`, at 0.5",
        "BCE, at 0.5": "cross-entropy, at 0.5",
        "BCE, tuned by label": "cross-entropy, a threshold tuned for each label",
    }.items():
        assert macro[name] == pytest.approx(float(page[title]), abs=0.02)
    assert max(macro, key=macro.get) == "SoftF1 macro, at 0.5"
