from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from torch import nn

from motet.torch.buffers import broadcast_buffers
from torch_staging import SlowStaging, slow_device


class Source:
    """The service of the worker whose arrays are sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def broadcast(self, arrays: list[Any], fill: Callable[[], None]) -> bool:
        fill()
        self.sent = [np.array(array) for array in arrays]
        return False


class Receiver:
    """The service of another worker, which receives sevens."""

    def broadcast(self, arrays: list[Any], fill: Callable[[], None]) -> bool:
        for array in arrays:
            array[...] = 7
        return True


@pytest.fixture
def model() -> nn.Module:
    found = nn.BatchNorm2d(3)
    found.register_buffer("turned", torch.arange(6.0).reshape(2, 3).T)
    return found


def test_the_source_sends_its_buffers_and_stores_nothing(model: nn.Module) -> None:
    source = Source()
    stores_nothing = mock.patch.object(SlowStaging, "store", side_effect=AssertionError)
    with slow_device(), stores_nothing:
        broadcast_buffers(source, model)  # type: ignore[arg-type]
    for buffer, sent in zip(model.buffers(), source.sent, strict=True):
        assert np.array_equal(buffer.numpy(), sent)


def test_other_workers_fetch_nothing_and_versions_stay(model: nn.Module) -> None:
    versions = [buffer._version for buffer in model.buffers()]
    fetches_nothing = mock.patch.object(SlowStaging, "fetch", side_effect=AssertionError)
    with slow_device(), fetches_nothing:
        broadcast_buffers(Receiver(), model)  # type: ignore[arg-type]
    assert all((buffer == 7).all() for buffer in model.buffers())
    assert [buffer._version for buffer in model.buffers()] == versions


def test_a_buffer_on_the_cpu_is_received_in_its_own_memory_layout(model: nn.Module) -> None:
    source = Source()
    broadcast_buffers(source, model)  # type: ignore[arg-type]
    for buffer, sent in zip(model.buffers(), source.sent, strict=True):
        assert np.array_equal(buffer.numpy(), sent)
    broadcast_buffers(Receiver(), model)  # type: ignore[arg-type]
    assert all((buffer == 7).all() for buffer in model.buffers())
