"""Programs whose models are on a GPU, which the workers share: over gloo, and on Aggregators."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch import distributed, nn
from torch.nn.functional import cross_entropy

from motet.torch import attach
from motet.torch.staging.devices import staging_of
from torch_collectives import DTYPES, SHAPES, group_of, train_over
from torch_training import Training, batches, differences, train_attached, train_over_ddp
from torch_workers import Worker

State = dict[str, Any]


def deterministic() -> None:
    """Kernels that add in one order; TF32 is off by default."""
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.use_deterministic_algorithms(True)


def on_cpu(value: Any) -> Any:
    """Nested values with tensors that can be sent to another process."""
    if torch.is_tensor(value):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return {key: on_cpu(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [on_cpu(each) for each in value]
    return value


def devices(value: Any) -> dict[str, str]:
    """The types of devices of nested tensors, by the last key on the way to them."""
    if not isinstance(value, dict):
        return {}
    found = {str(key): each.device.type for key, each in value.items() if torch.is_tensor(each)}
    for each in value.values():
        found |= devices(each)
    return found


def over_ddp(worker: Worker, training: Training, **options: Any) -> State:
    deterministic()
    return _comparable(vars(train_over_ddp(worker, training, **options)))


def attached(worker: Worker, training: Training, mode: str, **options: Any) -> State:
    deterministic()
    return _comparable(vars(train_attached(worker, training, mode, **options)))


def over_backend(worker: Worker, backend: str, training: Training) -> State:
    """DistributedDataParallel over a process group of a backend."""
    deterministic()
    return _comparable(vars(train_over(worker, backend, training)))


def _comparable(found: State) -> State:
    devices_of_state = devices(found["optimizer"]["state"])
    return {**on_cpu(found), "devices": devices_of_state}


def on_two_devices(worker: Worker, how: str, mode: str) -> list[float]:
    """A model whose first layer is on the CPU and whose second one on the GPU."""
    deterministic()
    torch.manual_seed(0)
    first, second = nn.Linear(20, 16), nn.Linear(16, 4).cuda()
    model = nn.ModuleList([first, second])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
    losses = []

    def train(end_backward: Callable[[], None]) -> None:
        stream = batches("mlp", worker.rank, worker.workers)
        for _ in range(6):
            inputs, targets = next(stream)
            loss = cross_entropy(second(first(inputs).relu().cuda()), targets.cuda())
            loss.backward()
            end_backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())

    def average() -> None:
        for parameter in model.parameters():
            assert parameter.grad is not None
            distributed.all_reduce(parameter.grad)
            parameter.grad /= worker.workers

    if how == "gloo":
        train(average)
    else:
        with attach(model, optimizer, service=worker.service(), mode=mode):  # type: ignore[arg-type]
            train(lambda: None)
    return losses


def checkpointed(worker: Worker, how: str) -> State:
    """Loads a checkpoint of its own after four steps, and goes on."""
    deterministic()
    training = Training(device="cuda", optimizer="Adam", options={"lr": 0.01}, steps=4)
    model = training.initial_model(worker.rank)
    optimizer = training.optimizer_of(model)
    with attach(model, optimizer, service=worker.service(), mode=how):  # type: ignore[arg-type]
        losses = training.run(model, optimizer, worker.rank, worker.workers)
        state = on_cpu(model.state_dict()), on_cpu(optimizer.state_dict())
        expected = training.run(model, optimizer, worker.rank, worker.workers)
        model.load_state_dict(state[0])
        optimizer.load_state_dict(state[1])
        losses = training.run(model, optimizer, worker.rank, worker.workers)
        return {"expected": expected, "losses": losses, "model": on_cpu(model.state_dict())}


def registrations(worker: Worker) -> list[bool]:
    """Whether memory of the same place is registered: while there is an array, after it, anew."""
    service = worker.service()
    staging = staging_of(torch.device("cuda", 0))
    found = []
    first = service.empty(1 << 20, "uint8")
    place = first.ctypes.data
    assert staging.register(first)
    found.append(torch.from_numpy(first).is_pinned())
    del first
    second = service.empty(1 << 20, "uint8")
    assert second.ctypes.data == place
    found.append(torch.from_numpy(second).is_pinned())
    assert staging.register(second)
    found.append(torch.from_numpy(second).is_pinned())
    return found


def compare_collectives(worker: Worker) -> list[str]:
    """Operations on tensors of the GPU whose results differ from those of gloo on the CPU."""
    operations: dict[str, Callable[[torch.Tensor, Any], Any]] = {
        "sum": _sum,
        "broadcast": _broadcast,
        "gather": _gather,
        "scatter": _scatter,
    }
    different = []
    with group_of(worker, "gloo") as gloo, group_of(worker, "motet") as own:
        for name, operation in operations.items():
            for shape in SHAPES:
                for dtype in DTYPES:
                    generator = torch.Generator().manual_seed(worker.rank)
                    tensor = (torch.randn(shape, generator=generator) * 4).to(dtype).T
                    expected = operation(tensor.clone(), gloo)
                    if differences(expected, on_cpu(operation(tensor.cuda(), own))):
                        different.append(f"{name} {shape} {dtype}")
        if not _is_in_stream_order(own):
            different.append("order of streams")
    return different


def _sum(tensor: torch.Tensor, group: Any) -> torch.Tensor:
    distributed.all_reduce(tensor, group=group)
    return tensor


def _broadcast(tensor: torch.Tensor, group: Any) -> torch.Tensor:
    distributed.broadcast(tensor, 1, group=group)
    return tensor


def _gather(tensor: torch.Tensor, group: Any) -> list[torch.Tensor]:
    found = [torch.empty_like(tensor) for _ in range(2)]
    distributed.all_gather(found, tensor, group=group)
    return found


def _scatter(tensor: torch.Tensor, group: Any) -> torch.Tensor:
    found = torch.empty_like(tensor).contiguous()
    distributed.reduce_scatter(
        found, [tensor.contiguous() * (other + 1) for other in range(2)], group=group
    )
    return found


def _is_in_stream_order(group: Any) -> bool:
    """An operation comes after the kernels before it, and before those after it."""
    with torch.cuda.stream(torch.cuda.Stream()):
        long = torch.ones(4096, 4096, device="cuda")
        tensor = torch.zeros(1 << 20, device="cuda")
        for _ in range(20):
            long = (long @ long) * (1 / 4096)
        tensor += long[0, 0]
        work = distributed.all_reduce(tensor, group=group, async_op=True)
        work.wait()
        tensor *= 2
        torch.cuda.current_stream().synchronize()
        return bool((tensor == 4).all())
