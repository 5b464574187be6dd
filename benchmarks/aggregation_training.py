"""A training step of a whole model on Aggregators, beside DistributedDataParallel over gloo.

Two workers share the device. The step is forward pass, backward pass and optimizer, until the
device has ended; its batch is on the device already. `attach` has the optimizer in the workers
("averaged") or on the Aggregators, and DistributedDataParallel runs over the backend `motet`. The
line "alone" has the step of two workers that exchange no gradients.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection as Pipe
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.functional import cross_entropy, relu

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.routes import FixedRoutes
from motet.torch import attach
from motet.transport import Endpoint
from support.aggregation_pool import WORKERS, Pool, both_workers, ms, timed
from support.figures import Figure, report
from support.records import report_and_keep

CLASSES = 1000


class Block(nn.Module):
    """A residual block of two convolutions, the first of which may halve the image."""

    def __init__(self, channels: int, wider: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, wider, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(wider, wider, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(wider) for _ in range(2))
        self.beside = nn.Conv2d(channels, wider, 1, stride, bias=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The sum of both ways."""
        found = self.norms[1](self.second(relu(self.norms[0](self.first(images)))))
        return relu(found + self.beside(images))


def conv_net() -> nn.Module:
    """The widths of ResNet-18."""
    blocks: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.MaxPool2d(2)]
    for channels, wider, stride in [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]:
        blocks += [Block(channels, wider, stride), Block(wider, wider, 1)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, CLASSES)]
    return nn.Sequential(*blocks, *head).to(memory_format=torch.channels_last)


class LanguageModel(nn.Module):
    """Eight layers of 512 numbers."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
        self.embedding = nn.Embedding(CLASSES, 512)
        self.encoder = nn.TransformerEncoder(layer, 8, enable_nested_tensor=False)
        self.head = nn.Linear(512, CLASSES)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """What follows each token."""
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
        return self.head(self.encoder(self.embedding(tokens), mask, is_causal=True)).transpose(1, 2)


class SmallLayers(nn.Module):
    """100 tensors, half of them of 16 KB and half of 256 bytes: little to compute, or to send."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(50))

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """The last layer's outputs."""
        for layer in self.layers:
            numbers = layer(numbers)
        return numbers


MODELS: dict[str, Callable[[], nn.Module]] = {
    "conv net": conv_net,
    "transformer": LanguageModel,
    "100 small": SmallLayers,
}
OF_A_RECORD = ("conv net", "transformer")
OPTIONS = {"lr": 0.01, "momentum": 0.9}


class Work(NamedTuple):
    """A model and its batch in one worker."""

    model: str
    batch: int
    device: str

    def step(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> Callable[[], None]:
        """One step of training."""
        torch.manual_seed(1)
        inputs, targets = (each.to(self.device) for each in self._batch())

        def step() -> None:
            cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            optimizer.zero_grad()
            if self.device == "cuda":
                torch.cuda.synchronize()

        return step

    def _batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets."""
        if self.model == "100 small":
            return torch.randn(self.batch, 64), torch.randint(64, (self.batch,))
        if self.model == "conv net":
            return torch.randn(self.batch, 3, 224, 224), torch.randint(CLASSES, (self.batch,))
        shape = (self.batch, 128)
        targets = torch.randint(CLASSES, shape)
        return torch.randint(CLASSES, shape), targets

    def made(self) -> tuple[nn.Module, torch.optim.Optimizer]:
        """Equal in all workers."""
        torch.set_num_threads(1)
        torch.set_float32_matmul_precision("high")
        torch.manual_seed(0)
        model = MODELS[self.model]().to(self.device)
        return model, torch.optim.SGD(model.parameters(), **OPTIONS)


def alone(rank: int, work: Work, steps: int, pipe: Pipe) -> None:
    """Each worker by itself."""
    model, optimizer = work.made()
    pipe.send(timed(work.step(model, optimizer), steps))


def over_gloo(rank: int, work: Work, steps: int, meeting: str, pipe: Pipe) -> None:
    """DistributedDataParallel."""
    from torch import distributed

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    distributed.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=WORKERS)
    model, optimizer = work.made()
    wrapped = nn.parallel.DistributedDataParallel(model)
    pipe.send(timed(work.step(wrapped, optimizer), steps))
    distributed.destroy_process_group()


class JobPool(NamedTuple):
    """Where a worker finds the Aggregators of its job."""

    secret: bytes
    endpoints: list[Endpoint]
    process_ids: list[int]

    def agent(self, rank: int) -> NumpyAgent:
        """The worker's access."""
        return NumpyAgent(FixedRoutes(1, self.secret, self.endpoints), rank, WORKERS)

    def counted_by(self, rank: int) -> list[int]:
        """The processes whose CPU time a worker counts: rank 0 those of all Aggregators."""
        return [] if rank else self.process_ids


def over_motet(rank: int, work: Work, steps: int, meeting: str, pool: JobPool, pipe: Pipe) -> None:
    """DistributedDataParallel over the process group that `init_process_group("motet")` makes."""
    from torch import distributed

    from motet.torch.distributed.process_group import MotetProcessGroup

    def group(_: Any, rank: int, workers: int, timeout: timedelta) -> MotetProcessGroup:
        return MotetProcessGroup(pool.agent(rank), rank, workers, timeout)

    distributed.Backend.register_backend("motet-here", group, devices=["cpu", "cuda"])
    distributed.init_process_group("motet-here", f"file://{meeting}", rank=rank, world_size=WORKERS)
    model, optimizer = work.made()
    wrapped = nn.parallel.DistributedDataParallel(model)
    pipe.send(timed(work.step(wrapped, optimizer), steps, pool.counted_by(rank)))
    distributed.destroy_process_group()


def attached(
    rank: int, work: Work, steps: int, options: dict[str, Any], pool: JobPool, pipe: Pipe
) -> None:
    """With `attach`."""
    model, optimizer = work.made()
    with attach(model, optimizer, service=pool.agent(rank), **options):
        pipe.send(timed(work.step(model, optimizer), steps, pool.counted_by(rank)))


WAYS: dict[str, dict[str, Any] | None] = {
    "DDP over motet": None,
    "averaged": {"mode": "averaged"},
    "averaged, bfloat16": {"mode": "averaged", "compression": "bfloat16"},
    "on Aggregators": {"mode": "aggregators"},
    "on Aggregators, overlap": {"mode": "aggregators", "overlap": True},
    "on Aggregators, overlap, bfloat16": {
        "mode": "aggregators",
        "overlap": True,
        "compression": "bfloat16",
    },
}


def compare(
    work: Work, steps: int, aggregators: int, ways: Sequence[str] = tuple(WAYS)
) -> Iterator[Figure]:
    """In one run. CPU time is that of all processes in a step."""
    parameters = sum(each.numel() for each in MODELS[work.model]().parameters())
    with _meeting() as meeting:
        gloo_s, gloo_cpu_s = _slower(both_workers(over_gloo, work, steps, meeting))
    lone_s, _ = _slower(both_workers(alone, work, steps))
    size = f"{parameters * 4 / 1e6:.0f} MB"
    yield Figure(f"{work.model}, alone ({size})", ms(lone_s), ms(gloo_s), lone_s / gloo_s)
    for way, options in WAYS.items():
        if way not in ways:
            continue
        with ExitStack() as stack:
            pool = Pool(aggregators, stack)
            own = JobPool(pool.secret, pool.endpoints, pool.process_ids)
            if options is None:
                target, given = over_motet, stack.enter_context(_meeting())
            else:
                target, given = attached, options
            own_s, cpu_s = _slower(both_workers(target, work, steps, given, own))
        name = f"{work.model}, {way}"
        yield Figure(f"{name}: step", ms(own_s), ms(gloo_s), own_s / gloo_s)
        yield Figure(f"{name}: CPU", ms(cpu_s), ms(gloo_cpu_s), cpu_s / gloo_cpu_s)


def _slower(found: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The step of the slower worker, and the CPU seconds that both counted."""
    return max(step_s for step_s, _ in found), sum(each_s for _, each_s in found)


@contextmanager
def _meeting() -> Iterator[str]:
    """A file by which the processes of a group find each other."""
    with tempfile.TemporaryDirectory() as folder:
        yield f"{folder}/meeting"


def main() -> None:
    """The models of the record, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=[*MODELS, "all"], default="all")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="the GPU, if there is one")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--aggregators", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=WAYS, default=list(WAYS), help="no record")
    options = parser.parse_args()
    if options.device is None and not torch.cuda.is_available():
        print("not measured: no CUDA device; --device cpu measures without one")  # In `make bench`.
        return
    device = options.device or "cuda"
    if device == "cuda" and not torch.cuda.is_available():
        parser.error("no CUDA device; use --device cpu")
    figures: list[Figure] = []
    for model in OF_A_RECORD if options.model == "all" else [options.model]:
        work = Work(model, options.batch, device)
        for figure in compare(work, options.steps, options.aggregators, options.only):
            print(figure.name, figure.measured, figure.peer, file=sys.stderr)  # It takes minutes.
            figures.append(figure)
    title = f"Training steps of 2 workers, {_versions(device)}"
    if options.model == "all" and device == "cuda" and options.only == list(WAYS):
        report_and_keep("aggregation_training", title, figures)
    else:
        report("aggregation_training", title, figures, plot=False)


def _versions(device: str) -> str:
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    return f"{name}, PyTorch {torch.__version__}"


if __name__ == "__main__":
    main()
