"""Small trainings in PyTorch, over DistributedDataParallel and attached to Aggregators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from motet.torch import attach
from torch_workers import Worker

BATCH = 8
CLASSES = 4


class Mlp(nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, CLASSES))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.layers(inputs)


class Cnn(nn.Module):
    """Convolutions with BatchNorm, in the memory layout `channels_last`."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.head = nn.Linear(6 * 16, CLASSES)
        self.to(memory_format=torch.channels_last)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(inputs).flatten(1))


class Transformer(nn.Module):
    """A language model with tied embeddings; positions are used outside of a module."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(CLASSES, 16)
        self.positions = nn.Parameter(torch.zeros(12, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, CLASSES, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        hidden = self.encoder(self.embedding(tokens) + self.positions, mask, is_causal=True)
        return self.head(hidden).transpose(1, 2)


MODELS: dict[str, Callable[[], nn.Module]] = {"mlp": Mlp, "cnn": Cnn, "transformer": Transformer}


def batches(model: str, rank: int, workers: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """The worker's share of a stream of batches that has a rule to learn."""
    generator = torch.Generator().manual_seed(5)
    while True:
        if model == "transformer":
            first = torch.randint(CLASSES, (BATCH, 1), generator=generator)
            tokens = (first + torch.arange(13) * (1 + first % 2)) % CLASSES
            inputs, targets = tokens[:, :-1], tokens[:, 1:]
        else:
            shape = (BATCH, 20) if model == "mlp" else (BATCH, 1, 8, 8)
            inputs = torch.randn(shape, generator=generator)
            targets = inputs.flatten(1)[:, :CLASSES].argmax(1)
        yield inputs[rank::workers], targets[rank::workers]


@dataclass(frozen=True)
class Training:
    """A training program, but for the way in which workers add their gradients."""

    model: str = "mlp"
    optimizer: str = "SGD"
    options: dict[str, Any] = field(default_factory=lambda: {"lr": 0.1})
    steps: int = 8
    clip: float = 0.0
    accumulate: int = 1
    is_autocast: bool = False
    is_scaled: bool = False
    is_scheduled: bool = False
    has_two_groups: bool = False
    device: str = "cpu"

    def initial_model(self, rank: int) -> nn.Module:
        """Each worker begins with other parameters; rank 0's count."""
        torch.manual_seed(rank)
        return MODELS[self.model]().to(self.device)

    def optimizer_of(self, model: nn.Module) -> torch.optim.Optimizer:
        parameters = [*model.parameters()]
        groups: list[dict[str, Any]] = [{"params": parameters}]
        if self.has_two_groups:
            groups = [{"params": parameters[:1], "weight_decay": 0.1}, {"params": parameters[1:]}]
        return getattr(torch.optim, self.optimizer)(groups, **self.options)

    def run(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        rank: int,
        workers: int,
        no_sync: Callable[[], Any] = nullcontext,
    ) -> list[float]:
        """The losses of this worker, one per batch: the program of a user."""
        scaler = torch.amp.GradScaler(self.device, enabled=self.is_scaled, init_scale=1024.0)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
        stream = batches(self.model, rank, workers)
        losses = []
        for _ in range(self.steps):
            for turn in range(self.accumulate):
                with no_sync() if turn + 1 < self.accumulate else nullcontext():
                    inputs, targets = (each.to(self.device) for each in next(stream))
                    with torch.autocast(self.device, torch.bfloat16, enabled=self.is_autocast):
                        loss = _loss(model(inputs), targets)
                    scaler.scale(loss).backward()
                losses.append(loss.item())
            if self.clip:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), self.clip)
            scaler.step(optimizer)
            scaler.update()
            if self.is_scheduled:
                scheduler.step()
            optimizer.zero_grad()
        return losses


def _loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Of a flat batch: a GPU adds the losses of a batch of sequences in no fixed order."""
    return cross_entropy(outputs.movedim(1, -1).reshape(-1, CLASSES), targets.reshape(-1))


@dataclass(frozen=True)
class Trained:
    """What a training leaves."""

    losses: list[float]
    model: dict[str, torch.Tensor]
    optimizer: dict[str, Any]
    mode: str = ""


def train_over_ddp(
    worker: Worker, training: Training, *, is_synced: bool = True, is_halved: bool = False
) -> Trained:
    """With DistributedDataParallel over the default process group. `is_halved`: gradients are
    rounded to bfloat16 in each worker and added in float32."""
    model = training.initial_model(worker.rank)
    wrapped = nn.parallel.DistributedDataParallel(model)
    if is_halved:
        wrapped.register_comm_hook(None, _added_halves)
    optimizer = training.optimizer_of(model)
    no_sync = nullcontext if is_synced else wrapped.no_sync
    losses = training.run(wrapped, optimizer, worker.rank, worker.workers, no_sync)
    return _trained(losses, model, optimizer)


def train_attached(
    worker: Worker,
    training: Training,
    mode: str = "auto",
    *,
    is_synced: bool = True,
    **options: Any,
) -> Trained:
    """Attached to Aggregators. `options`: of `attach`."""
    model = training.initial_model(worker.rank)
    optimizer = training.optimizer_of(model)
    with attach(
        model,
        optimizer,
        service=worker.service(),
        mode=mode,
        **options,  # type: ignore[arg-type]
    ) as attachment:
        no_sync = nullcontext if is_synced else attachment.no_sync
        losses = training.run(model, optimizer, worker.rank, worker.workers, no_sync)
        return _trained(losses, model, optimizer, attachment.mode)


def _added_halves(_, bucket):  # type: ignore[no-untyped-def]  # PyTorch checks annotations.
    rounded = bucket.buffer().to(torch.bfloat16).to(torch.float32)
    work = torch.distributed.all_reduce(rounded, async_op=True)
    workers = torch.distributed.get_world_size()
    return work.get_future().then(lambda each: each.value()[0].div_(workers))


def _trained(
    losses: list[float], model: nn.Module, optimizer: torch.optim.Optimizer, mode: str = ""
) -> Trained:
    state = {name: value.clone() for name, value in model.state_dict().items()}
    return Trained(losses, state, optimizer.state_dict(), mode)


def differences(one: Any, other: Any, at: str = "", tolerance: float = 0.0) -> list[str]:
    """Where two nested values differ; tensors by more than `tolerance`, relative and absolute."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return [f"{at}: keys {sorted(map(str, one))} and {sorted(map(str, other))}"]
        pairs = [(f"{at}.{key}", one[key], other[key]) for key in one]
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            return [f"{at}: {len(one)} and {len(other)} elements"]
        pairs = [
            (f"{at}[{index}]", a, b) for index, (a, b) in enumerate(zip(one, other, strict=True))
        ]
    else:
        return [] if _is_equal(one, other, tolerance) else [f"{at}: {one} and {other}"]
    return [text for where, a, b in pairs for text in differences(a, b, where, tolerance)]


def _is_equal(one: Any, other: Any, tolerance: float) -> bool:
    if not torch.is_tensor(one) and not isinstance(one, float):
        return bool(one == other)
    one, other = torch.as_tensor(one), torch.as_tensor(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return (
        torch.allclose(one, other, tolerance, tolerance) if tolerance else torch.equal(one, other)
    )
