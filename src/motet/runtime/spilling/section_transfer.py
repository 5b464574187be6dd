"""One section between its memory and a spill target."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from motet.runtime.core.subtask import Clock
from motet.runtime.spilling.section_image import SectionImage
from motet.runtime.spilling.targets.spill_target import SpillTarget

_RECENT_READS = 64
"""Remote memory may come and go: older reads count ever less. Those of a busy disk differ by ten
times, and with 16 of them the bound of `share_tuner` changed from epoch to epoch."""


@dataclass
class StoredSection:
    """`buffer`: None: it is only on the target. `place`: there; None: not written yet. `users`: how
    often it is entered. `is_changed`: its state columns are newer than those on the target.
    `is_moving`: it is being read or written."""

    image: SectionImage
    buffer: mmap.mmap | None
    is_spilled: bool
    place: int | None = None
    users: int = 0
    is_changed: bool = False
    is_moving: bool = False

    def has_views(self) -> bool:
        """Whether an array is a view of the buffer: then `resize` refuses, and changes nothing."""
        assert self.buffer is not None
        try:
            self.buffer.resize(self.image.nbytes)
        except BufferError:
            return True
        return False

    def free(self) -> None:
        """Drop the buffer; views of it keep its memory."""
        if self.buffer is not None:
            with suppress(BufferError):
                self.buffer.close()
            self.buffer = None


class SectionTransfer:
    """Reads and writes sections, one at a time. All methods raise JobFailed.

    The buffer of a section that was freed is kept for the next one that is read: the system would
    fill a new one with zeros first, which takes longer than the CPU time of the read itself.
    """

    def __init__(self, make_target: Callable[[], SpillTarget], now_us: Clock) -> None:
        """`make_target`: called once a section is to be written."""
        self._make_target, self._now_us = make_target, now_us
        self._opened: SpillTarget | None = None
        self._mean_read_us, self._reads = 0.0, 0
        self._spare: mmap.mmap | None = None
        self._sparing = threading.Lock()
        self.written_bytes = 0

    @property
    def mean_read_s(self) -> float:
        """Of one of the last sections; 0: none was read yet."""
        return self._mean_read_us / 1e6

    @property
    def spare_bytes(self) -> int:
        """Of the buffer that is kept for the next read."""
        with self._sparing:
            return 0 if self._spare is None else len(self._spare)

    def read(self, section: StoredSection) -> None:
        """Into a buffer of its own."""
        assert section.place is not None
        began_us = self._now_us()
        buffer = self._buffer(section.image.nbytes)
        self._target.read(section.place, buffer)
        self._reads = min(self._reads + 1, _RECENT_READS)
        self._mean_read_us += (self._now_us() - began_us - self._mean_read_us) / self._reads
        section.buffer = buffer

    def spill(self, section: StoredSection) -> None:
        """Write what is not on the target yet, and free the memory, or keep it for a read."""
        if section.place is None or section.is_changed:
            self._write(section)
        with self._sparing:
            if self._spare is None and section.buffer is not None and not section.has_views():
                self._spare, section.buffer = section.buffer, None
        section.free()

    def drop_spare(self) -> None:
        """Give the memory that is kept for a read back."""
        with self._sparing:
            if self._spare is not None:
                self._spare.close()
                self._spare = None

    def close(self) -> None:
        """Close the target, and give memory back."""
        self.drop_spare()
        if self._opened is not None:
            self._opened.close()

    @property
    def _target(self) -> SpillTarget:
        if self._opened is None:
            self._opened = self._make_target()
        return self._opened

    def _buffer(self, nbytes: int) -> mmap.mmap:
        with self._sparing:
            spare, self._spare = self._spare, None
        if spare is None:
            return new_buffer(nbytes)
        if len(spare) != nbytes:
            spare.resize(nbytes)
        return spare

    def _write(self, section: StoredSection) -> None:
        assert section.buffer is not None
        first = 0 if section.place is None else section.image.state_offset
        if section.place is None:
            section.place = self._target.reserve(section.image.nbytes)
        with memoryview(section.buffer) as view, view[first:] as rest:
            if len(rest):
                self._target.write(section.place + first, rest)
        self.written_bytes += section.image.nbytes - first
        section.is_changed = False


def new_buffer(nbytes: int) -> mmap.mmap:
    """Page-aligned memory, given back to the system as soon as it is closed."""
    return mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)
