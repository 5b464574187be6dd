"""How much memory each borrower has had for how long, in byte-seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping


class BorrowedTime:
    """Exact from one change to the next. Not thread-safe. Times are microseconds that never go
    back."""

    def __init__(self, slab_bytes: int) -> None:
        self._slab_bytes = slab_bytes
        self._slabs: Counter[str] = Counter()
        self._slab_us: Counter[str] = Counter()
        self._since_us: dict[str, int] = {}

    def change(self, borrower: str, slabs: int, now_us: int) -> None:
        """The borrower has so many slabs more, or fewer, from now on."""
        self._settle(borrower, now_us)
        self._slabs[borrower] += slabs

    def totals(self, now_us: int) -> Mapping[str, float]:
        """Byte-seconds until now of each borrower that was not forgotten."""
        for borrower in self._since_us:
            self._settle(borrower, now_us)
        return {name: us * self._slab_bytes / 1e6 for name, us in self._slab_us.items()}

    @property
    def idle(self) -> Collection[str]:
        """Borrowers without slabs."""
        return [name for name in self._since_us if not self._slabs[name]]

    def forget(self, borrowers: Collection[str]) -> None:
        """Drop those of them that have no slabs."""
        for name in borrowers:
            if not self._slabs[name]:
                for kept in (self._slabs, self._slab_us, self._since_us):
                    kept.pop(name, None)

    def _settle(self, borrower: str, now_us: int) -> None:
        since_us = self._since_us.get(borrower, now_us)
        self._slab_us[borrower] += self._slabs[borrower] * (now_us - since_us)
        self._since_us[borrower] = now_us
