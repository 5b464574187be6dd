"""A segment of shared memory: an anonymous file, mapped here and by peers."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Bytes
from motet.domain.errors import MotetError
from motet.transport.backends.free_list import FreeList
from motet.transport.framing import Reference

SEGMENT_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
"""What every segment must be sealed against: access to one that shrank would kill the process."""


@dataclass(frozen=True, eq=False)
class Segment:
    """A segment mapped at `address`; peers map its file `descriptor`."""

    number: int
    descriptor: int
    memory: mmap.mmap
    address: int
    free: FreeList

    @property
    def size_bytes(self) -> int:
        """Size of the whole segment."""
        return len(self.memory)


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a segment that is in use."""

    segment: Segment
    offset: int
    size_bytes: int

    def view(self, size_bytes: int) -> Bytes:
        """Return its first bytes."""
        return np.frombuffer(self.segment.memory, np.uint8, size_bytes, self.offset)

    def empty(self) -> None:
        """Free its pages in all processes; it can still be used and then contains zeros."""
        self.segment.memory.madvise(mmap.MADV_REMOVE, self.offset, self.size_bytes)

    def discard(self) -> None:
        """As `empty`, of a region that is not used again, also in a process that is locked into
        memory: the system removes no locked pages."""
        address = self.segment.address + self.offset
        ctypes.CDLL(None).munlock(ctypes.c_void_p(address), ctypes.c_size_t(self.size_bytes))
        self.empty()

    def reference(self, size_bytes: int) -> Reference:
        """Return its first bytes as a reference for the server."""
        return Reference(self.segment.number, self.offset, size_bytes)


def create_segment(number: int, size_bytes: int) -> Segment:
    """Create and map a segment without a name. Raises MotetError if the system refuses it."""
    try:
        descriptor = os.memfd_create("motet", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, size_bytes)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEGMENT_SEALS)
        memory = mmap.mmap(descriptor, size_bytes)
    except OSError as error:
        raise MotetError(f"cannot share {size_bytes} bytes of memory: {error.strerror}") from error
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return Segment(number, descriptor, memory, address, FreeList(size_bytes))
