"""The last changes of one block, for readers that keep a copy of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from motet.domain.arrays import Array

_MOST_ENTRIES = 1024
"""So that the log of a block that never changes does not grow without limit."""


class ChangeLog:
    """Changes by revision; a block's revision counts everything that has changed it.

    The log drops its oldest changes when it exceeds `limit_bytes`: a reader that is so far behind
    gets the values instead.
    """

    def __init__(self, limit_bytes: int, revision: int = 0) -> None:
        """`revision`: of the block now; its earlier changes are not known."""
        self.revision = revision
        self._limit_bytes = limit_bytes
        self._changes: deque[tuple[Sequence[Array], int]] = deque()
        self._bytes = 0

    def add(self, changes: Sequence[Array], kept_bytes: int = 0) -> None:
        """The block has changed; `changes`, each `(2, n), int32`, must not change any more.

        `kept_bytes`: the block's part of the memory that they are views of.
        """
        self.revision += 1
        size = sum([part.nbytes for part in changes])  # A generator takes twice the time.
        if 2 * size < kept_bytes:
            # The few changes of a quiet block must not keep those of all blocks in memory.
            changes = [np.concatenate(changes, axis=1)]
        else:
            size = max(size, kept_bytes)
        self._changes.append((changes, size))
        self._bytes += size
        while self._bytes > self._limit_bytes or len(self._changes) > _MOST_ENTRIES:
            self._bytes -= self._changes.popleft()[1]

    def restart(self) -> None:
        """The block has changed in another way: all readers need its values."""
        self.revision += 1
        self._changes.clear()
        self._bytes = 0

    def since(self, revision: int) -> list[Array] | None:
        """The changes after `revision`, each `(2, n)`; None: not known any more."""
        count = self.revision - revision
        if not 0 <= count <= len(self._changes):
            return None
        return [part for place in range(-count, 0) for part in self._changes[place][0]]
