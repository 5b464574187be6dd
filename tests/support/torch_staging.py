"""A device that is slow: a copy to the host is made by `synchronize`, or by one of several `query`.

Its tensors are those of the CPU, so that a training through copies can be compared to the bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import Any
from unittest import mock

import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from motet.torch import attach, slots
from motet.torch.staging import host_memory
from motet.torch.staging.devices import STAGINGS
from torch_curves import State, state_of
from torch_training import Trained, Training, batches, train_attached
from torch_workers import Worker

LOOKS = 3
"""So often a copy is not there yet."""
LARGE_BYTES = 1024
"""Tensors of so many bytes are large."""


class SlowCopy:
    """A copy to the host."""

    def __init__(self, source: torch.Tensor, into: torch.Tensor) -> None:
        self._source, self._into = source, into
        self._version = source._version
        self._looks = 0
        self.is_done = False

    def query(self) -> bool:
        self._looks += 1
        if self._looks > LOOKS:
            self.synchronize()
        return self.is_done

    def synchronize(self) -> None:
        if not self.is_done:
            assert self._source._version == self._version, "changed before it was copied"
            self._into.copy_(self._source)
        self.is_done = True


class ReadOnly:
    """The host's memory of a copy to the device must not change before the copy has ended."""

    def __init__(self, memory: torch.Tensor) -> None:
        self._memory, self._kept = memory, memory.clone()

    def query(self) -> bool:
        self.synchronize()
        return True

    def synchronize(self) -> None:
        if self._kept is not None:
            assert torch.equal(self._memory, self._kept), "overwritten before it was read"
        self._kept = None


class SlowStaging:
    """Stands for the copies of a device."""

    is_direct = False

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stored: dict[int, ReadOnly] = {}

    def empty(self, shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype).fill_(-1)

    def register(self, memory: NDArray[Any]) -> bool:
        memory.fill(255)
        return True

    def fetch(self, source: torch.Tensor, into: torch.Tensor) -> SlowCopy:
        return SlowCopy(source.detach(), into)

    def store(self, source: torch.Tensor, into: torch.Tensor) -> ReadOnly:
        before = self._stored.get(source.data_ptr())
        assert before is None or before._kept is None, "overwritten without waiting"
        into.copy_(source)
        self._stored[source.data_ptr()] = end = ReadOnly(source)
        return end


@contextmanager
def slow_device() -> Iterator[None]:
    """Tensors of the CPU travel as those of a device."""
    staging = SlowStaging(torch.device("cpu"))
    with (
        mock.patch.dict(STAGINGS, {"cpu": lambda _: staging}),
        mock.patch.object(host_memory, "ALONE_FROM_BYTES", LARGE_BYTES),
        mock.patch.object(slots, "LARGE_BYTES", LARGE_BYTES),
    ):
        yield


def train_staged(worker: Worker, training: Training, mode: str, **options: Any) -> Trained:
    """Attached, with the parameters on such a device."""
    with slow_device():
        return train_attached(worker, training, mode, **options)


def two_passes(worker: Worker, *, is_staged: bool) -> State:
    """A program that calls a model with BatchNorm twice before one `backward`."""
    with slow_device() if is_staged else nullcontext():
        model = Training(model="cnn").initial_model(worker.rank)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with attach(model, optimizer, service=worker.service(), mode="averaged"):
            stream = batches("cnn", worker.rank, worker.workers)
            for (first, targets), (second, others) in islice(zip(stream, stream, strict=True), 3):
                losses = cross_entropy(model(first), targets), cross_entropy(model(second), others)
                sum(losses).backward()
                optimizer.step()
                optimizer.zero_grad()
            return state_of(model)
