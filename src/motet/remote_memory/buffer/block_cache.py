"""Blocks of a store in local memory: least recently used ones leave, neighbours come ahead.

Blocks that changed are written when they leave, several at a time.
"""

from __future__ import annotations

import mmap
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress

from motet.remote_memory.borrower.store_operation import PageStore, StoreOperation, joined
from motet.remote_memory.core.access_trend import LARGEST_WINDOW, Prefetcher

BLOCK_BYTES = 1 << 20
READ_AHEAD = 4
_WRITE_TOGETHER = 8
LEAST_BLOCKS = READ_AHEAD + 2


class _Frame:
    """Memory of one block. `coming`: the read that fills it. `was_read_ahead`: and not used yet."""

    __slots__ = ("coming", "has_changed", "view", "was_read_ahead")

    def __init__(self, view: memoryview) -> None:
        self.view = view
        self.coming: StoreOperation | None = None
        self.has_changed = self.was_read_ahead = False


class BlockCache:
    """Not thread-safe. Raises OSError if the store does: a block that could not be read is read
    again at its next use, one that could not be written stays here."""

    def __init__(
        self,
        store: PageStore,
        blocks: int,
        block_bytes: int = BLOCK_BYTES,
        *,
        prefetch: bool = False,
    ) -> None:
        """`blocks`: of memory, at least LEAST_BLOCKS. `prefetch`: follow other trends than the next
        block, too."""
        self._store = store
        self.block_bytes = block_bytes
        self._memory = mmap.mmap(-1, max(blocks, LEAST_BLOCKS) * block_bytes)
        view = memoryview(self._memory)
        self._free = [
            _Frame(view[start : start + block_bytes]) for start in range(0, len(view), block_bytes)
        ]
        self._frames: OrderedDict[int, _Frame] = OrderedDict()
        self._blocks = -(-store.size_bytes // block_bytes)
        self._last = -2
        most = min(max(blocks, LEAST_BLOCKS) // 2, LARGEST_WINDOW)
        self._prefetcher = Prefetcher(self._blocks, most) if prefetch else None
        self.hits = self.misses = self.read_ahead = 0

    def read(self, offset: int, into: memoryview) -> None:
        """Copy bytes at any place of the store."""
        done = 0
        while done < len(into):
            block, inside = divmod(offset + done, self.block_bytes)
            count = min(len(into) - done, self.block_bytes - inside)
            frame = self._frame(block)
            into[done : done + count] = frame.view[inside : inside + count]
            done += count

    def write(self, offset: int, data: memoryview) -> None:
        """Change bytes at any place; whole blocks are not read first."""
        done = 0
        while done < len(data):
            block, inside = divmod(offset + done, self.block_bytes)
            count = min(len(data) - done, self.block_bytes - inside)
            frame = self._frame(block, is_overwritten=count == self.block_bytes)
            frame.view[inside : inside + count] = data[done : done + count]
            frame.has_changed = True
            done += count

    def flush(self) -> None:
        """Write all blocks that changed."""
        changed = [block for block, frame in self._frames.items() if frame.has_changed]
        for start in range(0, len(changed), _WRITE_TOGETHER):
            self._write_back(changed[start : start + _WRITE_TOGETHER])

    def drop(self) -> None:
        """Wait for reads in progress; then nothing uses the memory. Nothing can be read later."""
        for frame in self._frames.values():
            _end_unused(frame)

    def _frame(self, block: int, *, is_overwritten: bool = False) -> _Frame:
        is_same, is_next = block == self._last, block == self._last + 1
        self._last = block
        frame = self._frames.get(block)
        if frame is None:
            self.misses += 1
            frame = self._begin(block, is_read=not is_overwritten)
            ahead = self._missed(block)
        else:
            self.hits += 1
            self._frames.move_to_end(block)
            ahead = () if is_same else self._found(block, frame)
        if is_next:
            ahead = range(block + 1, min(block + 1 + READ_AHEAD, self._blocks))
        if not is_overwritten:
            self._begin_ahead(block, ahead)
        frame.was_read_ahead = False
        coming, frame.coming = frame.coming, None
        if coming is not None:
            self._complete(block, frame, coming)
        return frame

    def _complete(self, block: int, frame: _Frame, coming: StoreOperation) -> None:
        try:
            coming.finish()
        except OSError:  # What the memory has is no content of this block.
            del self._frames[block]
            self._free.append(frame)
            raise

    def _missed(self, block: int) -> Sequence[int]:
        return () if self._prefetcher is None else self._prefetcher.missed(block)

    def _found(self, block: int, frame: _Frame) -> Sequence[int]:
        """Blocks that were not read ahead count as misses: the trend leads on from there, too."""
        if self._prefetcher is None or not frame.was_read_ahead:
            return self._missed(block)
        self._prefetcher.used(block)
        return ()

    def _begin_ahead(self, block: int, wanted: Sequence[int]) -> None:
        for ahead in wanted:
            if ahead not in self._frames:
                self.read_ahead += 1
                self._frames.move_to_end(block)  # Its memory is needed longest.
                self._begin(ahead, is_read=True).was_read_ahead = True

    def _begin(self, block: int, *, is_read: bool) -> _Frame:
        frame = self._free.pop() if self._free else self._evicted()
        frame.has_changed = frame.was_read_ahead = False
        if is_read:
            frame.coming = self._store.begin_read(*self._place(block, frame))
        self._frames[block] = frame
        return frame

    def _evicted(self) -> _Frame:
        block, frame = next(iter(self._frames.items()))
        if frame.has_changed:
            oldest = (each for each, found in self._frames.items() if found.has_changed)
            self._write_back(
                [each for each, _ in zip(oldest, range(_WRITE_TOGETHER), strict=False)]
            )
        _end_unused(frame)
        del self._frames[block]
        return frame

    def _write_back(self, blocks: list[int]) -> None:
        places = [self._place(block, self._frames[block]) for block in blocks]
        joined(self._store.begin_write(offset, data) for offset, data in places).finish()
        for block in blocks:
            self._frames[block].has_changed = False

    def _place(self, block: int, frame: _Frame) -> tuple[int, memoryview]:
        """Offset in the store and memory; the last block may be shorter."""
        offset = block * self.block_bytes
        return offset, frame.view[: min(self.block_bytes, self._store.size_bytes - offset)]


def _end_unused(frame: _Frame) -> None:
    """Wait for the read of a block that has left the cache."""
    coming, frame.coming = frame.coming, None
    if coming is not None:
        with suppress(OSError):
            coming.finish()
