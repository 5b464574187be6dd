"""Which attempts held slots when, of all that a cluster has had. Pure."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class SlotHolding(NamedTuple):
    """The slots of one attempt. `job`: its id. `freed_us`: None: it holds them. `stopping_us`: when
    its processes were asked to stop; None: they were not. `is_shared`: other jobs held the same
    slots when it got them."""

    job: str
    slots: int
    from_us: int
    freed_us: int | None
    stopping_us: int | None = None
    is_shared: bool = False


class SlotHistory:
    """Attempts in the order in which they freed their slots, so that a question about the last hour
    of a year reads those of that hour."""

    def __init__(self) -> None:
        self._held: dict[int, SlotHolding] = {}
        self._freed: list[SlotHolding] = []

    def began(self, job: int, slots: int, at_us: int, partners: Sequence[int] = ()) -> None:
        """An attempt of a job holds slots from now on. `partners`: the other jobs on them."""
        is_shared = bool(partners)
        self._held[job] = SlotHolding(str(job), slots, at_us, None, is_shared=is_shared)

    def stops(self, job: int, at_us: int) -> None:
        """The processes of the present attempt of a job are being stopped."""
        self._held[job] = self._held[job]._replace(stopping_us=at_us)

    def ended(self, job: int, freed_us: int) -> None:
        """The slots of the present attempt of a job are free."""
        insort(self._freed, self._held.pop(job)._replace(freed_us=freed_us), key=_freed_us)

    def between(self, from_us: int, to_us: int) -> Iterator[SlotHolding]:
        """Those that held slots at some time after `from_us` and before `to_us`."""
        first = bisect_right(self._freed, from_us, key=_freed_us)
        for place in range(first, len(self._freed)):
            if (holding := self._freed[place]).from_us < to_us:
                yield holding
        for holding in self._held.values():
            if holding.from_us < to_us:
                yield holding


def _freed_us(holding: SlotHolding) -> int:
    assert holding.freed_us is not None
    return holding.freed_us
