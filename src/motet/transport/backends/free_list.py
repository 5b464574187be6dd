"""First-fit allocation of offsets in a segment. Pure."""

from __future__ import annotations

from bisect import bisect_left

PAGE_BYTES = 4096


def page_rounded(size_bytes: int) -> int:
    """Round up to a multiple of the page size; at least one page."""
    return max(-(-size_bytes // PAGE_BYTES), 1) * PAGE_BYTES


class FreeList:
    """The free ranges of `size_bytes`, sorted and never adjacent.

    Allocates the lowest range that fits, so that pages that are already resident are reused.
    """

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._starts = [0]
        self._ends = [size_bytes]

    @property
    def is_unused(self) -> bool:
        """Whether no offset is in use."""
        return self._starts == [0] and self._ends == [self._size_bytes]

    @property
    def free_bytes(self) -> int:
        """Sum of the free ranges."""
        return sum(self._ends) - sum(self._starts)

    def take(self, size_bytes: int) -> int | None:
        """Allocate a range and return its offset; None if no free range is long enough."""
        for index, (start, end) in enumerate(zip(self._starts, self._ends, strict=True)):
            if end - start > size_bytes:
                self._starts[index] = start + size_bytes
                return start
            if end - start == size_bytes:
                del self._starts[index], self._ends[index]
                return start
        return None

    def give_back(self, start: int, size_bytes: int) -> None:
        """Free a range from `take`; merges it with adjacent free ranges."""
        end = start + size_bytes
        index = bisect_left(self._starts, start)
        if index < len(self._starts) and self._starts[index] == end:
            end = self._ends[index]
            del self._starts[index], self._ends[index]
        if index > 0 and self._ends[index - 1] == start:
            self._ends[index - 1] = end
            return
        self._starts.insert(index, start)
        self._ends.insert(index, end)
