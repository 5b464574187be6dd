"""Which share of a worker's sections is spilled: a fixed one, or one that follows the memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from motet.runtime.core.subtask import Clock, monotonic_us
from motet.runtime.spilling.memory_watch import MemoryWatch
from motet.runtime.spilling.section_memory import SECTIONS_AHEAD
from motet.runtime.spilling.share_tuner import (
    EpochLoads,
    SpillState,
    after_epoch,
    enough_free,
    first_share,
    found_on_disk,
    least_free,
    left_for_input,
    relieved,
)

LOOK_EVERY_US, LOOK_AT_ONCE_US = 100_000, 10_000
"""Between two looks at the least free memory in the meantime; and between looks whether the memory
is about to end."""


class DiskShare(Protocol):
    """Chooses how many sections of one store are spilled. Which ones: `spread_ranks`."""

    def begin(self, sections: int, data_bytes: int) -> int:
        """Before the first of so many sections is added: how many of them are spilled."""
        ...

    def is_short(self) -> bool:
        """Whether a further section is spilled in any case."""
        ...

    def filled(self, on_disk: int) -> None:
        """All sections were added, and so many of them were spilled."""
        ...

    def has_room(self, nbytes: int) -> bool:
        """Whether so much may be read without freeing memory first."""
        ...

    def now(self, on_disk: int, pending_bytes: int) -> int | None:
        """Another number, after a look at the memory; None: as before. Called after every use.

        `on_disk`: how many are spilled, maybe more than was asked for, since there was no room;
        `pending_bytes`: of sections that are about to be freed.
        """
        ...

    def after_epoch(self, on_disk: int, loads: EpochLoads) -> int | None:
        """Another number; None: as before. `on_disk`: as above."""
        ...

    def close(self) -> None:
        """The store is closed."""
        ...


class SharesOfOthers(Protocol):
    """How much input of all jobs with the same memory is on disk; see ShareBoard."""

    def tell(self, input_bytes: int, disk_bytes: int) -> None:
        """So much of the own input is."""
        ...

    def mean_share(self) -> float | None:
        """Of all input; None: there is no other job."""
        ...

    def close(self) -> None:
        """The own input does not count any more."""
        ...


class FixedShare:
    """A DiskShare that does not change."""

    def __init__(self, share: float) -> None:
        """`share`: 0 to 1."""
        self._share = share

    def begin(self, sections: int, data_bytes: int) -> int:
        """See DiskShare."""
        del data_bytes
        return round(self._share * sections)

    def is_short(self) -> bool:
        """Never."""
        return False

    def filled(self, on_disk: int) -> None:
        """Nothing depends on it."""

    def has_room(self, nbytes: int) -> bool:
        """Always."""
        del nbytes
        return True

    def now(self, on_disk: int, pending_bytes: int) -> int | None:
        """As before."""
        del on_disk, pending_bytes
        return None

    def after_epoch(self, on_disk: int, loads: EpochLoads) -> int | None:
        """As before."""
        del on_disk, loads
        return None

    def close(self) -> None:
        """Nothing is open."""


class TunedShare:
    """A DiskShare that follows the memory of the machine and the time of epochs."""

    def __init__(
        self,
        memory: MemoryWatch,
        now_us: Clock = monotonic_us,
        absent_bytes: Callable[[], int] = lambda: 0,
        board: SharesOfOthers | None = None,
    ) -> None:
        """`memory`, `board`: closed with this. `absent_bytes`: of the model, which returns to
        memory before input does."""
        self._memory, self._now_us, self._absent_bytes = memory, now_us, absent_bytes
        self._board = board
        self._state = SpillState(0, 1.0, 0)
        self._look_us = self._urgent_look_us = 0

    def begin(self, sections: int, data_bytes: int) -> int:
        """See DiskShare."""
        memory = self._memory.state()
        share = first_share(data_bytes, memory)
        on_disk = min(math.ceil(share * sections), sections)
        mean_bytes = max(data_bytes / sections, 1.0) if sections else 1.0
        self._state = SpillState(sections, mean_bytes, on_disk, faults=memory.major_faults)
        self._tell()
        return on_disk

    def is_short(self) -> bool:
        """Other jobs that start may have taken the memory; sections in use need some, too."""
        memory = self._memory.state()
        in_use = (SECTIONS_AHEAD + 1) * self._state.section_bytes
        return memory.free_bytes - in_use < enough_free(memory)

    def filled(self, on_disk: int) -> None:
        """See DiskShare."""
        self._memory.lowest()
        self._state = replace(self._state, on_disk=on_disk)
        self._tell()

    def has_room(self, nbytes: int) -> bool:
        """See DiskShare. This looks at the memory before it is taken: a thread that looks now and
        then may be late on a busy machine, and many jobs read at a time."""
        memory = self._memory.state()
        return memory.free_bytes - nbytes >= least_free(memory)

    def now(self, on_disk: int, pending_bytes: int) -> int | None:
        """See DiskShare."""
        now_us = self._now_us()
        if now_us < self._urgent_look_us or not self._state.sections:
            return None
        self._urgent_look_us = now_us + LOOK_AT_ONCE_US
        memory = self._memory.state()
        is_urgent = memory.free_bytes + pending_bytes < least_free(memory) / 2
        if now_us < self._look_us and not is_urgent:
            return None
        self._look_us = now_us + LOOK_EVERY_US
        memory = self._memory.lowest()
        memory = replace(memory, free_bytes=memory.free_bytes + pending_bytes)
        return self._changed_to(relieved(found_on_disk(self._state, on_disk), memory), on_disk)

    def after_epoch(self, on_disk: int, loads: EpochLoads) -> int | None:
        """See DiskShare."""
        if not self._state.sections:
            return None
        state = found_on_disk(self._state, on_disk)
        memory = left_for_input(self._memory.lowest(), self._absent_bytes())
        self._state = state
        self._tell()
        mean_share = None if self._board is None else self._board.mean_share()
        return self._changed_to(after_epoch(state, memory, loads, mean_share), on_disk)

    def close(self) -> None:
        """See DiskShare."""
        self._memory.close()
        if self._board is not None:
            self._board.close()

    def _tell(self) -> None:
        if self._board is not None:
            state = self._state
            sizes = state.sections * state.section_bytes, state.on_disk * state.section_bytes
            self._board.tell(*map(int, sizes))

    def _changed_to(self, state: SpillState, before: int) -> int | None:
        self._state = state
        return None if state.on_disk == before else state.on_disk


def spread_ranks(count: int) -> list[int]:
    """The order in which sections are spilled: section n is, if its rank is below their number.

    The spilled ones are evenly among the others, so that one is read while those before it are
    computed with; one more changes nothing else (van der Corput's sequence).
    """
    bits = max(count - 1, 1).bit_length()
    order = sorted(range(count), key=lambda n: int(f"{n:0{bits}b}"[::-1], 2))
    ranks = [0] * count
    for rank, number in enumerate(order):
        ranks[number] = rank
    return ranks
