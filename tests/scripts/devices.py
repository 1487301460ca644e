"""What models learn on several devices of JAX, or in several processes of torch.distributed, and on one.

    python devices.py jax CASE ...    # one device, four, and a mesh of 2 x 2 on which a layer is split, too
    python devices.py torch CASE ...  # one process, two and three, with shares of different sizes

Prints for each of them, as JSON by case, the losses of some epochs, the metrics and the trained weights. All positives
are on the first device. A second line has the same of the first case if each device has the loss of its own share, and
losses and gradients are averaged.
"""

import contextlib
import json
import multiprocessing
import os
import sys
import tempfile

ENGINE = sys.argv[1]
os.environ["KERAS_BACKEND"] = ENGINE
if ENGINE == "jax":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import keras
import numpy as np

from keras_softsets import GuidedCrossentropy, SoftF1, SoftKappa, SoftPrecisionAtRecall, _backend, metrics

CUTS = {1: (0, 48), 2: (0, 20, 48), 3: (0, 15, 40, 48)}  # of a batch of 48, in which the first 10 are positive
EPOCHS = 3
X = np.random.default_rng(0).normal(size=(96, 4)).astype("float32")
Y = (np.arange(96) % 48 < 10).astype("float32")[:, None]
IDS = np.where(Y > 0, 2, np.arange(96)[:, None] % 2)
BINARY = {
    "f1": SoftF1,
    "nine": lambda: SoftF1(threshold=[k / 10 for k in range(1, 10)]),
    "at recall": lambda: SoftPrecisionAtRecall(0.8),
    "guided": lambda: GuidedCrossentropy("f1", window=64),
}
CASES = {**{name: (loss, Y) for name, loss in BINARY.items()}, "kappa": (lambda: SoftKappa(weights="linear"), IDS)}
CHOSEN = [case for case in CASES if case in sys.argv]


def model_of(labels):
    keras.utils.set_random_seed(0)
    last = keras.layers.Dense(1, "sigmoid") if labels is Y else keras.layers.Dense(3, "softmax")
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, "tanh", name="hidden"), last])


def metrics_of(case):
    return [metrics.Kappa()] if case == "kappa" else [metrics.F1(), *([metrics.AUROC()] if case == "guided" else [])]


def numbers(losses, found, model):
    weights = np.concatenate([np.ravel(keras.ops.convert_to_numpy(w)) for w in model.trainable_weights])
    return {"losses": losses, "metrics": found, "weights": weights.tolist()}


# JAX


def fitted(case):
    """What `fit` finds under the distribution in whose scope it runs."""
    make, labels = CASES[case]
    model = model_of(labels)
    model.compile(keras.optimizers.SGD(0.5), make(), metrics=metrics_of(case))
    history = model.fit(X, labels, batch_size=48, epochs=EPOCHS, shuffle=False, verbose=0).history
    where = model.get_layer("hidden").kernel.value.sharding
    evaluated = model.evaluate(X, labels, batch_size=48, verbose=0)
    per_epoch = np.ravel([history[name] for name in history if name != "loss"]).tolist()
    found = numbers([*history["loss"], evaluated[0]], [*per_epoch, *evaluated[1:]], model)
    return {**found, "devices": len(where.device_set), "split": not where.is_fully_replicated}


def distributions():
    yield contextlib.nullcontext()
    devices = keras.distribution.list_devices()
    mesh = keras.distribution.DeviceMesh((2, 2), ["batch", "model"], devices)
    layout = keras.distribution.LayoutMap(mesh)
    layout[".*hidden.*kernel"] = (None, "model")
    layout[".*hidden.*bias"] = ("model",)
    yield keras.distribution.DataParallel(devices=devices).scope()
    yield keras.distribution.ModelParallel(layout_map=layout, batch_dim_name="batch").scope()


def on_devices(scope):
    with scope:
        return {case: fitted(case) for case in CHOSEN}


def of_shares():
    """Loss and gradient by the predictions of one batch, and the means of those of four shares."""
    import jax

    p = np.random.default_rng(1).uniform(0.05, 0.95, (48, 1)).astype("float32")
    for cut in (1, 4):

        def mean(p, cut=cut):
            return sum(BINARY["f1"]()(y, q) for y, q in zip(np.split(Y[:48], cut), jax.numpy.split(p, cut))) / cut

        value, gradient = jax.value_and_grad(mean)(p)
        yield {CHOSEN[0]: {"losses": [float(value)], "weights": np.ravel(gradient).tolist()}}


# PyTorch


def work(rank, processes, store, apart, queue):
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=processes)
    if apart:
        _backend.sum_over_replicas = lambda totals: totals
        _backend.gather_samples = lambda samples: samples
    own = slice(*CUTS[processes][rank : rank + 2])
    found = {case: looped(case, own) for case in (CHOSEN[:1] if apart else CHOSEN)}
    if rank == 0:
        queue.put(found)
    dist.barrier()
    dist.destroy_process_group()


def looped(case, own):
    """What a loop of one's own finds in one of several processes."""
    import torch

    make, labels = CASES[case]
    model, loss, found = model_of(labels), make(), metrics_of(case)
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses, values = [], []
    for _ in range(EPOCHS):
        for metric in found:
            metric.reset_state()
        for start in (0, 48):
            x, y = (torch.as_tensor(a[start : start + 48][own]) for a in (X, labels))
            optimizer.zero_grad()
            p = parallel(x)
            value = loss(y, p)
            value.backward()
            optimizer.step()
            losses.append(value.item())
            for metric in found:
                metric.update_state(y, p.detach())
        values += [float(of_all(metric)) for metric in found]
    return numbers(losses, values, model)


def of_all(metric):
    """The metric of all processes: every variable of a metric adds up."""
    import torch.distributed as dist

    for variable in metric.variables:
        dist.all_reduce(variable.value)
    return metric.result()


def in_processes(processes, folder, apart):
    context = multiprocessing.get_context("fork")  # nothing has been computed yet, and importing takes seconds
    queue = context.SimpleQueue()
    arguments = (processes, os.path.join(folder, f"{processes} {apart}"), apart, queue)
    running = [context.Process(target=work, args=(rank, *arguments)) for rank in range(processes)]
    for process in running:
        process.start()
    found = queue.get()
    for process in running:
        process.join()
    return found


def main():
    if ENGINE == "torch":
        with tempfile.TemporaryDirectory() as folder:
            for apart in (False, True):
                yield [in_processes(processes, folder, apart) for processes in CUTS]
    else:
        yield list(map(on_devices, distributions()))
        yield list(of_shares())


if __name__ == "__main__":
    for found in main():
        print(json.dumps(found), flush=True)
