"""Memory that a client lends to the servers on its host."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import threading
import weakref
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from motet.transport.backends.free_list import page_rounded
from motet.transport.backends.segment import Region, Segment, create_segment
from motet.transport.framing import Reference

SEGMENT_BYTES = 64 << 20
KEEP_BYTES = 256 << 20
LARGE_BYTES = 64 << 20


class Arena:
    """Allocates arrays that servers on the same host read and write directly. Thread-safe.

    One per process, shared by its connections. Memory of deleted arrays is reused; that of arrays
    of more than `large_bytes` goes back to the system at once. A segment is created when the others
    are full; unused segments are freed beyond `keep_bytes` in total. So 256 MB of unused segments
    may stay resident by default, and free memory of segments in use.
    """

    def __init__(
        self,
        segment_bytes: int = SEGMENT_BYTES,
        keep_bytes: int = KEEP_BYTES,
        large_bytes: int = LARGE_BYTES,
    ) -> None:
        self._segment_bytes = segment_bytes
        self._keep_bytes = keep_bytes
        self._large_bytes = large_bytes
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._segments: dict[int, Segment] = {}
        self._returned: deque[Region] = deque()
        self._quarantine: list[object] = []
        self._discarded: set[tuple[int, int]] = set()
        self._is_closed = False

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.uint8) -> NDArray[Any]:
        """Return an array with arbitrary content; its memory is reused after the last reference."""
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
        """Allocate a region; the caller returns it with `give_back`."""
        size_bytes = page_rounded(size_bytes)
        with self._lock:
            self._collect()
            for segment in self._segments.values():
                offset = segment.free.take(size_bytes)
                if offset is not None:
                    return Region(segment, offset, size_bytes)
            segment = create_segment(next(self._numbers), max(size_bytes, self._segment_bytes))
            self._segments[segment.number] = segment
            segment.free.take(size_bytes)
            return Region(segment, 0, size_bytes)

    def give_back(self, region: Region) -> None:
        """Free a region. Takes no lock, so that finalizers may call it."""
        if not self._is_closed:
            if self._discarded and self._is_discarded(region):
                region.discard()
                return
            if region.size_bytes > self._large_bytes:
                region.empty()
            self._returned.append(region)

    def find(self, view: memoryview) -> Reference | None:
        """Return where in the arena a flat view lies; None if outside or read-only."""
        size_bytes = len(view)
        if not size_bytes:
            return None
        if view.readonly:  # a server may write to what a reference names
            return None
        address = ctypes.addressof(ctypes.c_char.from_buffer(view))
        for segment in list(self._segments.values()):
            offset = address - segment.address
            if offset >= 0 and offset + size_bytes <= segment.size_bytes:
                return Reference(segment.number, offset, size_bytes)
        return None

    def segment(self, number: int) -> Segment:
        """Return a segment by number."""
        return self._segments[number]

    @property
    def segment_numbers(self) -> frozenset[int]:
        """Numbers of the segments that exist."""
        return frozenset(self._segments)

    def quarantine(self, memory: object) -> None:
        """Never reuse this memory: a disconnected server might still write to it."""
        self._quarantine.append(memory)

    def discard(self, view: memoryview) -> None:
        """Never reuse the array of this view either, and free its pages when nothing refers to it:
        a disconnected server might still write to it, but what it writes is not needed."""
        found = self.find(view)
        if found is not None:
            self._discarded.add((found.segment, found.offset))

    def close(self) -> None:
        """Drop all segments; arrays that still have references stay valid."""
        self._is_closed = True
        with self._lock:
            segments = list(self._segments.values())
            self._segments.clear()
            self._returned.clear()
            self._quarantine.clear()
        for segment in segments:
            os.close(segment.descriptor)

    def _is_discarded(self, region: Region) -> bool:
        """Whether a discarded view lies in it; the views exist no more."""
        end = region.offset + region.size_bytes
        inside = {
            place
            for place in tuple(self._discarded)
            if place[0] == region.segment.number and region.offset <= place[1] < end
        }
        self._discarded -= inside
        return bool(inside)

    def _collect(self) -> None:
        """Free the returned regions; drop segments if too many bytes are unused."""
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
