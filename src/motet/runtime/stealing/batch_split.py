"""How one worker's part of a mini-batch is split: the victim from the front, thieves from the back.

A thief gets half of its fair share of what is left, by measured speeds (at first more, if it
requests early), so that all workers end at about the same time even when the speeds are wrong
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
class OwnUnits:
    """The victim computes these units next."""

    units: range


@dataclass(frozen=True)
class LeaveToThieves:
    """Thieves complete all that is left in `wait_us`, sooner than the victim completes one unit."""

    wait_us: float


class BatchSplit:
    """Units of a part, each computed by exactly one worker."""

    def __init__(
        self,
        sizes: Sequence[int],
        own_us: float,
        expected: Mapping[int, float] | None = None,
        crowd: int = 1,
        own_share: float = 0.0,
    ) -> None:
        """`sizes`: instances of each unit; `own_us`: the victim's time per instance.

        `expected`: thieves of the previous mini-batch with their time per instance; `crowd`: the
        least number of thieves to expect; `own_share`: the part of the previous mini-batch that
        the victim computed.
        """
        self._own_part = own_share * sum(sizes)
        self._ends = [0, *accumulate(sizes)]
        self._front, self._back = 0, len(sizes)
        self._own_us = own_us
        self._crowd = crowd
        self.thief_us = dict(expected or {})
        self._working: dict[int, int] = {}

    @property
    def left(self) -> int:
        """Instances that no worker has begun."""
        return self._ends[self._back] - self._ends[self._front]

    @property
    def thieves(self) -> dict[int, float]:
        """The workers that have stolen units, with their total time per instance."""
        return {thief: self.thief_us[thief] for thief in self._working}

    @property
    def own_share(self) -> float:
        """The part of all instances that the victim has begun."""
        return self._ends[self._front] / max(self._ends[-1], 1)

    def begin_own(self, may_leave: bool = True) -> OwnUnits | LeaveToThieves | None:
        """What the victim does next; None: nothing is left for it."""
        if self._front == self._back:
            return None
        unit_us = (self._ends[self._front + 1] - self._ends[self._front]) * self._own_us
        if may_leave and self._working:
            under_way = self.left + sum(self._working.values())
            wait_us = under_way / sum(1 / us for us in self.thieves.values())
            if wait_us < unit_us:
                return LeaveToThieves(wait_us)
        first, self._front = self._front, self._front + self._own_count()
        return OwnUnits(range(first, self._front))

    def _own_count(self) -> int:
        """Units at once: half to three quarters of the victim's expected total.

        A power of two, so that mostly the same units are computed together in every epoch.
        """
        most = self._ends[self._front] + _CLAIMED_SHARE * (self._own_part - self._ends[self._front])
        count = 1
        while self._front + 2 * count <= self._back and self._ends[self._front + 2 * count] <= most:
            count *= 2
        return count

    def grant(self, thief: int, thief_us: float, ready_us: float = 0.0) -> range:
        """Units for a thief; empty when stealing would save no time.

        `thief_us`: its time per instance, transfer included; `ready_us`: how long it is still busy
        with its own part.
        """
        self.thief_us[thief] = thief_us
        left = self.left - ready_us / self._own_us
        wanted = self._wanted(thief, left, ready_us) * self._fair_share(thief_us)
        low = self._back
        while low > self._front and self._ends[self._back] - self._ends[low] < wanted:
            low -= 1
        count = self._ends[self._back] - self._ends[low]
        if not count or thief_us * count >= self._own_us * left:
            return range(0)
        self._working[thief] = count + round(ready_us / thief_us)
        granted = range(low, self._back)
        self._back = low
        return granted

    def _wanted(self, thief: int, left: float, ready_us: float) -> float:
        """The instances of which a thief gets its fair share.

        A thief that requests early gets most of it at once: the transfer then costs no time.
        """
        if thief in self._working or not ready_us:
            return left * _GRANTED_SHARE
        return (self._ends[-1] - ready_us / self._own_us) * _EARLY_SHARE

    def _fair_share(self, thief_us: float) -> float:
        """By speed; expected thieves without a measured speed count as fast as this one."""
        rate = sum(1 / us for us in self.thief_us.values())
        rate += max(self._crowd - len(self.thief_us), 0) / thief_us
        return (1 / thief_us) / (rate + 1 / self._own_us)
