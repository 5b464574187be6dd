"""A network that reads digits, trained by several processes on a shared pool of Aggregators.

    motet aggregator start &
    torchrun --nproc-per-node 2 examples/torch_digits.py

The two lines with `attach` are all that differs from a program for one process; `--backend`
trains with DistributedDataParallel instead, over gloo or over the same pool ("motet").
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext

import torch
from sklearn.datasets import load_digits
from torch import distributed, nn

from motet.torch import attach

BATCH = 64


def network() -> nn.Module:
    """Two layers."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def main(epochs: int, backend: str) -> None:
    """Train on every WORLD_SIZE-th batch."""
    rank, workers = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    images, digits = (torch.from_numpy(each) for each in load_digits(return_X_y=True))
    data = torch.utils.data.TensorDataset(images.float() / 16, digits)
    model = network()
    called: nn.Module = model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    if backend:
        distributed.init_process_group(backend)
        called = nn.parallel.DistributedDataParallel(model)
    with nullcontext() if backend else attach(model, optimizer):
        for epoch in range(epochs):
            total = 0.0
            order = torch.randperm(len(data), generator=torch.Generator().manual_seed(epoch))
            for start in range(
                0, len(data) // (BATCH * workers) * BATCH * workers, BATCH * workers
            ):
                rows = order[start + rank * BATCH :][:BATCH]
                inputs, targets = data[rows]
                loss = nn.functional.cross_entropy(called(inputs), targets)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                total += loss.item()
            if rank == 0:
                sys.stdout.write(f"epoch {epoch + 1}: loss {total:.6f}\n")
    if rank == 0:
        with torch.no_grad():
            correct = (model(data.tensors[0]).argmax(1) == data.tensors[1]).float().mean()
        sys.stdout.write(f"{correct:.1%} of the digits are read correctly\n")
    if backend:
        del called  # PyTorch hangs at times where the model is freed after its process group.
        distributed.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--backend", choices=["gloo", "motet"], default="")
    arguments = parser.parse_args()
    main(arguments.epochs, arguments.backend)
