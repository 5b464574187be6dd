"""Where tensors lie on their way between a device and Aggregators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from numpy.typing import NDArray

from motet.aggregation.agent.collected_requests import ALONE_FROM_BYTES
from motet.torch.array_views import array_of
from motet.torch.staging.host_memory import AlternatingMemory, HostMemory
from motet.torch.staging.staging import HostStaging
from motet.transport import Arena

LARGE = torch.Size([3, ALONE_FROM_BYTES // 4])
SMALL = torch.Size([ALONE_FROM_BYTES // 4 - 1])


class Shared:
    """A service whose memory is that of an arena."""

    def __init__(self, arena: Arena) -> None:
        self.empty = arena.empty


class Refusing(HostStaging):
    """A device that cannot access memory which others share."""

    def register(self, memory: NDArray[Any]) -> bool:
        return False


@pytest.fixture
def arena() -> Iterator[Arena]:
    arena = Arena()
    yield arena
    arena.close()


def is_shared(arena: Arena, tensor: torch.Tensor) -> bool:
    return arena.find(array_of(tensor).data.cast("B")) is not None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_large_tensors_are_shared_with_aggregators(arena: Arena, dtype: torch.dtype) -> None:
    memory = HostMemory(Shared(arena))  # type: ignore[arg-type]
    tensor = memory.empty(HostStaging(), LARGE, dtype)
    assert (tensor.shape, tensor.dtype, tensor.is_contiguous()) == (LARGE, dtype, True)
    assert is_shared(arena, tensor)


def test_small_tensors_are_not_nor_those_that_the_device_cannot_access(arena: Arena) -> None:
    memory = HostMemory(Shared(arena))  # type: ignore[arg-type]
    assert not is_shared(arena, memory.empty(HostStaging(), SMALL, torch.float32))
    assert not is_shared(arena, memory.empty(Refusing(), LARGE, torch.float32))
    assert not is_shared(arena, HostMemory().empty(HostStaging(), LARGE, torch.float32))


def test_memory_is_used_again_after_what_was_sent_last() -> None:
    memory = AlternatingMemory()
    used = []
    for _ in range(6):
        piece = memory.take()
        used.append(torch.empty(1) if piece is None else piece)
        memory.sent(used[-1])
    places = [piece.data_ptr() for piece in used]
    assert places == [places[0], places[1]] * 3
    assert places[0] != places[1]
