"""Which jobs would end later because of a submission: the same futures with and without it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

import numpy as np

from motet.domain.snapshot import UNKNOWN
from motet.domain.units import SECOND_US, seconds
from motet.insight.wording import counted
from motet.interfaces.forecasts.draws.future import Check, NeverDecided, TooMuch
from motet.interfaces.forecasts.futures import PossibleFutures
from motet.live.jobs.job import LiveJob

MOST_PAIRS = 19
FEWEST_PAIRS = 3
_LEAST_DELAY_US = SECOND_US
_Pair: TypeAlias = tuple[Mapping[int, int], Mapping[int, int]]
"""When jobs end (Unix times) in futures without the new jobs, and in the same ones with them."""


@dataclass(frozen=True, eq=False)
class DelayedJobs:
    """`by_job`: of jobs that end in them, how much later, in each pair of futures; None: it cannot
    be said, `because`: why. `simulations`: pairs, where more were wanted; None: there are enough,
    or none are needed."""

    by_job: Mapping[int, Sequence[int]] | None
    because: str = ""
    simulations: int | None = None

    def rows(self, jobs: Mapping[int, LiveJob]) -> list[dict[str, Any]] | None:
        """Jobs that would end later by a second or more in half of the futures; the latest
        first."""
        return None if self.by_job is None else [*_rows(jobs, self.by_job)]


def delayed_jobs(
    before: PossibleFutures, after: PossibleFutures, check: Check, budget_s: float
) -> DelayedJobs:
    """`before`, `after`: without and with the new jobs, whose run times have to be known. `check`:
    raises TooMuch when `budget_s` is over."""
    wanted, found = 1 if after.are_equal else MOST_PAIRS, list[_Pair]()
    for number in range(wanted):
        try:
            without, with_it = (_ends_us(each, number, check) for each in (before, after))
        except NeverDecided:
            return DelayedJobs(None, "its policy decides without end in a simulation")
        except TooMuch:
            break
        found.append((without, with_it))
    if len(found) >= min(wanted, FEWEST_PAIRS):
        few = None if len(found) == wanted else len(found)
        return DelayedJobs(_delays(found), simulations=few)
    done = f"{len(found)} of {counted(min(wanted, FEWEST_PAIRS), 'simulation')}"
    return DelayedJobs(
        None,
        f"there is too much to simulate: in {budget_s:g} s of the processor {done}, with the new "
        "jobs and without them, came to their end",
    )


def _delays(pairs: Sequence[_Pair]) -> dict[int, list[int]]:
    """Of every other job's end in each pair."""
    found: dict[int, list[int]] = defaultdict(list)
    for without, with_it in pairs:
        for job in without.keys() & with_it.keys():
            found[job].append(with_it[job] - without[job])
    return found


def _ends_us(futures: PossibleFutures, number: int, check: Check) -> dict[int, int]:
    """Without those that do not end."""
    known = [futures.is_known(job) for job in futures.jobs]
    for future in futures.drawn(number, "never", check):
        outcome = future.outcome
        if (outcome.is_finished | outcome.is_suspended | ~np.array(known, np.bool_)).all():
            break
    ends = zip(futures.jobs, future.ends_us.tolist(), strict=True)
    return {job: end_us for job, end_us in ends if end_us != UNKNOWN}


def _rows(
    jobs: Mapping[int, LiveJob], delays: Mapping[int, Sequence[int]]
) -> Iterator[dict[str, Any]]:
    typical = {job: median(each) for job, each in delays.items()}
    for job in sorted(typical, key=lambda job: (-typical[job], job)):
        if typical[job] >= _LEAST_DELAY_US:
            yield {
                "id": str(job),
                "name": jobs[job].title,
                "user": jobs[job].user,
                "delay_s": seconds(typical[job]),
                "largest_delay_s": seconds(max(delays[job])),
            }
