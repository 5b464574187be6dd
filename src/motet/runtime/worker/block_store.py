"""Where a worker keeps its instances between mini-batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from motet.runtime.core.application import Batch
from motet.runtime.core.rows import Rows

MakeBatch: TypeAlias = "Callable[[Rows], Batch]"
MakeStore: TypeAlias = "Callable[[MakeBatch], BlockStore]"

_MOST_PIECES = 256


class BlockStore(Protocol):
    """Keeps sections of data blocks, and the batches made of them for any time.

    A caller uses what it gets during one mini-batch and keeps no reference. So a store may move
    sections that are not in use out of memory, with the batches made of them (spilling).
    """

    def add(self, rows: Rows) -> int:
        """Keep one more section; its number: 0, 1, 2, ..."""
        ...

    def rows(self, section: int) -> Rows:
        """A section's instances; what is written into their state columns is kept."""
        ...

    def batch(self, section: int, low: int, high: int) -> Batch:
        """Instances low..high-1 as a batch that every epoch uses."""
        ...

    def piece(self, section: int, low: int, high: int) -> Batch:
        """Instances low..high-1 as a batch that may not be used again."""
        ...

    def close(self) -> None:
        """Release memory and files; the store is not used afterwards."""
        ...


class MemoryBlockStore:
    """Keeps everything in memory; batches that every epoch uses are made once."""

    def __init__(self, make_batch: MakeBatch) -> None:
        """`make_batch`: the application's."""
        self._make_batch = make_batch
        self._sections: list[Rows] = []
        self._batches: dict[tuple[int, int, int], Batch] = {}
        self._pieces: dict[tuple[int, int, int], Batch] = {}

    def add(self, rows: Rows) -> int:
        """Keep the very arrays."""
        self._sections.append(rows)
        return len(self._sections) - 1

    def rows(self, section: int) -> Rows:
        """The section itself."""
        return self._sections[section]

    def batch(self, section: int, low: int, high: int) -> Batch:
        """Made at the first call."""
        key = section, low, high
        found = self._batches.get(key)
        if found is None:
            found = self._batches[key] = self._made(key)
        return found

    def piece(self, section: int, low: int, high: int) -> Batch:
        """A limited number is kept: splits vary with measured speeds."""
        key = section, low, high
        if key not in self._pieces:
            if len(self._pieces) >= _MOST_PIECES:
                self._pieces.clear()
            self._pieces[key] = self._made(key)
        return self._pieces[key]

    def close(self) -> None:
        """Drop all sections and batches."""
        self._sections.clear()
        self._batches.clear()
        self._pieces.clear()

    def _made(self, key: tuple[int, int, int]) -> Batch:
        section, low, high = key
        return self._make_batch(self._sections[section].slice(low, high))
