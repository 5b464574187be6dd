"""Which sections are in memory: a thread reads them before their use and frees them after it."""

from __future__ import annotations

import mmap
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby

from motet.domain.errors import JobFailed
from motet.runtime.core.subtask import Clock, monotonic_us
from motet.runtime.spilling.section_image import SectionImage
from motet.runtime.spilling.spill_file import SpillTarget

SECTIONS_AHEAD = 2
"""Spilled sections that are read before their use: one that is complete, one that comes."""


@dataclass
class _Section:
    """`buffer`: None: it is only on the target. `place`: there; None: not written yet. `users`: how
    often it is entered. `is_changed`: its state columns are newer than those on the target.
    `is_moving`: the thread reads or writes it."""

    image: SectionImage
    buffer: mmap.mmap | None
    is_spilled: bool
    place: int | None = None
    users: int = 0
    is_changed: bool = False
    is_moving: bool = False


class SectionMemory:
    """The buffers of sections. `enter` and `leave` are for any thread.

    At most SECTIONS_AHEAD spilled sections are in memory beside those in use. A section that
    somebody still has views of when it is left stays in memory until its next use.
    """

    def __init__(
        self,
        make_target: Callable[[], SpillTarget],
        forget: Callable[[int], None],
        has_room: Callable[[int], bool] = lambda nbytes: True,
        now_us: Clock = monotonic_us,
    ) -> None:
        """`make_target`: called once a section is to be spilled. `forget`: called before a section
        is freed; drops the caller's views of it. `has_room`: whether so many bytes may be read
        before they are needed; otherwise a section is read when a worker waits for it."""
        self._make_target, self._forget, self._now_us = make_target, forget, now_us
        self._has_room = has_room
        self._opened: SpillTarget | None = None
        self._sections: list[_Section] = []
        self._upcoming: deque[int] = deque()
        self._awaited: set[int] = set()
        self._loaded: dict[int, None] = {}
        self._changed = threading.Condition()
        self._failure: JobFailed | None = None
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._read_us = self._reads = 0
        self.waited_us = 0
        self.written_bytes = 0

    @property
    def on_disk(self) -> int:
        """How many sections are spilled."""
        return sum(each.is_spilled for each in self._sections)

    @property
    def pending_bytes(self) -> int:
        """Of the spilled sections in memory that are neither in use nor used next."""
        with self._changed:
            ahead = self._ahead()
            found = [self._sections[number] for number in self._loaded if number not in ahead]
            return sum(each.image.nbytes for each in found if not each.users)

    @property
    def mean_read_s(self) -> float:
        """Of a section; 0: none was read yet."""
        return self._read_us / self._reads / 1e6 if self._reads else 0.0

    def spill(self, is_spilled: Callable[[int], bool]) -> None:
        """From now on these sections are spilled: each after its next use, or at once if it is not
        used soon. Others stay in memory once they have been read."""
        with self._changed:
            for number, section in enumerate(self._sections):
                section.is_spilled = is_spilled(number)
            self._loaded = {
                number: None
                for number, each in enumerate(self._sections)
                if each.is_spilled and each.buffer is not None
            }
            self._start_thread()
            self._changed.notify_all()

    def add(self, image: SectionImage, buffer: mmap.mmap, *, is_spilled: bool) -> None:
        """Take a filled buffer over. A spilled section is written and freed before this returns.

        Raises JobFailed.
        """
        section = _Section(image, buffer, is_spilled)
        self._sections.append(section)
        if is_spilled:
            self._write(section)
            _free(section)
            self._start_thread()

    def will_read(self, order: Iterable[int]) -> None:
        """Which sections are entered next, in this order."""
        with self._changed:
            self._upcoming = deque(number for number, _ in groupby(order))
            self._changed.notify_all()

    def enter(self, number: int) -> mmap.mmap:
        """The section's buffer, which stays until `leave`. Raises JobFailed."""
        with self._changed:
            section = self._sections[number]
            section.users += 1
            self._advance_to(number)
            if section.buffer is None or section.is_moving:
                self._await(number)
            self._changed.notify_all()
            if section.buffer is None:
                section.users -= 1
                raise self._failure or JobFailed("the data were closed while they were read")
            return section.buffer

    def leave(self, number: int, *, has_written: bool) -> None:
        """The end of a use; `has_written`: to the state columns."""
        with self._changed:
            section = self._sections[number]
            section.users -= 1
            section.is_changed |= has_written
            self._changed.notify_all()

    def close(self) -> None:
        """Free all memory and the target."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        for number, section in enumerate(self._sections):
            self._forget(number)
            _free(section)
        if self._opened is not None:
            self._opened.close()

    def _await(self, number: int) -> None:
        began_us, section = self._now_us(), self._sections[number]
        self._awaited.add(number)
        self._changed.notify_all()
        self._changed.wait_for(lambda: self._is_usable(section))
        self._awaited.discard(number)
        self.waited_us += self._now_us() - began_us

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="spilling", daemon=True)
            self._thread.start()

    @property
    def _target(self) -> SpillTarget:
        if self._opened is None:
            self._opened = self._make_target()
        return self._opened

    def _is_usable(self, section: _Section) -> bool:
        is_here = section.buffer is not None and not section.is_moving
        return is_here or self._failure is not None or self._is_closed

    def _advance_to(self, number: int) -> None:
        is_next = bool(self._upcoming) and self._upcoming[0] == number
        if is_next or number in self._upcoming:
            while self._upcoming.popleft() != number:
                pass

    # -- the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        while (task := self._next_task()) is not None:
            number, move = task
            section, failure = self._sections[number], None
            try:
                move(section)
            except JobFailed as error:
                failure = error
            with self._changed:
                section.is_moving = False
                if section.buffer is not None and section.is_spilled:
                    self._loaded[number] = None
                else:
                    self._loaded.pop(number, None)
                self._failure = self._failure or failure
                self._changed.notify_all()

    def _next_task(self) -> tuple[int, Callable[[_Section], None]] | None:
        """Waits for something to do; None: the store was closed, or failed."""
        with self._changed:
            while not self._is_closed and self._failure is None:
                if (task := self._due()) is not None:
                    self._sections[task[0]].is_moving = True
                    return task
                self._changed.wait()
        return None

    def _due(self) -> tuple[int, Callable[[_Section], None]] | None:
        """First what a worker waits for, then what is to be freed, then what comes next if there is
        room for it; without room the next use or its end looks again."""
        for number in self._awaited:
            if self._sections[number].buffer is None:
                return number, self._read
        ahead = self._ahead()
        for number in self._loaded:
            if number not in ahead and not self._sections[number].users and self._is_left(number):
                return number, self._spill
        for number in ahead:
            section = self._sections[number]
            if section.buffer is None:
                return (number, self._read) if self._has_room(section.image.nbytes) else None
        return None

    def _is_left(self, number: int) -> bool:
        """Whether nobody has views of it; `resize` refuses otherwise, and changes nothing."""
        self._forget(number)
        section = self._sections[number]
        assert section.buffer is not None
        try:
            section.buffer.resize(section.image.nbytes)
        except BufferError:
            return False
        return True

    def _ahead(self) -> list[int]:
        found: list[int] = []
        for number in self._upcoming:
            section = self._sections[number]
            if (section.is_spilled or section.buffer is None) and number not in found:
                found.append(number)
                if len(found) == SECTIONS_AHEAD:
                    break
        return found

    def _read(self, section: _Section) -> None:
        assert section.place is not None
        began_us = self._now_us()
        buffer = new_buffer(section.image.nbytes)
        self._target.read(section.place, buffer)
        self._read_us += self._now_us() - began_us
        self._reads += 1
        section.buffer = buffer

    def _spill(self, section: _Section) -> None:
        if section.place is None or section.is_changed:
            self._write(section)
        _free(section)

    def _write(self, section: _Section) -> None:
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


def _free(section: _Section) -> None:
    """Views that outlive the store keep their memory."""
    if section.buffer is not None:
        with suppress(BufferError):
            section.buffer.close()
        section.buffer = None
