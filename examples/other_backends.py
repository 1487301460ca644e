"""Several devices with Keras on JAX or PyTorch: the loss of the global batch, as with tf.distribute.

    python examples/other_backends.py --backend jax --devices 4 --check      # GPUs, TPUs, or devices on the CPU
    python examples/other_backends.py --backend torch --devices 2 --check    # a process for each GPU, or on the CPU

With JAX, arrays are global under keras.distribution, so `fit` needs nothing else. With PyTorch, each process of
torch.distributed sees its share of the batch and DistributedDataParallel averages gradients; Keras's `fit` (3.15) knows
nothing of it, so there is a loop. With --check the model is trained once more on one device, on the same batches.
"""

import os

from _common import MOST_DEVICES, add_seed, make_parser, positive, whole


def parse_arguments():
    parser = make_parser(__doc__)
    parser.add_argument("--backend", choices=("jax", "torch"), required=True, help="on which Keras runs")
    parser.add_argument("--devices", type=whole(1, MOST_DEVICES), default=2, help="how many (default: 2)")
    parser.add_argument("--check", action="store_true", help="also train on one device, and compare")
    parser.add_argument("--batch-size", type=whole(), default=1024, help="over all devices (default: 1024)")
    parser.add_argument("--epochs", type=whole(), default=5, help="number of epochs (default: 5)")
    parser.add_argument("--learning-rate", type=positive(), default=0.5, help="of SGD (default: 0.5)")
    add_seed(parser, "the initial weights")
    parser.add_argument("--smoke", action="store_true", help="two epochs, to check that it runs")
    args = parser.parse_args()
    args.epochs = 2 if args.smoke else args.epochs
    args.batch_size += -args.batch_size % args.devices  # with JAX, every device gets the same number of samples
    return args


if __name__ == "__main__":
    ARGUMENTS = parse_arguments()  # before the imports, which take seconds
    os.environ["KERAS_BACKEND"] = ARGUMENTS.backend
    # JAX shows the CPU as that many devices if there is nothing else.
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={ARGUMENTS.devices}"

import contextlib

import keras
import numpy as np

import keras_softsets
from keras_softsets import metrics


def table(args):
    """Features and labels, about one positive in ten, whole batches of them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(10 * args.batch_size, 8)).astype("float32")
    hidden = x[:, 0] * x[:, 1] + x[:, 2] + 0.5 * rng.normal(size=len(x))
    return x, (hidden > np.quantile(hidden, 0.9)).astype("float32")[:, None]


def make_model(args):
    keras.utils.set_random_seed(args.seed)  # the same initial weights everywhere
    layers = [keras.layers.Dense(32, "relu"), keras.layers.Dense(1, "sigmoid")]
    return keras.Sequential([keras.Input((8,)), *layers])


def report(epoch, args, loss, f1):
    print(f"epoch {epoch + 1}/{args.epochs}: loss {loss:.6f}, F1 {f1:.4f}", flush=True)


def train_jax(devices, args):
    """Returns the weights; nothing but the scope depends on the devices."""
    several = keras.distribution.DataParallel(devices=keras.distribution.list_devices()[:devices])
    with several.scope() if devices > 1 else contextlib.nullcontext():
        model = make_model(args)
        optimizer = keras.optimizers.SGD(args.learning_rate)
        model.compile(optimizer, keras_softsets.SoftF1(), metrics=[metrics.F1()])
        shown = keras.callbacks.LambdaCallback(
            on_epoch_end=lambda epoch, logs: report(epoch, args, logs["loss"], logs["f1"])
        )
        x, y = table(args)
        model.fit(x, y, batch_size=args.batch_size, epochs=args.epochs, shuffle=False, verbose=0, callbacks=[shown])
        return model.get_weights()


def train_torch(devices, args):
    """Returns the weights of the first of several processes, which all end with the same."""
    import multiprocessing
    import tempfile

    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        rest = (devices, os.path.join(folder, "store"), args, queue)
        processes = [context.Process(target=work, args=(rank, *rest)) for rank in range(devices)]
        for process in processes:
            process.start()
        weights = queue.get()
        for process in processes:
            process.join()
    return weights


def work(rank, processes, store, args, queue):
    """One process; it has every n-th row of each batch."""
    import torch
    import torch.distributed as dist

    kind = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(kind, init_method=f"file://{store}", rank=rank, world_size=processes)
    if torch.cuda.is_available():
        torch.cuda.set_device(rank)
    model, loss, f1 = make_model(args), keras_softsets.SoftF1(), metrics.F1()
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.learning_rate)
    x, y = (keras.ops.convert_to_tensor(array[rank::processes]) for array in table(args))
    share = args.batch_size // processes
    for epoch in range(args.epochs):
        values = []
        for start in range(0, len(x), share):
            own = slice(start, start + share)
            optimizer.zero_grad()
            predicted = parallel(x[own])
            value = loss(y[own], predicted)  # of the global batch, in every process
            value.backward()
            optimizer.step()
            f1.update_state(y[own], predicted.detach())
            values.append(value.item())
        for variable in f1.variables:  # all variables of a metric add up over processes
            dist.all_reduce(variable.value)
        if rank == 0:
            report(epoch, args, np.mean(values), float(f1.result()))
        f1.reset_state()
    if rank == 0:
        queue.put(model.get_weights())
    dist.barrier()
    dist.destroy_process_group()


def main(args):
    train = train_jax if args.backend == "jax" else train_torch
    weights = train(args.devices, args)
    if args.check:
        print("The same on one device:")
        of_one = train(1, args)
        difference = max(np.abs(a - b).max() for a, b in zip(weights, of_one))
        print(f"Largest difference of the weights from one device: {difference:.1e}")


if __name__ == "__main__":
    main(ARGUMENTS)
