"""How busy the slabs of a device are: pages read and written, as a moving average."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
        self._hot_from: float | None = None
        self._on_hot: Callable[[], None] = _nothing

    @property
    def rates(self) -> Sequence[float]:
        """By slab."""
        return self._rates

    def extend(self, slabs: int) -> None:
        """There are so many slabs from now on; not beside `advance`, which replaces all counts."""
        added = slabs - len(self._rates)
        self._counts += [0] * added
        self._rates = [*self._rates, *[0.0] * added]

    def count(self, slab: int, pages: int) -> None:
        """Pages that were read or written."""
        count = self._counts[slab] + pages
        self._counts[slab] = count
        if self._hot_from is not None and count - pages <= self._hot_from < count:
            self._on_hot()

    def watch(self, threshold: float, on_hot: Callable[[], None]) -> None:
        """Call when the pages of a period, before its end, make a slab hot that was idle: a burst
        that ends within a period would be over before its slabs have a lender."""
        self._hot_from, self._on_hot = threshold / self._alpha, on_hot

    def advance(self, period_s: float) -> None:
        """End a period of measurement."""
        counts, self._counts = self._counts, [0] * len(self._counts)
        kept = 1 - self._alpha
        self._rates = [
            self._alpha * count / period_s + kept * rate
            for count, rate in zip(counts, self._rates, strict=True)
        ]

    def hot(self, threshold: float = HOT_SLAB) -> list[int]:
        """Slabs above the threshold, or that will be at the end of this period; the busiest
        first."""
        kept = 1 - self._alpha
        soon = (
            max(rate, self._alpha * count + kept * rate)
            for count, rate in zip(self._counts, self._rates, strict=False)  # Beside `extend`.
        )
        found = {slab: rate for slab, rate in enumerate(soon) if rate > threshold}
        return sorted(found, key=lambda slab: (-found[slab], slab))


def _nothing() -> None:
    """Nothing watches."""
