# SPDX-License-Identifier: BSD-3-Clause
"""A worker that trains a small network (two layers, numpy) on its share of the data, for test_training.py. Prints a digest
of its weights. With `--alone N` it is all N workers in one process, and adds by itself. `--type bfp16`: gradients are
rounded to block floating point, else to fixed point; `exact`, with `--alone`: not at all."""

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


def block_floating_sum(vectors, elements=724):
    """What bfp16 makes of it, by its definition: a chunk's smallest common exponent with which the sum of so many fits."""
    flat = [vector.astype(np.float32).astype(np.float64).ravel() for vector in vectors]
    total, largest = np.empty_like(flat[0]), 32767 // len(flat)
    for first in range(0, total.size, elements):
        blocks = [one[first:first + elements] for one in flat]
        most = max(np.max(np.abs(block)) for block in blocks)
        exponent = -126 if most == 0 else max(-126, int(np.floor(np.log2(most))) - 20)
        while np.rint(np.ldexp(most, -exponent)) > largest:
            exponent += 1
        total[first:first + elements] = np.ldexp(sum(np.rint(np.ldexp(block, -exponent)) for block in blocks), exponent)
    return total.reshape(vectors[0].shape)


def train(step_sum, workers, shares, file=None):
    random = np.random.default_rng(1)
    weights = [random.standard_normal((16, 64)) / 4, random.standard_normal((64, 1)) / 8]
    losses = []
    for _ in range(STEPS):
        own = [gradients(weights, data) for data in shares]
        losses.append(np.mean([loss for loss, _ in own]))
        for layer in range(len(weights)):
            total = step_sum([found[layer] for _, found in own])
            weights[layer] -= RATE / workers * total
    if file:
        np.savez(file, *weights)
    digest = hashlib.sha256(b"".join(layer.tobytes() for layer in weights)).hexdigest()
    print(f"{digest} {losses[0]:.6f} {losses[-1]:.6f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--router", "--bind"):
        parser.add_argument(name)
    parser.add_argument("--key", type=lambda text: int(text, 16))
    for name in ("--port", "--worker", "--alone"):
        parser.add_argument(name, type=int, default=0)
    parser.add_argument("--type", choices=("int32", "bfp16", "exact"), default="int32")
    parser.add_argument("--weights", help="file to write them to")
    given = parser.parse_args()
    if given.alone:
        fixed = lambda one: np.rint(one * SCALE).astype(np.int32)  # noqa: E731
        add = {"int32": lambda all_: np.sum([fixed(one) for one in all_], axis=0, dtype=np.int32) / SCALE,
               "bfp16": block_floating_sum, "exact": lambda all_: np.sum(all_, axis=0)}[given.type]
        train(add, given.alone, [share_of(worker) for worker in range(given.alone)], given.weights)
        return
    import pktpit_allreduce

    with pktpit_allreduce.Worker(given.router, given.key, given.worker, port=given.port, bind=given.bind) as worker:
        worker.join()
        add = {"int32": lambda all_: worker.sum_fixed(all_[0], SCALE),
               "bfp16": lambda all_: worker.sum(np.ascontiguousarray(all_[0], dtype=np.float32)).astype(np.float64)}[given.type]
        train(add, worker.workers, [share_of(given.worker)], given.weights)


main()
