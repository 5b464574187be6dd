"""Gradients as bfloat16 on the wire: the curve of a training, against exact ones in the same run.

Two workers train a network on scikit-learn's digits; the last third of the images is for the test.
"""

from __future__ import annotations

import argparse
import statistics
from contextlib import ExitStack
from multiprocessing.connection import Connection as Pipe
from typing import Literal

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.routes import FixedRoutes
from motet.torch import attach
from motet.transport import Endpoint
from support.aggregation_pool import WORKERS, Pool, both_workers
from support.figures import Figure, report

BATCH = 32


def train(
    rank: int,
    seed: int,
    epochs: int,
    compression: Literal["bfloat16"] | None,
    mode: Literal["averaged", "aggregators"],
    secret: bytes,
    endpoints: list[Endpoint],
    pipe: Pipe,
) -> None:
    """Sends the mean loss of the last epoch and the share of errors in the test."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    images, digits = (torch.from_numpy(each) for each in load_digits(return_X_y=True))
    images = images.float() / 16
    trained = len(images) * 2 // 3
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    agent = NumpyAgent(FixedRoutes(1, secret, endpoints), rank, WORKERS)
    losses: list[float] = []
    with attach(model, optimizer, service=agent, mode=mode, compression=compression):
        for epoch in range(epochs):
            order = torch.randperm(trained, generator=torch.Generator().manual_seed(epoch))
            losses = []
            for rows in order[: trained // (BATCH * WORKERS) * BATCH * WORKERS].split(
                BATCH * WORKERS
            ):
                own = rows[rank::WORKERS]
                loss = cross_entropy(model(images[own]), digits[own])
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
        with torch.no_grad():
            wrong = (model(images[trained:]).argmax(1) != digits[trained:]).float().mean().item()
    pipe.send((statistics.fmean(losses), wrong))


def main() -> None:
    """Both modes, several seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    figures = []
    modes: tuple[Literal["averaged", "aggregators"], ...] = ("aggregators", "averaged")
    for mode in modes:
        for seed in range(options.seeds):
            found = []
            compressions: tuple[Literal["bfloat16"] | None, ...] = (None, "bfloat16")
            for compression in compressions:
                with ExitStack() as stack:
                    pool = Pool(1, stack)
                    both = both_workers(
                        train, seed, options.epochs, compression, mode, pool.secret, pool.endpoints
                    )
                    found.append((statistics.fmean(each for each, _ in both), both[0][1]))
            (exact, exact_wrong), (rounded, rounded_wrong) = found
            name = f"optimizer {mode}, seed {seed}"
            figures.append(
                Figure(f"{name}: loss", f"{rounded:.5f}", f"{exact:.5f}", rounded / exact)
            )
            figures.append(
                Figure("  errors in the test", f"{rounded_wrong:.2%}", f"{exact_wrong:.2%}")
            )
    report("aggregation_compression", "bfloat16 on the wire; peer: float32", figures, plot=False)


if __name__ == "__main__":
    main()
