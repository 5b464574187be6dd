"""How long the starts of a replayed period take: as long as they did. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from motet.sim.replay.attempts.start_ups import StartUpTime


@dataclass(frozen=True, eq=False)
class PastStarts:
    """`took_us`: by job, of its starts in their order. `usual_us`: of those that there were not:
    another policy may start a job more often."""

    took_us: Mapping[int, Sequence[int]] = field(default_factory=dict)
    usual_us: int = 0

    def times(self, numbers: Sequence[int]) -> StartUpTime:
        """For one simulation; `numbers`: of its jobs, by place."""
        begun = Counter[int]()

        def time_us(place: int) -> int:
            known, before = self.took_us.get(numbers[place], ()), begun[place]
            begun[place] += 1
            return known[before] if before < len(known) else self.usual_us

        return time_us
