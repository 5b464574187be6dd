"""How long attempts take from their request until all of their processes run. Pure.

Of running jobs and of ended ones; an attempt that is still starting takes at least so long. Gangs
of many processes start more slowly, and so do attempts that wait until the one before has stopped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from motet.domain.units import MILLISECOND_US, seconds
from motet.estimate.run_times import MOST_JOBS, RunTimeForecast, RunTimeSample
from motet.live.jobs.attempt import Attempt
from motet.live.jobs.job import LiveJob

FEWEST_STARTS = 2
"""For a group of its own; the distribution of so few is wide, see RunTimeForecast."""
_Group = tuple[bool | None, int | None]
"""Whether first attempts, and of how many processes; None: all."""
_ALL: _Group = (None, None)


@dataclass(frozen=True, eq=False)
class StartUpTimes:
    """`samples`: in seconds."""

    samples: Mapping[_Group, RunTimeSample]

    @classmethod
    def of(cls, jobs: Iterable[LiveJob], until_us: int) -> StartUpTimes:
        """Until a moment."""
        found: dict[_Group, list[tuple[float, bool]]] = defaultdict(list)
        for attempt in (each for job in jobs for each in job.attempts):
            if (took_us := start_up_us(attempt, until_us)) is not None:
                for group in _groups(attempt.processes, is_first=attempt.number == 1):
                    found[group].append((seconds(took_us), attempt.running_us is not None))
        return cls({group: RunTimeSample.of(each[-MOST_JOBS:]) for group, each in found.items()})

    @property
    def take_time(self) -> bool:
        """Whether starts are known to take time."""
        every = self.samples.get(_ALL)
        return every is not None and _takes_time(every)

    def forecast(
        self, processes: int, *, is_first: bool, took_us: int = 0
    ) -> RunTimeForecast | None:
        """Of an attempt that has been starting for `took_us`. None: nothing is known, or starts
        take no time."""
        for group in _groups(processes, is_first=is_first):
            sample = self.samples.get(group)
            if sample is not None and sample.ended >= (1 if group == _ALL else FEWEST_STARTS):
                if not _takes_time(sample):
                    return None
                return RunTimeForecast.of_sample(("start-up", *group), seconds(took_us), sample)
        return None


def start_up_us(attempt: Attempt, until_us: int) -> int | None:
    """How long the start of an attempt took, or takes until now; None: it ended before."""
    if attempt.running_us is not None:
        return attempt.running_us - attempt.requested_us
    return until_us - attempt.requested_us if attempt.ended_us is None else None


def _groups(processes: int, *, is_first: bool) -> tuple[_Group, ...]:
    return ((is_first, processes), (is_first, None), _ALL)


def _takes_time(sample: RunTimeSample) -> bool:
    """Times below a millisecond are those of the clock."""
    return sample.ended > 0 and float(sample.times[-1]) >= seconds(MILLISECOND_US)
