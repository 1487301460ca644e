"""Exactness under tf.distribute: one device, 2, 4 and 8 of them, two workers, and a worker that is killed.

Every strategy runs in a process of its own (tests/scripts/replicas_*.py), so that collectives do not clash; the
numbers come back in a file, which is made once and shared by the tests.
"""

import contextlib
import json
import pathlib
import re
import signal
import socket

import keras
import numpy as np
import processes
import pytest
from cases import LOSSES
from sklearn import metrics as sklearn_metrics

ROOT = pathlib.Path(__file__).parents[2]
SCRIPTS = ROOT / "tests" / "scripts"
EXAMPLE = ROOT / "examples" / "multi_worker.py"
CONDITIONS = (
    "plain",
    "sample weights",
    "empty replica",
    "positives on one replica",
    "nine thresholds, multi-label",
    "mixed precision",
)
# In float16 the order of a sum shows in its fourth digit: in the gradients of the model, less in the loss (float32).
LOSS_TOLERANCE, WEIGHT_TOLERANCE = 1e-6, 1e-5
HALF_LOSS_TOLERANCE, HALF_WEIGHT_TOLERANCE = 5e-4, 2e-3


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """Runs a command once for all tests, in a folder of its own, which it returns; its output is in output.txt."""
    base, failed = tmp_path_factory.mktemp("replicas"), set()

    def of(name, *command):
        folder = base / name
        if name in failed:
            pytest.fail(f"{name} has failed before")
        if not folder.exists():
            folder.mkdir()
            failed.add(name)
            output = processes.run_well(*command, cwd=folder)
            failed.remove(name)
            (folder / "output.txt").write_text(output)
        return folder

    return of


@pytest.fixture(scope="session")
def numbers(once):
    """What a script found with a number of devices (".../many"), and with one (".../one")."""

    def load(script, devices, *more):
        name = "-".join(map(str, (script, devices, *more)))
        folder = once(name, SCRIPTS / f"{script}.py", devices, "numbers.npz", *more)
        with np.load(folder / "numbers.npz") as found:
            return dict(found)

    def of(script, devices, *more):
        if devices == 2:
            return load(script, 2, *more)
        return {name: x for name, x in load(script, 2).items() if "/one" in name} | load(script, devices)

    return of


def largest_difference(found, condition, key, label="many"):
    """By loss, between one device and many."""
    difference = np.abs(found[f"{condition}/{key}/one"] - found[f"{condition}/{key}/{label}"])
    return difference.max(0) if key == "losses" else difference.max(1)


# ------------------------------------------------------------------------------------ every named loss, twenty steps


@pytest.mark.parametrize(
    ("devices", "more"), [(2, ["few"]), *(pytest.param(n, [], marks=pytest.mark.slow) for n in (2, 4, 8))]
)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_loss_trains_as_on_one_device(numbers, condition, devices, more):
    found = numbers("replicas_train", devices, *more)
    half = condition == "mixed precision"
    few = more and (half or "nine" in condition)
    assert found[f"{condition}/losses/one"].shape == (20, 3 if few else len(found["names"]))
    assert largest_difference(found, condition, "losses").max() <= (HALF_LOSS_TOLERANCE if half else LOSS_TOLERANCE)
    assert largest_difference(found, condition, "weights").max() <= (
        HALF_WEIGHT_TOLERANCE if half else WEIGHT_TOLERANCE
    )


def test_no_loss_is_forgotten_and_the_conditions_are_what_they_say(numbers):
    found = numbers("replicas_train", 2, "few")
    assert sorted(found["names"]) == [loss.__name__ for loss in LOSSES]
    assert sorted(found["last batch"]) == [0, 1]  # one sample for two replicas
    for condition in CONDITIONS:  # a training that goes nowhere would agree with anything
        values = found[f"{condition}/losses/one"]
        assert np.all(values[-4:].mean(0) < values[:4].mean(0))


def test_without_the_sum_over_replicas_every_loss_would_fail(numbers):
    found = numbers("replicas_train", 2, "few")
    for key in ("losses", "weights"):
        found[f"sample weights/{key}/without"] = found[f"without the sum/{key}/many"]
    assert np.all(largest_difference(found, "sample weights", "losses", "without") > 100 * LOSS_TOLERANCE)
    assert np.all(largest_difference(found, "sample weights", "weights", "without") > 10 * WEIGHT_TOLERANCE)


# ------------------------------------------------------------------------------------------- every way to use Keras


@pytest.fixture(scope="session")
def used(numbers):
    return lambda devices: numbers("replicas_fit", devices)


def assert_same(found, *prefixes, tolerance=LOSS_TOLERANCE):
    names = [name[: -len("/one")] for name in found if name.endswith("/one") and name.startswith(prefixes)]
    assert names
    for name in names:
        np.testing.assert_allclose(found[f"{name}/many"], found[f"{name}/one"], rtol=0, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("devices", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_fit_evaluate_and_predict(used, devices):
    found = used(devices)
    assert_same(found, "fit/loss", "fit/f1", "fit/balanced", "evaluate/loss")
    assert_same(found, "fit/weights", "predict", tolerance=WEIGHT_TOLERANCE)


@pytest.mark.parametrize("devices", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_metrics_equal_scikit_learn_on_the_whole_data(used, devices):
    found = used(devices)
    y, w = found["labels/many"][:, 0], found["sample_weights/many"]
    hard = found["predict/many"][:, 0] >= 0.5
    tn, fp, fn, tp = sklearn_metrics.confusion_matrix(y, hard).ravel()
    expected = {
        "f1": sklearn_metrics.f1_score(y, hard),
        "mcc": sklearn_metrics.matthews_corrcoef(y, hard),
        "balanced_accuracy": sklearn_metrics.balanced_accuracy_score(y, hard, sample_weight=w),
        "auroc": sklearn_metrics.roc_auc_score(y, np.floor(found["predict/many"][:, 0] * 10)),
        **{"tp": tp, "fp": fp, "fn": fn, "tn": tn},
    }
    assert min(tp, fp, fn, tn) > 0  # else the agreement would say little
    for name, value in expected.items():
        np.testing.assert_allclose(found[f"evaluate/{name}/many"], value, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("graph", [True, False])
def test_custom_loop_with_strategy_run(used, graph):
    found = used(2)
    assert_same(found, f"loop {graph=}/loss", f"loop {graph=}/f1", f"loop {graph=}/kernel")
    np.testing.assert_array_equal(found[f"loop {graph=}/cells/many"], found[f"loop {graph=}/cells/one"])


@pytest.mark.parametrize("way", ["run_eagerly", "sum of losses"])
def test_other_ways_to_compile(used, way):
    assert_same(used(2), f"{way}/loss")
    assert_same(used(2), f"{way}/weights", tolerance=WEIGHT_TOLERANCE)


def test_whole_batch_outside_replicas_is_not_divided(used):
    found = used(2)
    for context in ("outside", "cross-replica", "cross-replica graph"):
        for label in ("one", "many"):
            np.testing.assert_allclose(found[f"{context}/{label}"], found["outside/one"], rtol=0, atol=1e-7)
    for metric in ("metric", "merged"):  # two updates each, so the cells count everything twice
        np.testing.assert_allclose(found[f"{metric}/many"], found[f"{metric}/one"], rtol=1e-6)
        np.testing.assert_allclose(found[f"{metric}/many"].sum(), 2 * found["sample_weights/many"].sum(), rtol=1e-5)


def test_models_load_across_strategies_and_train_on(used):
    assert_same(used(2), "load/loss")
    assert_same(used(2), "load/weights", tolerance=WEIGHT_TOLERANCE)


def test_several_classes_and_sets_of_samples_train_as_on_one_device(once):
    with np.load(once("classes", SCRIPTS / "replicas_classes.py", "numbers.npz") / "numbers.npz") as found:
        names = [name.removesuffix("/one") for name in found if name.endswith("/one")]
        assert len(names) == 38
        for name in names:
            tolerance = WEIGHT_TOLERANCE if "weights" in name else LOSS_TOLERANCE
            np.testing.assert_allclose(found[f"{name}/two"], found[f"{name}/one"], rtol=0, atol=tolerance, err_msg=name)


# ------------------------------------------------------------------------------------------------ past one process


@pytest.fixture(scope="session")
def undisturbed(once):
    """What two loopback workers print, and their folder."""
    folder = once("undisturbed", EXAMPLE, "--local", 2, "--smoke", "--directory", ".")
    return (folder / "output.txt").read_text(), folder


def epoch_losses(output):
    return {int(epoch): float(loss) for epoch, loss in re.findall(r"epoch (\d+)/\d+: loss (\d\.\d+)", output)}


def weights(folder):
    return keras.saving.load_model(folder / "model.keras").get_weights()


def run_workers(folder, *scripts, **more):
    """One loopback worker for each script; returns exit codes and outputs of all."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("localhost", 0))) for _ in scripts]
        addresses = [f"localhost:{s.getsockname()[1]}" for s in sockets]
    workers = []
    try:
        for index, script in enumerate(scripts):
            config = json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}})
            arguments = ("--smoke", "--directory", folder)
            workers.append(processes.Started(script, *arguments, TF_CONFIG=config, **more))
        ended = [worker.done() for worker in workers]
        return [(each.stdout + each.stderr, each.returncode) for each in ended]
    finally:
        for worker in workers:
            worker.kill()


@pytest.mark.processes
def test_two_workers_reproduce_the_losses_of_one_process(undisturbed, tmp_path):
    output, folder = undisturbed
    alone = processes.run_well(EXAMPLE, "--smoke", "--directory", tmp_path)
    assert "2 replicas" in output
    assert "1 replicas" in alone
    two, one = epoch_losses(output), epoch_losses(alone)
    assert list(two) == list(one) == [1, 2, 3]
    np.testing.assert_allclose(list(two.values()), list(one.values()), rtol=0, atol=LOSS_TOLERANCE)
    for a, b in zip(weights(folder), weights(tmp_path)):
        np.testing.assert_allclose(a, b, rtol=0, atol=WEIGHT_TOLERANCE)


@pytest.mark.processes
def test_a_killed_worker_costs_nothing_but_the_unfinished_epoch(undisturbed, tmp_path):
    # An epoch has five steps, so the second worker dies in the middle of the second epoch.
    killed = run_workers(tmp_path, EXAMPLE, SCRIPTS / "workers_killed.py", KILL_AT_STEP="8")
    (first, code), (second, code_of_second) = killed
    assert code_of_second == -signal.SIGKILL, second
    assert code == 1, first
    assert "start the job again" in first
    assert list(epoch_losses(first)) == [1]

    (again, code), (second, code_of_second) = run_workers(tmp_path, EXAMPLE, EXAMPLE)
    assert code == code_of_second == 0, again + second
    assert "resuming after epoch 1 of 3" in again
    output, folder = undisturbed
    assert epoch_losses(first) | epoch_losses(again) == epoch_losses(output)
    for a, b in zip(weights(tmp_path), weights(folder)):
        np.testing.assert_array_equal(a, b)


def test_making_losses_and_metrics_does_not_settle_the_devices():
    """Whoever sets up devices or workers afterwards still can; TensorFlow refuses once an operation has run."""
    code = """
import tensorflow as tf
from keras_softsets import SoftAUROC, SoftFBeta, SoftKappa, SoftPrecisionAtRecall, metrics
made = [SoftFBeta(2), SoftAUROC(), SoftKappa(), SoftPrecisionAtRecall(0.9), metrics.F1(), metrics.Scores(["f1"])]
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
print(len(tf.config.list_logical_devices("CPU")))
"""
    assert processes.run_code(code).stdout.strip() == "2"
