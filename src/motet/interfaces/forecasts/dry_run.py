"""What a submission would do: when the job would start, and which jobs would end later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from motet.domain.errors import BadInput
from motet.domain.events import Event, Submitted
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import SECOND_US, seconds
from motet.estimate.run_times import RunTimeForecast
from motet.interfaces.forecasts.expected_starts import (
    ExpectedStart,
    TimeIsUp,
    expected_starts,
    within,
)
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.futures import PossibleFutures
from motet.live.jobs.array_file import is_array
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.master.intake import intake
from motet.live.master.submissions.submission import Submit

MOST_PAIRS = 19
FEWEST_PAIRS = 3
_LEAST_DELAY_US = SECOND_US
RANGE = (0.05, 0.5, 0.95)
BUDGET_S = 20.0
"""For each of the two parts."""


@dataclass(frozen=True)
class DryRunQuestion:
    """The values of a job file, for whom, and the present Unix time."""

    spec: Mapping[str, Any]
    user: str
    now_us: int


def dry_run(journal: FollowedJournal, asked: DryRunQuestion) -> dict[str, Any]:
    """Nothing is submitted. Raises BadInput as the submission would.

    `delayed`: None if it cannot be said, `delayed_unknown_because`: why.
    """
    journal.read()
    live = journal.cluster
    now_us = max(asked.now_us, live.engine.state.now_us)
    if is_array(asked.spec):
        raise BadInput("array, matrix: the start of an array is not predicted; leave them out")
    spec = job_spec(dict(asked.spec))
    if spec.after:
        raise BadInput("after: when other jobs succeed is not foreseen; leave it out of a dry run")
    if spec.after:
        raise BadInput("after: the start of a job that waits for others is not predicted")
    event = _submitted(intake(live.state, now_us, Submit(spec, asked.user)).events)
    job = LiveJob(event.job, spec, asked.user, now_us)
    before = PossibleFutures(live, now_us, journal.position)
    after = PossibleFutures(live, now_us, journal.position, (event, job))
    wanted = frozenset({job.number})
    start = expected_starts(after, wanted, within(BUDGET_S))[job.number]
    own = after.run_times[job.number]
    delays = None if own is None else _delays(before, after, within(BUDGET_S))
    return {
        "now": seconds(now_us),
        "policy": live.state.policy.policy,
        "name": spec.name,
        "processes": spec.processes,
        "expected_start": start_document(start, now_us),
        "run_time_s": None if own is None else [float(each) for each in own.quantile(RANGE)],
        "delayed": None if delays is None else [*_rows(live.state.jobs, delays)],
        "delayed_unknown_because": _why_not(own, delays),
    }


def start_document(start: ExpectedStart, now_us: int) -> dict[str, Any]:
    """Seconds from now; null where unknown, with the reason."""
    values = {"low": start.low_us, "median": start.median_us, "high": start.high_us}
    in_s = {f"{name}_s": _from_now(at_us, now_us) for name, at_us in values.items()}
    return {**in_s, "unknown_because": start.because}


def _why_not(own: RunTimeForecast | None, delays: object) -> str:
    if own is None:
        return "nothing is known of how long it will run; give duration_s"
    return "there is too much to simulate" if delays is None else ""


def _from_now(at_us: int | None, now_us: int) -> float | None:
    return None if at_us is None else max(seconds(at_us - now_us), 0.0)


def _submitted(events: Sequence[Event]) -> Submitted:
    (event,) = events
    assert isinstance(event, Submitted)
    return event


def _delays(
    before: PossibleFutures, after: PossibleFutures, check_time: Callable[[], None]
) -> dict[int, list[int]] | None:
    """Of every other job's end in each pair of futures; None: there is too much to simulate."""
    found: dict[int, list[int]] = defaultdict(list)
    for number in range(1 if after.are_equal else MOST_PAIRS):
        try:
            without, with_it = (_ends(each, number, check_time) for each in (before, after))
        except TimeIsUp:
            return None if number < FEWEST_PAIRS else found
        for job in without.keys() & with_it.keys():
            found[job].append(with_it[job] - without[job])
    return found


def _ends(futures: PossibleFutures, number: int, check_time: Callable[[], None]) -> dict[int, int]:
    """Unix times by job; without those that do not end."""
    known = np.array([futures.run_times[job] is not None for job in futures.jobs], np.bool_)
    for future in futures.drawn(number, "never"):
        outcome = future.outcome
        check_time()
        if (outcome.is_finished | outcome.is_suspended | ~known).all():
            break
    ends_us = outcome.columns["end_us"].tolist()
    return {
        job: end_us for job, end_us in zip(futures.jobs, ends_us, strict=True) if end_us != UNKNOWN
    }


def _rows(
    jobs: Mapping[int, LiveJob], delays: Mapping[int, Sequence[int]]
) -> Iterator[dict[str, Any]]:
    """Jobs that would end later by a second or more in half of the futures; the latest first."""
    typical = {job: median(each) for job, each in delays.items()}
    for job in sorted(typical, key=lambda job: (-typical[job], job)):
        if typical[job] >= _LEAST_DELAY_US:
            yield {
                "id": str(job),
                "name": jobs[job].spec.name,
                "user": jobs[job].user,
                "delay_s": seconds(typical[job]),
                "largest_delay_s": seconds(max(delays[job])),
            }
