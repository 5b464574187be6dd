"""Who computes what of one worker's part of a mini-batch: it from the front, helpers from the back.

A helper gets half of its fair share of what is left, by measured speeds (at first more, if it asks
in time), so that everybody comes to the end at about the same time however wrong the speeds are
(factoring: Hummel, Schonberg and Flynn, *Factoring: a method for scheduling parallel loops*, CACM
1992). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

_GRANTED_SHARE = 0.5
_EARLY_SHARE = 0.8
_CLAIMED_SHARE = 0.75


@dataclass(frozen=True)
class Own:
    """The owner computes these units next."""

    units: range


@dataclass(frozen=True)
class Leave:
    """Helpers will be done with all that is left in `wait_us`, before the owner with one unit."""

    wait_us: float


class Division:
    """Units of a part, each computed by exactly one worker."""

    def __init__(
        self,
        sizes: Sequence[int],
        own_us: float,
        expected: Mapping[int, float] | None = None,
        crowd: int = 1,
        own_share: float = 0.0,
    ) -> None:
        """`sizes`: instances of each unit; `own_us`: what the owner takes for one.

        `expected`: helpers of the mini-batch before, with what they took for an instance; `crowd`:
        how many to expect at least; `own_share`: of the mini-batch before, what the owner computed.
        """
        self._own_part = own_share * sum(sizes)
        self._ends = [0, *accumulate(sizes)]
        self._front, self._back = 0, len(sizes)
        self._own_us = own_us
        self._crowd = crowd
        self.helper_us = dict(expected or {})
        self._working: dict[int, int] = {}

    @property
    def left(self) -> int:
        """Instances that nobody has begun."""
        return self._ends[self._back] - self._ends[self._front]

    @property
    def helpers(self) -> dict[int, float]:
        """Who has helped, and what an instance took there, all in all."""
        return {helper: self.helper_us[helper] for helper in self._working}

    @property
    def own_share(self) -> float:
        """The part of all instances that the owner has begun."""
        return self._ends[self._front] / max(self._ends[-1], 1)

    def begin_own(self, may_leave: bool = True) -> Own | Leave | None:
        """What the owner does next; None: there is nothing left for it."""
        if self._front == self._back:
            return None
        unit_us = (self._ends[self._front + 1] - self._ends[self._front]) * self._own_us
        if may_leave and self._working:
            under_way = self.left + sum(self._working.values())
            wait_us = under_way / sum(1 / us for us in self.helpers.values())
            if wait_us < unit_us:
                return Leave(wait_us)
        first, self._front = self._front, self._front + self._own_count()
        return Own(range(first, self._front))

    def _own_count(self) -> int:
        """Units at once: half to three quarters of what the owner will probably end up with.

        A power of two, so that much the same units stand together in every epoch.
        """
        most = self._ends[self._front] + _CLAIMED_SHARE * (self._own_part - self._ends[self._front])
        count = 1
        while self._front + 2 * count <= self._back and self._ends[self._front + 2 * count] <= most:
            count *= 2
        return count

    def grant(self, helper: int, helper_us: float, ready_us: float = 0.0) -> range:
        """Units for a helper; empty when that would save no time.

        `helper_us`: what one of these instances takes it, the way there included; `ready_us`: until
        it has nothing else to do.
        """
        self.helper_us[helper] = helper_us
        left = self.left - ready_us / self._own_us
        wanted = self._wanted(helper, left, ready_us) * self._fair_share(helper_us)
        low = self._back
        while low > self._front and self._ends[self._back] - self._ends[low] < wanted:
            low -= 1
        count = self._ends[self._back] - self._ends[low]
        if not count or helper_us * count >= self._own_us * left:
            return range(0)
        self._working[helper] = count + round(ready_us / helper_us)
        granted = range(low, self._back)
        self._back = low
        return granted

    def _wanted(self, helper: int, left: float, ready_us: float) -> float:
        """Of how much a helper gets its fair share.

        Who asks before it is ready gets most of it at once: the way there takes no time then.
        """
        if helper in self._working or not ready_us:
            return left * _GRANTED_SHARE
        return (self._ends[-1] - ready_us / self._own_us) * _EARLY_SHARE

    def _fair_share(self, helper_us: float) -> float:
        """Of the helpers that nobody has heard of yet each is taken for one like this."""
        rate = sum(1 / us for us in self.helper_us.values())
        rate += max(self._crowd - len(self.helper_us), 0) / helper_us
        return (1 / helper_us) / (rate + 1 / self._own_us)
