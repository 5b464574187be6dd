"""Reusable receive buffers for large payloads: new memory costs a page fault per 4 KB."""

from __future__ import annotations

import threading

import numpy as np

KEEP_BYTES = 256 << 20
_SMALLEST_BYTES = 1 << 14


def size_class(payload_bytes: int) -> int:
    """Return the buffer size for a payload: the next of 1, 1.25, 1.5, 1.75 times a power of two.

    At least 16 KiB, and at most a quarter more than the payload.
    """
    if payload_bytes <= _SMALLEST_BYTES:
        return _SMALLEST_BYTES
    step = 1 << max((payload_bytes - 1).bit_length() - 3, 0)
    return -(-payload_bytes // step) * step


class BufferPool:
    """A pool of buffers by size class. Thread-safe; keeps at most `keep_bytes` of unused ones."""

    def __init__(self, keep_bytes: int = KEEP_BYTES) -> None:
        self._lock = threading.Lock()
        self._keep_bytes = keep_bytes
        self._unused: dict[int, list[memoryview]] = {}
        self._unused_bytes = 0

    @property
    def unused_bytes(self) -> int:
        """Size of all unused buffers."""
        return self._unused_bytes

    def take(self, payload_bytes: int) -> memoryview:
        """Return a buffer of at least `payload_bytes` with arbitrary content."""
        size = size_class(payload_bytes)
        with self._lock:
            found = self._unused.get(size)
            if found:
                self._unused_bytes -= size
                return found.pop()
        return np.empty(size, np.uint8).data

    def give_back(self, buffer: memoryview) -> None:
        """Return a buffer from `take` to the pool, or drop it if the pool is full."""
        size = buffer.nbytes
        with self._lock:
            if self._unused_bytes + size > self._keep_bytes:
                return
            self._unused_bytes += size
            self._unused.setdefault(size, []).append(buffer)
