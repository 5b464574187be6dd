"""Which sections are in memory: a thread reads them before their use and frees them after it."""

from __future__ import annotations

import mmap
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from motet.domain.errors import JobFailed
from motet.runtime.core.subtask import Clock, monotonic_us
from motet.runtime.spilling.section_image import SectionImage
from motet.runtime.spilling.section_transfer import SectionTransfer, StoredSection
from motet.runtime.spilling.targets.spill_target import SpillTarget

SECTIONS_AHEAD = 2
"""Spilled sections that are read before their use: one that is complete, one that comes."""


class SectionMemory:
    """The buffers of sections. `enter` and `leave` are for any thread.

    At most SECTIONS_AHEAD spilled sections are in memory beside those in use, and the memory of one
    more that was freed, for the next read, as long as there is room. A section of
    which views exist when it is left stays in memory until its next use. Before a section
    is read others are freed, as far as `has_room` asks for it: the ones that were used, the ones
    that were read ahead, then further ones are spilled.
    """

    def __init__(
        self,
        make_target: Callable[[], SpillTarget],
        forget: Callable[[int], None],
        has_room: Callable[[int], bool] = lambda nbytes: True,
        now_us: Clock = monotonic_us,
    ) -> None:
        """`make_target`: called once a section is to be spilled. `forget`: called before a section
        is freed; drops the caller's views of it. `has_room`: whether the machine has so many bytes
        for a section. `on_disk`: how many sections are spilled; `waited_us`: how long `enter` has
        waited, `room_us`: the part of that in which others were spilled."""
        self._forget, self._now_us, self._has_room = forget, now_us, has_room
        self._transfer = SectionTransfer(make_target, now_us)
        self._order: Sequence[int] = ()
        self._sections: list[StoredSection] = []
        self._upcoming: deque[int] = deque()
        self._awaited: set[int] = set()
        self._loaded: dict[int, None] = {}
        self._changed = threading.Condition()
        self._failure: JobFailed | None = None
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._wanted_bytes = 0
        self._frees_for_worker = False
        self.waited_us = self.room_us = self.on_disk = 0

    @property
    def pending_bytes(self) -> int:
        """Of the spilled sections in memory that are neither in use nor used next, and of the
        memory that is kept for a read."""
        with self._changed:
            ahead = self._ahead()
            found = [self._sections[number] for number in self._loaded if number not in ahead]
            freeable = sum(each.image.nbytes for each in found if not each.users)
            return freeable + self._transfer.spare_bytes

    @property
    def mean_read_s(self) -> float:
        """Of a section; 0: none was read yet."""
        return self._transfer.mean_read_s

    @property
    def written_bytes(self) -> int:
        """Until now."""
        return self._transfer.written_bytes

    def will_hold(self, order: Sequence[int]) -> None:
        """`order`: in which sections are spilled."""
        self._order = order

    def spill(self, count: int) -> None:
        """From now on the first so many sections of the order are spilled: each after its next use,
        or at once if it is not used soon. Others stay in memory once they have been read."""
        with self._changed:
            for place, number in enumerate(self._order):
                self._sections[number].is_spilled = place < count
            self.on_disk = min(count, len(self._sections))
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
        section = StoredSection(image, buffer, is_spilled)
        with self._changed:
            self._sections.append(section)
            self.on_disk += is_spilled
        if is_spilled:
            self._transfer.spill(section)
            self._start_thread()

    def make_room(self, nbytes: int) -> bool:
        """Free memory until there is room for so many bytes; False: nothing is left to free."""
        with self._changed:
            if self._has_ended:
                return False
            self._wanted_bytes = max(self._wanted_bytes, nbytes, 1)
            self._start_thread()
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._wanted_bytes or self._has_ended)
            return self._has_room(nbytes)

    def will_read(self, order: Iterable[int]) -> None:
        """Which sections are entered next, in this order."""
        with self._changed:
            self._upcoming = deque(order)
            self._changed.notify_all()

    def enter(self, number: int) -> mmap.mmap:
        """The section's buffer, which stays until `leave`. Raises JobFailed.

        A use inside another one of the same section is no further one in the order.
        """
        with self._changed:
            section = self._sections[number]
            if not section.users:
                self._advance_to(number)
            section.users += 1
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
            section.free()
        self._transfer.close()

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

    def _is_usable(self, section: StoredSection) -> bool:
        return (section.buffer is not None and not section.is_moving) or self._has_ended

    @property
    def _has_ended(self) -> bool:
        return self._failure is not None or self._is_closed

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
            began_us = self._now_us()
            try:
                move(section)
            except JobFailed as error:
                failure = error
            if self._transfer.spare_bytes and not self._has_room(0):
                self._transfer.drop_spare()
            with self._changed:
                if self._frees_for_worker:
                    self.room_us += self._now_us() - began_us
                section.is_moving = False
                if section.buffer is not None and self._is_to_be_freed(section):
                    self._loaded[number] = None
                else:
                    self._loaded.pop(number, None)
                self._failure = self._failure or failure
                self._changed.notify_all()

    def _is_to_be_freed(self, section: StoredSection) -> bool:
        """Also one that may stay, if others have taken the memory since that was decided."""
        if not section.is_spilled and not self._has_room(0):
            self._keep_on_disk(section)
        return section.is_spilled

    def _keep_on_disk(self, section: StoredSection) -> None:
        self.on_disk += not section.is_spilled
        section.is_spilled = True

    def _next_task(self) -> tuple[int, Callable[[StoredSection], None]] | None:
        """Waits for something to do; None: the store was closed, or failed."""
        with self._changed:
            while not self._has_ended:
                if (task := self._due()) is not None:
                    self._sections[task[0]].is_moving = True
                    is_awaited = any(self._sections[n].buffer is None for n in self._awaited)
                    self._frees_for_worker = is_awaited and task[1] == self._transfer.spill
                    return task
                self._changed.wait()
        return None

    def _due(self) -> tuple[int, Callable[[StoredSection], None]] | None:
        """First room for others, then what a worker waits for, then what is to be freed, then what
        comes next if there is room for it; without room the next use or its end looks again."""
        if self._wanted_bytes:
            self._transfer.drop_spare()
            if (task := self._freeing(self._wanted_bytes)) is not None:
                return task
            self._wanted_bytes = 0
            self._changed.notify_all()
        for number in self._awaited:
            if (section := self._sections[number]).buffer is None:
                return self._freeing(self._new_bytes(section)) or (number, self._transfer.read)
        ahead = self._ahead()
        for number in self._loaded:
            if number not in ahead and self._is_left(number):
                return number, self._transfer.spill
        for number in ahead:
            section = self._sections[number]
            if section.buffer is None:
                has_room = self._has_room(self._new_bytes(section))
                return (number, self._transfer.read) if has_room else None
        return None

    def _new_bytes(self, section: StoredSection) -> int:
        """That a read takes beyond the memory that is kept for it."""
        return max(section.image.nbytes - self._transfer.spare_bytes, 0)

    def _freeing(self, nbytes: int) -> tuple[int, Callable[[StoredSection], None]] | None:
        """What is freed next to have so much room; None: there is room, or nothing to free."""
        if self._has_room(nbytes):
            return None
        ahead, count = self._ahead(), len(self._sections)
        loaded = sorted(self._loaded, key=lambda number: number in ahead)
        some = [number for number in self._order if number < count]
        further = [number for number in some if not self._sections[number].is_spilled]
        for number in (*loaded, *further):
            if self._is_left(number):
                self._keep_on_disk(self._sections[number])
                return number, self._transfer.spill
        return None

    def _is_left(self, number: int) -> bool:
        """Whether it is in memory, and no worker uses it or has views of it."""
        section = self._sections[number]
        if section.buffer is None or section.users:
            return False
        self._forget(number)
        return not section.has_views()

    def _ahead(self) -> list[int]:
        found: list[int] = []
        for number in self._upcoming:
            section = self._sections[number]
            if (section.is_spilled or section.buffer is None) and number not in found:
                found.append(number)
                if len(found) == SECTIONS_AHEAD:
                    break
        return found
