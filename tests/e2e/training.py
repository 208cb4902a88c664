# SPDX-License-Identifier: BSD-3-Clause
"""A worker that trains a small network (two layers, numpy) on its share of the data, for test_training.py. Prints a digest
of its weights. With `--alone N` it is all N workers in one process, and adds by itself."""

import argparse
import hashlib
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "allreduce" / "python"))
SCALE, STEPS, RATE = 2.0**20, 20, 0.5


def share_of(worker):
    random = np.random.default_rng(1000 + worker)
    inputs = random.standard_normal((64, 16))
    return inputs, (np.sin(inputs.sum(axis=1, keepdims=True)) > 0).astype(np.float64)


def gradients(weights, data):
    first, second = weights
    inputs, wanted = data
    hidden = np.tanh(inputs @ first)
    given = 1 / (1 + np.exp(-(hidden @ second)))
    error = (given - wanted) / len(inputs)
    loss = -np.mean(wanted * np.log(given) + (1 - wanted) * np.log(1 - given))
    return loss, [inputs.T @ (error @ second.T * (1 - hidden**2)), hidden.T @ error]


def train(step_sum, workers, shares):
    random = np.random.default_rng(1)
    weights = [random.standard_normal((16, 64)) / 4, random.standard_normal((64, 1)) / 8]
    losses = []
    for _ in range(STEPS):
        own = [gradients(weights, data) for data in shares]
        losses.append(np.mean([loss for loss, _ in own]))
        for layer in range(len(weights)):
            total = step_sum([found[layer] for _, found in own])
            weights[layer] -= RATE / workers * total
    digest = hashlib.sha256(b"".join(layer.tobytes() for layer in weights)).hexdigest()
    print(f"{digest} {losses[0]:.6f} {losses[-1]:.6f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--router", "--bind"):
        parser.add_argument(name)
    parser.add_argument("--key", type=lambda text: int(text, 16))
    for name in ("--port", "--worker", "--alone"):
        parser.add_argument(name, type=int, default=0)
    given = parser.parse_args()
    if given.alone:
        fixed = lambda one: np.rint(one * SCALE).astype(np.int32)  # noqa: E731
        train(lambda all_: np.sum([fixed(one) for one in all_], axis=0, dtype=np.int32) / SCALE, given.alone,
              [share_of(worker) for worker in range(given.alone)])
        return
    import pktpit_allreduce

    with pktpit_allreduce.Worker(given.router, given.key, given.worker, port=given.port, bind=given.bind) as worker:
        worker.join()
        train(lambda all_: worker.sum_fixed(all_[0], SCALE), worker.workers, [share_of(given.worker)])


main()
