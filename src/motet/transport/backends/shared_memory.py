"""Memory that a client shares with the servers on its host.

Segments are anonymous files (`memfd_create`) whose descriptors travel over the unix socket. They
have no name anywhere, so a process that is killed leaves nothing behind.
"""

from __future__ import annotations

import ctypes
import fcntl
import itertools
import math
import mmap
import os
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from motet.domain.arrays import Bytes
from motet.domain.errors import MotetError
from motet.transport.backends.free_list import FreeList, page_rounded
from motet.transport.framing import ProtocolError, Reference

SEGMENT_BYTES = 64 << 20
KEEP_BYTES = 256 << 20
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


@dataclass(frozen=True, eq=False)
class Segment:
    """A stretch of shared memory: mapped at `address`; `descriptor` is what peers map."""

    number: int
    descriptor: int
    memory: mmap.mmap
    address: int
    free: FreeList

    @property
    def size_bytes(self) -> int:
        """Its size."""
        return len(self.memory)


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a segment that is in use."""

    segment: Segment
    offset: int
    size_bytes: int

    def view(self, size_bytes: int) -> Bytes:
        """Its first bytes."""
        return np.frombuffer(self.segment.memory, np.uint8, size_bytes, self.offset)

    def reference(self, size_bytes: int) -> Reference:
        """How to tell a server about its first bytes."""
        return Reference(self.segment.number, self.offset, size_bytes)


class Arena:
    """Arrays that servers on the same host can read and write directly.

    One per process, shared by its connections. Memory of arrays that are gone is used again. A
    segment is created when the others are full; one that is unused goes away once more than
    `keep_bytes` lie unused.
    """

    def __init__(self, segment_bytes: int = SEGMENT_BYTES, keep_bytes: int = KEEP_BYTES) -> None:
        self._segment_bytes = segment_bytes
        self._keep_bytes = keep_bytes
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._segments: dict[int, Segment] = {}
        self._returned: deque[Region] = deque()
        self._quarantine: list[object] = []
        self._is_closed = False

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """An array with arbitrary content; its memory is used again once nobody refers to it."""
        kind = np.dtype(dtype)
        count = shape if isinstance(shape, int) else math.prod(shape)
        region = self.take(max(count * kind.itemsize, 1))
        owner = (ctypes.c_char * region.size_bytes).from_buffer(
            region.segment.memory, region.offset
        )
        weakref.finalize(owner, self.give_back, region).atexit = False
        values: NDArray[Any] = np.frombuffer(memoryview(owner), kind, count)
        return values.reshape(shape)

    def take(self, size_bytes: int) -> Region:
        """A region for somebody who will `give_back`."""
        size_bytes = page_rounded(size_bytes)
        with self._lock:
            self._collect()
            for segment in self._segments.values():
                offset = segment.free.take(size_bytes)
                if offset is not None:
                    return Region(segment, offset, size_bytes)
            segment = _create_segment(next(self._numbers), max(size_bytes, self._segment_bytes))
            self._segments[segment.number] = segment
            segment.free.take(size_bytes)
            return Region(segment, 0, size_bytes)

    def give_back(self, region: Region) -> None:
        """The region may be used again. Safe anywhere, also in a finalizer."""
        if not self._is_closed:
            self._returned.append(region)

    def find(self, view: memoryview) -> Reference | None:
        """Where a flat view lies in the arena, or None."""
        size_bytes = len(view)
        if not size_bytes:
            return None
        if view.readonly:  # what this hands out can be written to
            return None
        address = ctypes.addressof(ctypes.c_char.from_buffer(view))
        for segment in list(self._segments.values()):
            offset = address - segment.address
            if offset >= 0 and offset + size_bytes <= segment.size_bytes:
                return Reference(segment.number, offset, size_bytes)
        return None

    def segment(self, number: int) -> Segment:
        """A segment by number."""
        return self._segments[number]

    @property
    def segment_numbers(self) -> frozenset[int]:
        """The segments there are."""
        return frozenset(self._segments)

    def quarantine(self, memory: object) -> None:
        """Never use this memory again: a server that was cut off might still write to it."""
        self._quarantine.append(memory)

    def close(self) -> None:
        """Let go of everything; arrays that are still referred to stay valid."""
        self._is_closed = True
        with self._lock:
            segments = list(self._segments.values())
            self._segments.clear()
            self._returned.clear()
            self._quarantine.clear()
        for segment in segments:
            os.close(segment.descriptor)

    def _collect(self) -> None:
        """Take in what was returned; drop segments if too much lies unused."""
        if not self._returned:
            return
        while self._returned:
            region = self._returned.popleft()
            region.segment.free.give_back(region.offset, region.size_bytes)
        unused = [s for s in self._segments.values() if s.free.is_unused]
        unused_bytes = sum(segment.size_bytes for segment in unused)
        while unused and unused_bytes > self._keep_bytes:
            segment = unused.pop()
            unused_bytes -= segment.size_bytes
            del self._segments[segment.number]
            os.close(segment.descriptor)


class MappedSegments:
    """A server's view of one client's segments."""

    def __init__(self) -> None:
        self._mapped: dict[int, Bytes] = {}

    def attach(self, reference: Reference, descriptor: int) -> None:
        """Map a segment and close its descriptor. Raises ProtocolError if it is not sealed.

        A segment that could shrink would kill this process on the next access.
        """
        try:
            seals = fcntl.fcntl(descriptor, fcntl.F_GET_SEALS)
            if seals & _SEALS != _SEALS or os.fstat(descriptor).st_size != reference.length:
                raise ProtocolError("a client announced a segment that is not sealed to its size")
            memory = mmap.mmap(descriptor, reference.length)
        except OSError as error:
            raise ProtocolError(f"a client's segment cannot be mapped: {error}") from error
        finally:
            os.close(descriptor)
        self._mapped[reference.segment] = np.frombuffer(memory, np.uint8)

    def detach(self, number: int) -> None:
        """Forget a segment; it is unmapped once no request refers to it."""
        self._mapped.pop(number, None)

    def close(self) -> None:
        """Forget all."""
        self._mapped.clear()

    def view(self, reference: Reference) -> Bytes:
        """The bytes that a client refers to. Raises ProtocolError if it never shared them."""
        mapped = self._mapped.get(reference.segment)
        end = reference.offset + reference.length
        if mapped is None or end > len(mapped):
            raise ProtocolError(f"a client refers to memory that it did not share: {reference}")
        return mapped[reference.offset : end]


def gather(sources: Sequence[memoryview], target: Bytes) -> None:
    """Copy sources one behind the other; other threads run meanwhile."""
    offset = 0
    for source in sources:
        end = offset + len(source)
        np.copyto(target[offset:end], np.frombuffer(source, np.uint8))
        offset = end


def scatter(source: Bytes, targets: Sequence[memoryview]) -> None:
    """The inverse of `gather`."""
    offset = 0
    for target in targets:
        end = offset + len(target)
        np.copyto(np.frombuffer(target, np.uint8), source[offset:end])
        offset = end


def transfer(sources: Sequence[memoryview], targets: Sequence[Bytes]) -> None:
    """Copy between two divisions of the same number of bytes."""
    if len(targets) == 1:
        gather(sources, targets[0])
        return
    if len(sources) == 1:
        scatter(np.frombuffer(sources[0], np.uint8), [target.data for target in targets])
        return
    joined = np.concatenate([np.frombuffer(source, np.uint8) for source in sources])
    scatter(joined, [target.data for target in targets])


def _create_segment(number: int, size_bytes: int) -> Segment:
    try:
        descriptor = os.memfd_create("motet", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, size_bytes)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        memory = mmap.mmap(descriptor, size_bytes)
    except OSError as error:
        raise MotetError(f"cannot share {size_bytes} bytes of memory: {error.strerror}") from error
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return Segment(number, descriptor, memory, address, FreeList(size_bytes))
