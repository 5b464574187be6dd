"""Trainings on real data: attached to Aggregators, over DistributedDataParallel, and by hand."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from motet.torch import attach
from real_data import mnist
from torch_workers import Worker

ROWS = 4_000
CONTEXT = 32
Batch = tuple[torch.Tensor, torch.Tensor]
State = dict[str, torch.Tensor]


class DigitMlp(nn.Module):
    """Two layers on MNIST's pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.layers(inputs)


class DigitCnn(nn.Module):
    """Convolutions with BatchNorm on MNIST."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(1, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU()),
            *(nn.Conv2d(8, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU()),
        )
        self.head = nn.Linear(16 * 36, 10)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(inputs.view(-1, 1, 28, 28)).flatten(1))


class TextTransformer(nn.Module):
    """A language model of characters, with tied embeddings."""

    def __init__(self, letters: int = 65, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(letters, width)
        self.positions = nn.Parameter(torch.zeros(CONTEXT, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, letters, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        hidden = self.encoder(self.embedding(tokens) + self.positions, mask, is_causal=True)
        return self.head(hidden).transpose(1, 2)


@cache
def _digits(data: Path) -> Batch:
    found = mnist(data, rows=ROWS)
    return torch.tensor(found.features, dtype=torch.float32), torch.tensor(found.target).long()


@cache
def _text(data: Path) -> torch.Tensor:
    letters = np.frombuffer(gzip.decompress((data / "input.txt.gz").read_bytes()), np.uint8)
    _, numbers = np.unique(letters, return_inverse=True)
    return torch.from_numpy(numbers.astype(np.int64))


def _digit_batch(data: Path, step: int, size: int) -> Batch:
    pixels, labels = _digits(data)
    rows = torch.randint(len(labels), (size,), generator=torch.Generator().manual_seed(step))
    return pixels[rows], labels[rows]


def _text_batch(data: Path, step: int, size: int) -> Batch:
    text = _text(data / "tinyshakespeare")
    generator = torch.Generator().manual_seed(step)
    starts = torch.randint(len(text) - CONTEXT - 1, (size,), generator=generator)
    rows = starts[:, None] + torch.arange(CONTEXT + 1)
    return text[rows[:, :-1]], text[rows[:, 1:]]


MODELS: Mapping[str, tuple[Callable[[], nn.Module], Callable[[Path, int, int], Batch]]] = {
    "mlp": (DigitMlp, _digit_batch),
    "cnn": (DigitCnn, _digit_batch),
    "transformer": (TextTransformer, _text_batch),
}


@dataclass(frozen=True)
class Curve:
    """A training program but for the way in which workers add their gradients.

    `data`: the folder of datasets. `batch`: examples of all workers in a step. `changes`: by step,
    new options of each parameter group; the first group has the first parameter alone.
    """

    data: Path
    model: str = "mlp"
    optimizer: str = "SGD"
    options: Mapping[str, Any] = field(default_factory=lambda: {"lr": 0.1})
    steps: int = 500
    batch: int = 16
    changes: Mapping[int, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)

    def initial_model(self, seed: int) -> nn.Module:
        torch.manual_seed(seed)
        return MODELS[self.model][0]()

    def optimizer_of(self, model: nn.Module) -> torch.optim.Optimizer:
        first, *others = model.parameters()
        groups = [{"params": [first]}, {"params": others}]
        found: torch.optim.Optimizer = getattr(torch.optim, self.optimizer)(groups, **self.options)
        return found

    def loss(self, model: nn.Module, rank: int, workers: int, step: int) -> torch.Tensor:
        """Of a worker's share of the batch."""
        inputs, targets = MODELS[self.model][1](self.data, step, self.batch)
        return cross_entropy(model(inputs[rank::workers]), targets[rank::workers])

    def run(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        rank: int,
        workers: int,
        pushed: Callable[[int], None] = lambda step: None,
        is_last: Callable[[int], bool] | None = None,
    ) -> list[float]:
        """The losses of this worker: the program of a user. `pushed(step)` is called between
        `backward` and `step`, `is_last(step)` after the step.
        """
        losses = []
        for step in count(1):
            self.change_groups(optimizer, step)
            loss = self.loss(model, rank, workers, step)
            loss.backward()
            losses.append(loss.item())
            pushed(step)
            optimizer.step()
            optimizer.zero_grad()
            if step == self.steps if is_last is None else is_last(step):
                break
        return losses

    def change_groups(self, optimizer: torch.optim.Optimizer, step: int) -> None:
        for group, new in zip(optimizer.param_groups, self.changes.get(step, ()), strict=False):
            group.update(new)


@dataclass(frozen=True)
class CurveResult:
    """`losses`: by rank. `model`: of rank 0, or of the last worker."""

    losses: list[list[float]]
    model: State
    optimizer: dict[str, Any]


def by_hand(
    curve: Curve,
    workers: int,
    ranks_in: Callable[[int], Iterable[int]] | None = None,
    *,
    is_reversed: bool = False,
) -> CurveResult:
    """In one process: gradients added in the order of ranks, then torch.optim.

    `ranks_in(step)`: the workers that take part; None: all. Buffers are those of the first.
    `is_reversed`: gradients are added from the last rank to the first.
    """
    model = curve.initial_model(0)
    optimizer = curve.optimizer_of(model)
    losses: list[list[float]] = [[] for _ in range(workers)]
    parameters = list(model.parameters())
    for step in range(1, curve.steps + 1):
        curve.change_groups(optimizer, step)
        ranks = sorted(range(workers) if ranks_in is None else ranks_in(step))
        buffers = [buffer.clone() for buffer in model.buffers()]
        found: dict[int, list[torch.Tensor]] = {}
        for rank in reversed(ranks):
            for buffer, before in zip(model.buffers(), buffers, strict=True):
                buffer.copy_(before)
            loss = curve.loss(model, rank, workers, step)
            found[rank] = list(torch.autograd.grad(loss, parameters))
            losses[rank].append(loss.item())
        for number, parameter in enumerate(parameters):
            first, *others = reversed(ranks) if is_reversed else ranks
            total = found[first][number].clone()
            for rank in others:
                total += found[rank][number]
            parameter.grad = total / len(ranks)
        optimizer.step()
        optimizer.zero_grad()
    return CurveResult(losses, state_of(model), optimizer.state_dict())


def curve_over_ddp(worker: Worker, curve: Curve) -> tuple[list[float], State, dict[str, Any]]:
    model = curve.initial_model(worker.rank)
    wrapped = nn.parallel.DistributedDataParallel(model)
    optimizer = curve.optimizer_of(model)
    losses = curve.run(wrapped, optimizer, worker.rank, worker.workers)
    return losses, state_of(model), optimizer.state_dict()


def curve_attached(
    worker: Worker, curve: Curve, mode: str
) -> tuple[list[float], State, dict[str, Any]]:
    model = curve.initial_model(worker.rank)
    optimizer = curve.optimizer_of(model)
    with attach(model, optimizer, service=worker.service(), mode=mode):  # type: ignore[arg-type]
        losses = curve.run(model, optimizer, worker.rank, worker.workers)
        return losses, state_of(model), optimizer.state_dict()


def state_of(model: nn.Module) -> State:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}
