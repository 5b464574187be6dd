"""How many slabs a lender keeps: as many as leave HeadRoom bytes of the machine free (2.5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

BETA = 0.2
HEAD_ROOM_SHARE = 1 / 8
"""Of the machine's memory: 8 GB of 64."""


class MemoryUse:
    """U = beta * measured + (1 - beta) * U, once a second; without the lender's own slabs.

    It begins with the first measurement: an average that began at 0, as in the chapter, would lend
    memory that is in use.
    """

    def __init__(self, beta: float = BETA) -> None:
        if not 0 < beta <= 1:
            raise ValueError(f"beta={beta}: must be above 0, at most 1")
        self._beta = beta
        self._used_bytes: float | None = None

    def measured(self, used_bytes: int) -> int:
        """Add a measurement; returns the average in bytes."""
        before = used_bytes if self._used_bytes is None else self._used_bytes
        self._used_bytes = self._beta * used_bytes + (1 - self._beta) * before
        return round(self._used_bytes)


@dataclass(frozen=True)
class SlabCounts:
    """`mapped` includes `evicting`, whose owners have been told to leave."""

    free: int
    mapped: int
    evicting: int = 0


class LentChange(NamedTuple):
    """What to do now: slabs to allocate, free slabs to release, mapped slabs to evict."""

    allocate: int = 0
    release: int = 0
    evict: int = 0


@dataclass(frozen=True)
class PoolLimits:
    """`total_bytes`: of the machine or of its control group. `most_slabs`: to lend at all."""

    total_bytes: int
    head_room_bytes: int
    slab_bytes: int
    most_slabs: int

    def change(self, used_bytes: int, slabs: SlabCounts) -> LentChange:
        """`used_bytes`: U. Slabs that are being evicted count as free memory: they soon are."""
        kept = slabs.free + slabs.mapped - slabs.evicting
        spare_bytes = self.total_bytes - used_bytes - kept * self.slab_bytes - self.head_room_bytes
        surplus = max(kept - self.most_slabs, 0)
        missing = max(-(spare_bytes // self.slab_bytes), surplus)
        if missing > 0:
            release = min(missing, slabs.free)
            return LentChange(
                release=release, evict=min(missing - release, slabs.mapped - slabs.evicting)
            )
        room_bytes = spare_bytes - slabs.evicting * self.slab_bytes
        room = max(room_bytes // self.slab_bytes, 0)
        return LentChange(allocate=max(min(room, self.most_slabs - kept - slabs.evicting), 0))
