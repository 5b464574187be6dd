"""Copies of a CUDA device through memory of the host that it accesses itself."""

from __future__ import annotations

import logging
import weakref
from typing import Any

import torch
from numpy.typing import NDArray

from motet.torch.array_views import moved_to
from motet.torch.staging.staging import CopyEnd

_PORTABLE = 1
"""cudaHostRegisterPortable: for all devices of the process."""
_log = logging.getLogger(__name__)


class CudaStaging:
    """Copies to the host run in a stream of their own, beside the kernels of `backward`.

    PyTorch's allocators use the memory of a tensor on the device, and pinned memory, again only
    when the copies that were queued for it have ended. Registered memory is released after all
    copies of the device.
    """

    is_direct = False

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)
        self._can_register = True

    def empty(self, shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
        """See Staging."""
        return torch.empty(shape, dtype=dtype, pin_memory=True)

    def register(self, memory: NDArray[Any]) -> bool:
        """See Staging. Where CUDA refuses it, tensors are copied once more, which is logged."""
        if not self._can_register:
            return False
        address = memory.ctypes.data
        refusal = torch.cuda.cudart().cudaHostRegister(address, memory.nbytes, _PORTABLE)
        if int(refusal):
            self._can_register = False
            _log.warning("CUDA registers no shared memory (%s): gradients are copied", refusal)
            return False
        weakref.finalize(memory, _release, self._device, address).atexit = False
        return True

    def fetch(self, source: torch.Tensor, into: torch.Tensor) -> CopyEnd:
        """See Staging. The device converts types, so that fewer bytes are copied."""
        plain = source.detach()
        if plain.device != self._device:
            raise moved_to(plain.device, self._device)
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        plain.record_stream(self._stream)
        # A thread that waits for it leaves its core to the Aggregators of this host.
        end: CopyEnd = torch.cuda.Event(blocking=True)
        with torch.cuda.stream(self._stream):
            into.copy_(plain.to(into.dtype).contiguous(), non_blocking=True)
            self._stream.record_event(end)
        return end

    def store(self, source: torch.Tensor, into: torch.Tensor) -> CopyEnd:
        """See Staging. The device converts types: `copy_` alone would do it on the host."""
        if source.dtype != into.dtype:
            source = source.to(into.device, non_blocking=True)
        into.copy_(source, non_blocking=True)
        end: CopyEnd = torch.cuda.current_stream(self._device).record_event()
        return end


def _release(device: torch.device, address: int) -> None:
    torch.cuda.synchronize(device)
    torch.cuda.cudart().cudaHostUnregister(address)
