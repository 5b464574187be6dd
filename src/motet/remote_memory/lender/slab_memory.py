"""The memory of one slab: anonymous pages, populated before they are lent, zeroed after it."""

from __future__ import annotations

import contextlib
import mmap

_POPULATE_WRITE = 23  # MADV_POPULATE_WRITE, Linux 5.14
_STEP_BYTES = 4 << 20
"""madvise holds the interpreter's lock: a step takes about a millisecond."""


class SlabMemory:
    """`view`: the bytes. A core dump does not contain them."""

    def __init__(self, size_bytes: int) -> None:
        """Raises OSError: there is no address space."""
        self._map = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._size_bytes = size_bytes
        with contextlib.suppress(OSError):
            self._map.madvise(mmap.MADV_DONTDUMP)
        self.view = memoryview(self._map)

    def populate(self) -> None:
        """Take the memory from the system now, not when a client writes."""
        with contextlib.suppress(OSError):  # An older kernel takes it at the first write.
            self._advise(_POPULATE_WRITE)

    def zero(self) -> None:
        """Return the memory to the system; what is read later is zero."""
        self._advise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Return the addresses, too."""
        self.view.release()
        self._map.close()

    def _advise(self, advice: int) -> None:
        for start in range(0, self._size_bytes, _STEP_BYTES):
            self._map.madvise(advice, start, min(_STEP_BYTES, self._size_bytes - start))
