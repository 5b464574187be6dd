"""Programs with a peculiarity each, run by every worker: over DDP ("ddp") and attached."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from motet.domain.errors import MotetError
from motet.torch import Attachment, attach, slots
from torch_training import Mlp, Training, batches
from torch_workers import Worker

State = dict[str, torch.Tensor]
MOMENTUM = {"lr": 0.1, "momentum": 0.9}
MANY_STEPS = (1 << 30) + 5
"""More than float32 counts exactly."""


@contextmanager
def door(
    worker: Worker, how: str, model: nn.Module, *optimizers: torch.optim.Optimizer
) -> Iterator[tuple[nn.Module, Attachment | None]]:
    """The module that the program calls. `how`: "ddp", or a mode of `attach`."""
    if how == "ddp":
        yield nn.parallel.DistributedDataParallel(model, find_unused_parameters=True), None
        return
    with attach(model, optimizers, service=worker.service(), mode=how) as attachment:  # type: ignore[arg-type]
        yield model, attachment


def state_of(model: nn.Module) -> State:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def mlp(worker: Worker) -> Mlp:
    torch.manual_seed(worker.rank)
    return Mlp()


def clamped(worker: Worker, how: str) -> tuple[State, str]:
    """Changes gradients by way of `.data`, which leaves no trace in version counters."""
    model = mlp(worker)
    optimizer = torch.optim.SGD(model.parameters(), **MOMENTUM)
    with door(worker, how, model, optimizer) as (called, attachment):
        for inputs, targets in islice(batches("mlp", worker.rank, worker.workers), 6):
            cross_entropy(called(inputs), targets).backward()
            for parameter in model.parameters():
                parameter.grad.data.clamp_(-0.01, 0.01)
            optimizer.step()
            optimizer.zero_grad()
        return state_of(model), attachment.mode if attachment else ""


class Branches(nn.Module):
    """Layers of which a batch uses some."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(20, 4) for _ in range(4))

    def forward(self, inputs: torch.Tensor, used: tuple[int, ...]) -> torch.Tensor:
        return sum(self.layers[number](inputs) for number in used)


def partly_used(worker: Worker, how: str, keeps_zeros: bool) -> tuple[State, dict[str, Any]]:
    """Layer 0 is used by all, 1 by one worker in turn, 2 by none, 3 is frozen for some steps."""
    torch.manual_seed(worker.rank)
    model = Branches()
    optimizer = torch.optim.SGD(model.parameters(), **MOMENTUM, weight_decay=0.1)
    model.layers[3].requires_grad_(how == "ddp")  # DDP must see all parameters that it averages.
    stream = batches("mlp", worker.rank, worker.workers)
    with door(worker, how, model, optimizer) as (called, _):
        for step in range(8):
            model.layers[3].requires_grad_(step >= 3)
            used = (0, 1, 3) if step % worker.workers == worker.rank else (0, 3)
            inputs, targets = next(stream)
            cross_entropy(called(inputs, used), targets).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=not keeps_zeros)
        return state_of(model), optimizer.state_dict()


def adversaries(worker: Worker, how: str) -> State:
    """Two optimizers; the backward of one also reaches the parameters of the other."""
    torch.manual_seed(worker.rank)
    model = nn.ModuleDict({"maker": nn.Linear(20, 20), "judge": nn.Linear(20, 4)})
    makers = torch.optim.Adam(model["maker"].parameters(), lr=0.01)
    judges = torch.optim.SGD(model["judge"].parameters(), **MOMENTUM)
    if how == "ddp":
        maker = nn.parallel.DistributedDataParallel(model["maker"])
        judge = nn.parallel.DistributedDataParallel(model["judge"])
        return _adversarial(worker, model, maker, judge, makers, judges)
    with door(worker, how, model, makers, judges):
        return _adversarial(worker, model, model["maker"], model["judge"], makers, judges)


def _adversarial(
    worker: Worker,
    model: nn.Module,
    maker: nn.Module,
    judge: nn.Module,
    makers: torch.optim.Optimizer,
    judges: torch.optim.Optimizer,
) -> State:
    for inputs, targets in islice(batches("mlp", worker.rank, worker.workers), 5):
        judges.zero_grad()
        cross_entropy(judge(maker(inputs).detach()), targets).backward()
        judges.step()
        makers.zero_grad()
        (-cross_entropy(judge(maker(inputs)), targets)).backward()
        makers.step()
    return state_of(model)


def with_closure(worker: Worker, how: str) -> tuple[State, list[float]]:
    """`step(closure)` returns the loss."""
    model = mlp(worker)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    with door(worker, how, model, optimizer) as (called, _):
        for batch in islice(batches("mlp", worker.rank, worker.workers), 6):

            def closure(batch: Any = batch, called: nn.Module = called) -> torch.Tensor:
                optimizer.zero_grad()
                loss = cross_entropy(called(batch[0]), batch[1])
                loss.backward()
                return loss

            losses.append(float(optimizer.step(closure)))
        return state_of(model), losses


def averaged_weights(worker: Worker, how: str) -> tuple[State, State]:
    """An average of weights from a deep copy of the model, put in for an evaluation on rank 0."""
    torch.manual_seed(worker.rank)
    model = nn.Sequential(nn.Linear(20, 8), nn.BatchNorm1d(8), nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), **MOMENTUM)
    with door(worker, how, model, optimizer) as (called, _):
        average = torch.optim.swa_utils.AveragedModel(model)
        for inputs, targets in islice(batches("mlp", worker.rank, worker.workers), 6):
            cross_entropy(called(inputs), targets).backward()
            optimizer.step()
            optimizer.zero_grad()
            average.update_parameters(model)
            if worker.rank == 0:
                _evaluate_with(model, average)
        pickled = io.BytesIO()
        torch.save(model, pickled)
        return state_of(model), state_of(average)


@torch.no_grad()
def _evaluate_with(model: nn.Module, average: nn.Module) -> None:
    kept = [parameter.clone() for parameter in model.parameters()]
    for parameter, other in zip(model.parameters(), average.parameters(), strict=True):
        parameter.copy_(other)
    average(torch.zeros(4, 20))
    for parameter, value in zip(model.parameters(), kept, strict=True):
        parameter.copy_(value)


def continued(worker: Worker, before: str, after: str) -> tuple[list[float], State, dict[str, Any]]:
    """Saves a checkpoint after 5 steps and continues in a new program, with other doors."""
    training = Training(optimizer="AdamW", options={"lr": 0.01}, steps=5, is_scheduled=True)
    model = training.initial_model(worker.rank)
    optimizer = training.optimizer_of(model)
    with _named_door(worker, before, model, optimizer, "before") as called:
        training.run(called, optimizer, worker.rank, worker.workers)
        saved = io.BytesIO()
        torch.save((model.state_dict(), optimizer.state_dict()), saved)
    model = training.initial_model(7 + worker.rank)
    optimizer = training.optimizer_of(model)
    with _named_door(worker, after, model, optimizer, "after") as called:
        saved.seek(0)
        for part, state in zip((model, optimizer), torch.load(saved), strict=True):
            part.load_state_dict(state)
        losses = training.run(called, optimizer, worker.rank, worker.workers)
        return losses, state_of(model), optimizer.state_dict()


@contextmanager
def _named_door(
    worker: Worker, how: str, model: nn.Module, optimizer: torch.optim.Optimizer, name: str
) -> Iterator[nn.Module]:
    if how == "ddp":
        yield nn.parallel.DistributedDataParallel(model)
        return
    with attach(model, optimizer, service=worker.service(name), mode=how):  # type: ignore[arg-type]
        yield model


def closed(worker: Worker, how: str) -> tuple[State, dict[str, Any]]:
    """Trains on alone with its own optimizer after five steps."""
    training = Training(options=MOMENTUM, steps=5)
    model = training.initial_model(worker.rank)
    optimizer = training.optimizer_of(model)
    with door(worker, how, model, optimizer) as (called, _):
        training.run(called, optimizer, worker.rank, worker.workers)
    training.run(copy.copy(model), optimizer, 0, 1)
    return state_of(model), optimizer.state_dict()


def pushes(worker: Worker, accumulate: int) -> list[int]:
    """The number of gradients sent in each step with the optimizer on the Aggregators."""
    model = nn.Linear(20, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    service: Any = worker.service()
    counts = []
    stream = batches("mlp", worker.rank, worker.workers)
    with attach(model, optimizer, service=service, mode="aggregators"):
        for _ in range(4):
            before = len([each for each in service.sent if each[0] == "push"])
            for _ in range(accumulate):
                inputs, targets = next(stream)
                cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            optimizer.zero_grad()
            counts.append(len([each for each in service.sent if each[0] == "push"]) - before)
    return counts


def requests(worker: Worker) -> list[str]:
    """What a `backward` of a small layer after a large one asks of the service."""
    model = nn.Sequential(nn.Linear(8, slots.LARGE_BYTES // 32, bias=False), nn.Flatten())
    model.append(nn.Linear(slots.LARGE_BYTES // 32, 1, bias=False))
    service = worker.service()
    found: list[str] = []
    for name in ("push", "mean"):
        call = getattr(service, name)

        def noted(tensor: int, *rest: Any, name: str = name, call: Any = call) -> Any:
            found.append(f"{name} {tensor}")
            return call(tensor, *rest)

        setattr(service, name, noted)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with attach(model, optimizer, service=service, mode="averaged"):
        found.clear()
        model(torch.ones(2, 8)).sum().backward()
    return found


def fails(worker: Worker, spoil: Callable[[nn.Module, torch.optim.Optimizer], None]) -> str:
    """The message with which the fourth step ends, if something is spoilt before it."""
    model = mlp(worker)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    stream = batches("mlp", worker.rank, worker.workers)
    with attach(model, optimizer, service=worker.service(), mode="aggregators"):
        for step in range(4):
            inputs, targets = next(stream)
            cross_entropy(model(inputs), targets).backward()
            if step == 3:
                spoil(model, optimizer)
            try:
                optimizer.step()
            except MotetError as error:
                return f"step {step + 1}: {error}"
            optimizer.zero_grad()
    return ""


def clip(model: nn.Module, _: torch.optim.Optimizer) -> None:
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)


def drop_gradient(model: nn.Module, _: torch.optim.Optimizer) -> None:
    model.layers[0].weight.grad = None


@torch.no_grad()
def shrink_weights(model: nn.Module, _: torch.optim.Optimizer) -> None:
    model.layers[0].weight.mul_(0.5)


def add_group(_: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(1))]})


def told_changes(worker: Worker, how: str) -> State:
    """Shrinks weights after every step, and says so."""
    model = mlp(worker)
    optimizer = torch.optim.SGD(model.parameters(), **MOMENTUM)
    with door(worker, how, model, optimizer) as (called, attachment):
        for inputs, targets in islice(batches("mlp", worker.rank, worker.workers), 6):
            cross_entropy(called(inputs), targets).backward()
            optimizer.step()
            optimizer.zero_grad()
            shrink_weights(model, optimizer)
            if attachment:
                attachment.parameters_changed()
        return state_of(model)


def shrinks_weights(worker: Worker, how: str) -> tuple[State, str]:
    """Shrinks weights after every step, and does not say so."""
    model = mlp(worker)
    optimizer = torch.optim.SGD(model.parameters(), **MOMENTUM)
    with door(worker, how, model, optimizer) as (called, attachment):
        for inputs, targets in islice(batches("mlp", worker.rank, worker.workers), 6):
            cross_entropy(called(inputs), targets).backward()
            optimizer.step()
            optimizer.zero_grad()
            shrink_weights(model, optimizer)
        return state_of(model), attachment.mode if attachment else ""


def continued_steps(worker: Worker, mode: str) -> list[int]:
    """The steps of the model at first and after each of five; rank 0 has a checkpoint."""
    model = mlp(worker)
    optimizer = torch.optim.SGD(model.parameters(), **MOMENTUM)
    done = 7 if worker.rank else MANY_STEPS
    service = worker.service()
    with attach(model, optimizer, service=service, mode=mode, steps_done=done) as attachment:  # type: ignore[arg-type]
        found = [attachment.steps_done]
        for inputs, targets in islice(batches("mlp", worker.rank, worker.workers), 5):
            cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            optimizer.zero_grad()
            found.append(attachment.steps_done)
    return found


def came_back(worker: Worker, mode: str) -> tuple[list[float], State] | str:
    """A worker that is alone in its job trains five steps, and a new program five more."""
    training = Training(options=MOMENTUM, steps=5, has_two_groups=True)
    for seed in (0, 1):
        model = training.initial_model(seed)
        optimizer = training.optimizer_of(model)
        service = worker.any_service(job=f"{worker.job}-{worker.rank}", rank=0, workers=1)
        try:
            attach(model, optimizer, service=service, mode=mode)  # type: ignore[arg-type]
        except MotetError as error:
            return str(error)
        losses = training.run(model, optimizer, 0, 1)
    return losses, state_of(model)


def alone(worker: Worker) -> tuple[list[float], State]:
    """The same in one program without Motet."""
    training = Training(options=MOMENTUM, steps=5, has_two_groups=True)
    model = training.initial_model(0)
    optimizer = training.optimizer_of(model)
    for _ in range(2):
        losses = training.run(model, optimizer, 0, 1)
    return losses, state_of(model)
