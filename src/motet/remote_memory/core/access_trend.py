"""Which pages are needed next: the majority of the differences between recent reads.

Leap (Al Maruf and Chowdhury, USENIX ATC 2020), section 3.2: algorithm 1 finds the trend, algorithm
2 the number of pages, by how many of the last ones were used.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

HISTORY = 32
SPLITS = 2
LARGEST_WINDOW = 8


def majority(values: Sequence[int]) -> int | None:
    """The value of more than half of them, by Boyer and Moore's vote; None: there is none."""
    candidate, lead = 0, 0
    for value in values:
        if not lead:
            candidate, lead = value, 1
        else:
            lead += 1 if value == candidate else -1
    return candidate if 2 * sum(value == candidate for value in values) > len(values) else None


class AccessTrend:
    """The last differences between places that were read, and their majority."""

    def __init__(self, history: int = HISTORY, splits: int = SPLITS) -> None:
        """The first window has `history / splits` differences."""
        self._differences: deque[int] = deque(maxlen=history)
        self._smallest = max(history // splits, 1)
        self._last: int | None = None

    @property
    def newest(self) -> int | None:
        """The last difference."""
        return self._differences[0] if self._differences else None

    def add(self, place: int) -> None:
        """A read there."""
        if self._last is not None:
            self._differences.appendleft(place - self._last)
        self._last = place

    def find(self) -> int | None:
        """The majority of the newest differences, in a window that doubles until it has one."""
        size = self._smallest
        while True:
            found = majority([*islice(self._differences, size)])
            if found is not None or size >= len(self._differences):
                return found
            size *= 2


class PrefetchWindow:
    """How many places ahead are read: by those of the last ones that were used."""

    def __init__(self, most: int = LARGEST_WINDOW) -> None:
        self._most = most
        self._size = 0

    def next(self, hits: int, *, follows_trend: bool) -> int:
        """`hits`: since the last call. `follows_trend`: the place that is read now does.

        Without hits one place is tried as long as reads follow the trend; the window never shrinks
        to less than half at a time.
        """
        size = min(1 << hits.bit_length(), self._most) if hits else int(follows_trend)
        self._size = max(size, self._size // 2)
        return self._size


class Prefetcher:
    """What to read ahead. Not thread-safe. Places are pages, or blocks, from 0 to `places` - 1.

    Each read is told by `used` or `missed`.
    """

    def __init__(self, places: int, most: int = LARGEST_WINDOW, history: int = HISTORY) -> None:
        self._places = places
        self._trend = AccessTrend(history)
        self._window = PrefetchWindow(most)
        self._difference: int | None = None
        self._hits = 0

    def extend(self, places: int) -> None:
        """There are so many places from now on."""
        self._places = places

    def used(self, place: int) -> None:
        """A read of a place that was read ahead."""
        self._trend.add(place)
        self._hits += 1

    def missed(self, place: int) -> list[int]:
        """A read of another place; those to read ahead now."""
        self._trend.add(place)
        newest = self._trend.newest
        follows = newest is not None and newest == self._difference
        size = self._window.next(self._hits, follows_trend=follows)
        self._hits = 0
        self._difference = self._trend.find() or self._difference
        if not self._difference:
            return []
        ahead = (place + step * self._difference for step in range(1, size + 1))
        return [found for found in ahead if 0 <= found < self._places]
