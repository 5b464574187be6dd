"""How busy the slabs of a device are: pages read and written, as a moving average."""

from __future__ import annotations

from collections.abc import Sequence

ALPHA = 0.2
HOT_SLAB = 20.0
"""Pages per second, from which on a slab is worth a lender's memory."""


class SlabActivity:
    """A(s) = alpha * measured + (1 - alpha) * A(s), once a second (2.4.1). In pages per second."""

    def __init__(self, slabs: int, alpha: float = ALPHA) -> None:
        if not 0 < alpha <= 1:
            raise ValueError(f"alpha={alpha}: must be above 0, at most 1")
        self._alpha = alpha
        self._counts = [0] * slabs
        self._rates = [0.0] * slabs

    @property
    def rates(self) -> Sequence[float]:
        """By slab."""
        return self._rates

    def count(self, slab: int, pages: int) -> None:
        """Pages that were read or written."""
        self._counts[slab] += pages

    def advance(self, period_s: float) -> None:
        """End a period of measurement."""
        counts, self._counts = self._counts, [0] * len(self._counts)
        kept = 1 - self._alpha
        self._rates = [
            self._alpha * count / period_s + kept * rate
            for count, rate in zip(counts, self._rates, strict=True)
        ]

    def hot(self, threshold: float = HOT_SLAB) -> list[int]:
        """Slabs above the threshold, the busiest first."""
        found = [slab for slab, rate in enumerate(self._rates) if rate > threshold]
        return sorted(found, key=lambda slab: (-self._rates[slab], slab))
