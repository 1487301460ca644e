"""Loss and gradient of a batch that is split unevenly over processes of torch.distributed, and of the whole batch.

Prints, for 1 and 3 processes, the loss and the gradient of each loss after DistributedDataParallel has averaged it.
With "apart", totals are not summed over processes.
"""

import json
import os
import sys

os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

CUTS = {1: (0, 90), 3: (0, 25, 70, 90)}  # all positives are in the first process


def work(rank, processes, store, apart, queue):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=processes)
    from keras_softsets import SoftF1, SoftPrecisionAtRecall, _backend

    if apart:
        _backend.sum_over_replicas = lambda totals: totals
    torch.manual_seed(0)
    x = torch.tensor(np.random.default_rng(0).normal(size=(90, 4)).astype("float32"))
    y = torch.tensor((np.arange(90) < 20).astype("float32"))[:, None]
    own = slice(*CUTS[processes][rank : rank + 2])
    found = []
    for loss in (SoftF1(), SoftF1(threshold=(0.1, 0.5, 0.9)), SoftPrecisionAtRecall(0.8)):
        net = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Sigmoid())
        torch.nn.init.constant_(net[0].weight, 0.3)
        parallel = torch.nn.parallel.DistributedDataParallel(net)  # which must live until gradients are averaged
        value = loss(y[own], parallel(x[own]))
        value.backward()
        found.append([value.item(), *net[0].weight.grad[0].tolist()])
    if rank == 0:
        queue.put(found)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    folder, apart = sys.argv[1], sys.argv[2:] == ["apart"]
    context = multiprocessing.get_context("spawn")
    for processes in CUTS:
        queue = context.SimpleQueue()
        arguments = (processes, os.path.join(folder, str(processes)), apart, queue)
        running = [context.Process(target=work, args=(rank, *arguments)) for rank in range(processes)]
        for process in running:
            process.start()
        print(json.dumps(queue.get()), flush=True)
        for process in running:
            process.join()
