"""Which parts of a segment are in use. Pure bookkeeping over offsets."""

from __future__ import annotations

from bisect import bisect_left

PAGE_BYTES = 4096


def page_rounded(size_bytes: int) -> int:
    """The next multiple of the page size; at least one page."""
    return max(-(-size_bytes // PAGE_BYTES), 1) * PAGE_BYTES


class FreeList:
    """The free stretches of `size_bytes`, in order and never adjacent. Lowest first when taking,
    so that pages that were touched before are touched again.
    """

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes = size_bytes
        self._starts = [0]
        self._ends = [size_bytes]

    @property
    def is_unused(self) -> bool:
        """Whether everything is free."""
        return self._starts == [0] and self._ends == [self._size_bytes]

    @property
    def free_bytes(self) -> int:
        """Sum of the free stretches."""
        return sum(self._ends) - sum(self._starts)

    def take(self, size_bytes: int) -> int | None:
        """Offset of a stretch that is no longer free, or None if none is long enough."""
        for index, (start, end) in enumerate(zip(self._starts, self._ends, strict=True)):
            if end - start > size_bytes:
                self._starts[index] = start + size_bytes
                return start
            if end - start == size_bytes:
                del self._starts[index], self._ends[index]
                return start
        return None

    def give_back(self, start: int, size_bytes: int) -> None:
        """Free a stretch that was taken; joins it with free neighbours."""
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
