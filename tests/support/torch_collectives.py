"""Collective operations, and DistributedDataParallel, over a process group of any backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import distributed, nn

import motet.torch.distributed
from torch_training import Trained, Training, differences
from torch_workers import Worker

Operation = Callable[[torch.Tensor, Any, int], Any]


@contextmanager
def group_of(worker: Worker, backend: str) -> Iterator[Any]:
    """A process group; that of `motet` is new and gets its Aggregators from the worker."""
    if backend == "gloo":  # The default; to destroy one of its own can hang in PyTorch.
        yield distributed.group.WORLD
        return
    motet.torch.distributed.register()
    with mock.patch("motet.torch.discovery.service_of_environment", worker.any_service):
        group = distributed.new_group(backend=backend)
    try:
        yield group
    finally:
        distributed.destroy_process_group(group)


def train_over(worker: Worker, backend: str, training: Training) -> Trained:
    """DistributedDataParallel, with small buckets."""
    model = training.initial_model(worker.rank)
    with group_of(worker, backend) as group:
        wrapped = nn.parallel.DistributedDataParallel(
            model, process_group=group, bucket_cap_mb=0.001, find_unused_parameters=True
        )
        optimizer = training.optimizer_of(model)
        losses = training.run(wrapped, optimizer, worker.rank, worker.workers)
    return Trained(losses, dict(model.state_dict()), optimizer.state_dict())


def _reduced(operation: distributed.ReduceOp.RedOpType) -> Operation:
    def run(tensor: torch.Tensor, group: Any, rank: int) -> torch.Tensor:
        distributed.all_reduce(tensor, operation, group=group)
        return tensor

    return run


def _reduced_to_one(tensor: torch.Tensor, group: Any, rank: int) -> torch.Tensor:
    distributed.reduce(tensor, 1, group=group)
    return tensor if rank == 1 else torch.zeros(())


def _broadcast(tensor: torch.Tensor, group: Any, rank: int) -> torch.Tensor:
    distributed.broadcast(tensor, 1, group=group)
    return tensor


def _gathered(tensor: torch.Tensor, group: Any, rank: int) -> list[torch.Tensor]:
    found = [torch.empty_like(tensor) for _ in range(distributed.get_world_size(group))]
    distributed.all_gather(found, tensor, group=group)
    return found


def _gathered_in_one(tensor: torch.Tensor, group: Any, rank: int) -> torch.Tensor:
    found = torch.empty(distributed.get_world_size(group) * tensor.numel(), dtype=tensor.dtype)
    distributed.all_gather_into_tensor(found, tensor.reshape(-1), group=group)
    return found


def _scattered(tensor: torch.Tensor, group: Any, rank: int) -> torch.Tensor:
    found = torch.empty_like(tensor).contiguous()
    parts = [tensor.contiguous() * (other + 1) for other in range(2)]
    distributed.reduce_scatter(found, parts, group=group)
    return found


def _later(tensor: torch.Tensor, group: Any, rank: int) -> list[torch.Tensor]:
    both = [tensor, tensor + 1]
    for work in [distributed.all_reduce(each, group=group, async_op=True) for each in both]:
        work.wait()
    return both


def _objects(tensor: torch.Tensor, group: Any, rank: int) -> list[Any]:
    found: list[Any] = [None, None]
    distributed.all_gather_object(found, {"rank": rank, "text": "x" * rank}, group=group)
    sent = [f"of {rank}"]
    distributed.broadcast_object_list(sent, 1, group=group)
    distributed.barrier(group=group)
    return found + sent


_OP = distributed.ReduceOp
OPERATIONS: dict[str, Operation] = {
    "sum": _reduced(_OP.SUM),
    "max": _reduced(_OP.MAX),
    "min": _reduced(_OP.MIN),
    "product": _reduced(_OP.PRODUCT),
    "reduce": _reduced_to_one,
    "broadcast": _broadcast,
    "gather": _gathered,
    "gather in one": _gathered_in_one,
    "reduce_scatter": _scattered,
    "async": _later,
    "objects": _objects,
}
SHAPES = ((), (3, 5), (5_000,))
DTYPES = (torch.float32, torch.float64, torch.int64, torch.bfloat16)


def compare_with_gloo(worker: Worker) -> list[str]:
    """The operations whose results differ from those of gloo."""
    different = []
    with group_of(worker, "gloo") as gloo, group_of(worker, "motet") as own:
        for name, operation in OPERATIONS.items():
            for shape in SHAPES:
                for dtype in DTYPES:
                    generator = torch.Generator().manual_seed(worker.rank)
                    tensor = (torch.randn(shape, generator=generator) * 4).to(dtype).T
                    copies = [tensor.clone(), tensor.clone()]
                    results = [
                        operation(copy, group, worker.rank)
                        for copy, group in zip(copies, (gloo, own), strict=True)
                    ]
                    versions = [copy._version for copy in copies]
                    if differences(*results) or differences(*versions):
                        different.append(f"{name} {shape} {dtype} {versions}")
        with_mean = torch.tensor([worker.rank, 2.5])
        distributed.all_reduce(with_mean, _OP.AVG, group=own)
        different += differences(with_mean, torch.tensor([0.5, 2.5]), "mean")
    return different


def refused(worker: Worker) -> list[str]:
    """The messages of operations that a group over Aggregators has not."""
    tensor = torch.ones(2)
    calls: list[Callable[[Any], Any]] = [
        lambda group: distributed.send(tensor, 1 - worker.rank, group=group),
        lambda group: distributed.recv(tensor, 1 - worker.rank, group=group),
        lambda group: distributed.all_to_all_single(tensor.clone(), tensor, group=group),
        lambda group: distributed.scatter(tensor, None, 1 - worker.rank, group=group),
        lambda group: distributed.all_reduce(torch.ones(2).int(), _OP.BXOR, group=group),
    ]
    messages = []
    with group_of(worker, "motet") as group:
        for call in calls:
            try:
                call(group)
            except Exception as error:
                messages.append(str(error))
            else:
                messages.append("")
    return messages
