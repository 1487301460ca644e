"""The adversarial F1 of Fathony and Kolter, through their own package `ap-perf` (PyTorch), stopped by the clock.

It trains the paper's MLP with the trial's own initial weights, Adam 1e-3 and batches of 20, the size that the paper
used; the authors' code has a learning rate of 3e-4 for this row. A batch costs 0.1 s of one core, and an epoch of Adult
2.5 minutes, so a trial is given `MINUTES` of one core instead of 100 epochs of patience. Every `BATCHES_BETWEEN_CHECKS`
batches, the decision (logit at least 0) is scored by F1 on the validation part, and the best weights are kept: the
adversarial loss of the validation part would take as long as the training.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.speed.losses import adversarial_f1
from studies.engine import evaluation, network
from studies.engine.data import Trials
from studies.harness.store import Line
from studies.harness.study import Job
from studies.paper.methods.side_by_side import load_trials

MINUTES = 5.0
BATCH_SIZE = 20
BATCHES_BETWEEN_CHECKS = 50


def train(job: Job) -> Iterator[Line]:
    """Yields the lines of one trial after the other."""
    for seed in job.trials:
        yield from trial_lines(load_trials(job.key["data"], (seed,), job.raw_dir))


def trial_lines(trials: Trials, minutes: float = MINUTES) -> list[Line]:
    """Trains the first trial of a stack and returns its lines, read as probabilities and as logits."""
    torch.set_num_threads(1)
    started = time.process_time()  # not the wall clock, which depends on the machine's other load
    model, epochs, best = _train(trials, started + 60 * minutes)
    progress = evaluation.Progress(int(trials.seeds[0]), best, epochs, float("nan"), time.process_time() - started)
    outputs = [(part.y[0], _logits(model, part.x[0])) for part in (trials.validation, trials.test)]
    return evaluation.lines(progress, ("probabilities", "logits"), *outputs)


def _train(trials: Trials, deadline: float) -> tuple[torch.nn.Module, float, float]:
    """Returns the best model, the number of epochs trained and the epoch of the best, as fractions."""
    x, y = (torch.tensor(array[0]) for array in (trials.train.x, trials.train.y))
    torch.manual_seed(int(trials.seeds[0]))
    model = build(network.initial_weights(x.shape[1], trials.seeds))
    criterion, optimizer = adversarial_f1(), torch.optim.Adam(model.parameters(), lr=1e-3)
    best_model, best_score, best_step = copy.deepcopy(model), -1.0, 0
    for step, rows in enumerate(_batches(len(x)), start=1):
        if time.process_time() >= deadline:
            break
        optimizer.zero_grad()
        criterion(model(x[rows])[:, 0], y[rows]).backward()
        optimizer.step()
        if step % BATCHES_BETWEEN_CHECKS == 0 and (score := _validation_f1(model, trials)) > best_score:
            best_model, best_score, best_step = copy.deepcopy(model), score, step
    return best_model, (step - 1) * BATCH_SIZE / len(x), best_step * BATCH_SIZE / len(x)


def _batches(samples: int) -> Iterator[torch.Tensor]:
    """Yields the rows of one batch after the other, in a new order every epoch, forever."""
    while True:
        order = torch.randperm(samples)
        for start in range(0, samples - BATCH_SIZE + 1, BATCH_SIZE):
            yield order[start : start + BATCH_SIZE]


def build(weights: network.Weights) -> torch.nn.Module:
    """Returns the paper's MLP with the weights of the first trial of a stack."""
    arrays = [torch.tensor(np.array(w[0])) for w in weights]
    layers: list[torch.nn.Module] = []
    for kernel, bias in zip(arrays[0::2], arrays[1::2], strict=True):
        dense = torch.nn.Linear(*kernel.shape)
        dense.weight.data, dense.bias.data = kernel.T.contiguous(), bias
        layers += [dense, torch.nn.ReLU(), torch.nn.Dropout(network.DROPOUT)]
    return torch.nn.Sequential(*layers[:-2])


def _logits(model: torch.nn.Module, x: np.ndarray) -> np.ndarray:
    model.eval()
    with torch.no_grad():
        outputs = model(torch.tensor(x))[:, 0].numpy()
    model.train()
    return outputs


def _validation_f1(model: torch.nn.Module, trials: Trials) -> float:
    outputs = evaluation.sigmoid(_logits(model, trials.validation.x[0]))
    return evaluation.evaluate(trials.validation.y[0], outputs)["f1_at_half"]
