"""The last changes of one block, for readers that keep a copy of it."""

from __future__ import annotations

from collections import deque

from motet.domain.arrays import Array
from motet.runtime.core.changes import all_changes


class ChangeLog:
    """Changes by revision; a block's revision counts everything that has changed it.

    The log drops its oldest changes when it exceeds `limit_bytes`: a reader that is so far behind
    gets the values instead.
    """

    def __init__(self, limit_bytes: int, revision: int = 0) -> None:
        """`revision`: of the block now; its earlier changes are not known."""
        self.revision = revision
        self._limit_bytes = limit_bytes
        self._changes: deque[Array] = deque()
        self._bytes = 0

    def add(self, changes: Array) -> None:
        """The block has changed; `changes: (2, n), int32` must not change any more."""
        self.revision += 1
        self._changes.append(changes)
        self._bytes += changes.nbytes
        while self._bytes > self._limit_bytes:
            self._bytes -= self._changes.popleft().nbytes

    def restart(self) -> None:
        """The block has changed in another way: all readers need its values."""
        self.revision += 1
        self._changes.clear()
        self._bytes = 0

    def since(self, revision: int) -> Array | None:
        """The changes after `revision`, `(2, n)`; None: not known any more."""
        count = self.revision - revision
        if not 0 <= count <= len(self._changes):
            return None
        return all_changes([self._changes[place] for place in range(-count, 0)])
