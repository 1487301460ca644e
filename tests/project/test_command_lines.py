"""The examples' command lines: help and mistakes are answered before anything slow is imported, and in one sentence."""

import os
import pathlib
import runpy
import subprocess
import sys

import pytest

import keras_softsets
from keras_softsets import datasets, scores

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if not path.name.startswith("_"))
COMMON = runpy.run_path(str(EXAMPLES / "_common.py"))
SLOW = ("keras", "keras_softsets", "matplotlib", "numpy", "tensorflow")  # seconds, together

# Runs a script as `python script ...` does, except that slow packages cannot be imported.
WITHOUT_SLOW_IMPORTS = f"""
import runpy, sys
sys.modules.update(dict.fromkeys({SLOW}))
sys.argv = sys.argv[1:]
sys.path[0] = sys.argv[0].rpartition("/")[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
WRONG = {
    "train_mlp": [
        *("--threshold 2", "--threshold 0.5 nan", "--batch-size 0", "--epochs 0", "--epochs 1.5", "--window -1"),
        *("--class-weight abc", "--class-weight -1", "--devices 99", "--devices 0", "--seed -1", "--data iris"),
        *("--loss SoftKappa", "--loss f3", "--beta 0", "--loss SoftF1 --beta 2", "--loss bce --threshold 0.3"),
        *("--heaviside step", "--output {file}", "--export {file}/model", "--no-such-option"),
    ],
    "train_tiny_darknet": [
        *("--threshold 0", "--delta 0.6", "--steps 0", "--epochs 0", "--batch-size 0", "--learning-rate nan"),
        *("--task cat", "--loss kappa", "--loss bce --delta 0.2", "--output {file}"),
    ],
    "distributed": [
        *("--devices 99", "--devices 0", "--samples 0", "--batch-size 0", "--epochs 0", "--learning-rate 0"),
        "--data letter",
    ],
    "other_backends": ["--backend tensorflow", "--devices 0 --backend jax", "--devices 99 --backend torch"],
    "multi_worker": ["--local -1", "--local 99", "--epochs 0", "--batch-size 0", "--directory {file}", "--data iris"],
    "custom_score": ["--seeds 0", "--epochs 0", "--window 0", "--data iris", "--output {file}"],
    "precision_recall_tradeoff": ["--seeds 0", "--epochs 0", "--window 0", "--data wine_quality"],
    "screening": ["--recall 1.5", "--recall 0", "--seeds 0", "--epochs 0", "--data cifar10_frog"],
    "multi_label": ["--samples 0", "--epochs 0", "--window 0", "--export {file}"],
    "segmentation": ["--images 0", "--epochs 0", "--output {file}"],
    "make_example_classifier": ["--epochs 0", "--export {file}"],
    "demo": ["--output {file}", "--export {file}/model"],
    "serve": ["--url localhost:8501", "--instances [1,", "--instances {{}}", "--instances @nowhere.json"],
}


def run(script, *arguments):
    command = [sys.executable, "-c", WITHOUT_SLOW_IMPORTS, str(script), *arguments]
    environment = {**os.environ, "COLUMNS": "120"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_help_needs_no_slow_import_and_shows_how_to_run_the_script(script):
    shown = run(script, "--help")
    assert shown.returncode == 0, shown.stderr
    assert "--smoke" in shown.stdout
    assert f"examples/{script.name}" in shown.stdout


@pytest.mark.parametrize(("name", "wrong"), [(name, each) for name, cases in WRONG.items() for each in cases])
def test_a_mistake_is_answered_in_a_sentence_that_names_it(name, wrong, tmp_path):
    (file := tmp_path / "file").write_text("")
    arguments = wrong.format(file=file).split()
    refused = run(EXAMPLES / f"{name}.py", *arguments)
    assert refused.returncode == 2, refused.stderr
    assert "Traceback" not in refused.stderr
    *_, sentence = refused.stderr.strip().splitlines()
    assert ": error: " in sentence
    assert arguments[0] in sentence


def test_every_example_is_tried():
    assert {script.stem for script in SCRIPTS} == set(WRONG)


def test_the_names_are_those_of_the_package():
    """`_common` lists those that scripts take, so that none has to import the package to check an argument."""
    tables = {each.name for each in datasets.describe() if each.classes == 2 and not each.name.startswith("cifar10")}
    assert set(COMMON["TABLES"]) == tables
    assert set(COMMON["SCORES"]) <= {name for name in scores.names() if scores.get(name).of == "cells"}
    named = {name for name in vars(keras_softsets) if name.startswith("Soft") and name != "SoftSetLoss"}
    of_cells = {name for name in named if "At" not in name and name not in ("SoftKappa", "SoftMulticlassMCC")}
    assert set(COMMON["LOSSES"]) <= of_cells


@pytest.mark.parametrize(("batch", "replicas", "rounded"), [(1024, 1, 1024), (1024, 3, 1026), (1, 8, 8), (16, 8, 16)])
def test_batches_are_rounded_up_to_the_replicas(batch, replicas, rounded):
    strategy = type("Strategy", (), {"num_replicas_in_sync": replicas})
    assert COMMON["rounded_batch"](batch, strategy) == rounded
