"""The order of an operation on tensors of CUDA devices, which runs in another thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache
from typing import Any

import torch

from motet.torch.staging.devices import staging_of


class StreamOrder:
    """Runs an operation after what the caller's streams had queued when it was called.

    What the caller queues after it has waited for `future` comes after the operation.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._tensors = [tensor for tensor in tensors if tensor.is_cuda]
        self._devices = sorted({tensor.device for tensor in self._tensors}, key=str)
        self._queued = [torch.cuda.current_stream(each).record_event() for each in self._devices]
        self.future: Any = torch.futures.Future(devices=self._devices)

    def streams(self) -> AbstractContextManager[None]:
        """The streams of the operation; `future` is to be completed in them."""
        return self._streams() if self._devices else nullcontext()

    @contextmanager
    def _streams(self) -> Iterator[None]:
        with ExitStack() as stack:
            for device, queued in zip(self._devices, self._queued, strict=True):
                stream = _stream(device)
                stream.wait_event(queued)
                stack.enter_context(torch.cuda.stream(stream))
            for tensor in self._tensors:
                tensor.record_stream(_stream(tensor.device))
            yield


def on_host(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A contiguous copy in memory of the host."""
    staging = staging_of(tensor.device)
    copy = staging.empty(tensor.shape, dtype)
    staging.fetch(tensor.detach(), copy).synchronize()
    return copy


def overwrite(tensor: torch.Tensor, value: torch.Tensor) -> None:
    """Copy a value on the host to a tensor of any device; its version stays, as with gloo."""
    staging_of(tensor.device).store(value, tensor.data)


@cache
def _stream(device: torch.device) -> Any:
    return torch.cuda.Stream(device)
