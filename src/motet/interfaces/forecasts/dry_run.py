"""What a submission would do: when its jobs would start, and which jobs would end later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeAlias

import numpy as np

from motet.domain.snapshot import UNKNOWN
from motet.domain.units import SECOND_US, iso_time, seconds
from motet.estimate.run_times import RunTimeForecast
from motet.interfaces.forecasts.draws.future import Check, TooMuch
from motet.interfaces.forecasts.expected_starts import (
    ExpectedStart,
    simulated_futures,
    start_in_group,
    up_to,
)
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.futures import Foresight, PossibleFutures
from motet.interfaces.forecasts.new_jobs import NewJobs
from motet.live.jobs.array_file import array_spec, is_array
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_spec import MOST_PROCESSES, CommandSpec, JobSpec, TrainingSpec
from motet.live.master.state import LiveState
from motet.live.master.submissions.submission import Submit, SubmitArray
from motet.live.time_limits.time_limit import left_us

MOST_PAIRS = 19
FEWEST_PAIRS = 3
_LEAST_DELAY_US = SECOND_US
RANGE = (0.05, 0.5, 0.95)
MOST_WORK = 50_000_000
"""For each of the two parts: 15 to 30 s of a core, see Future."""


@dataclass(frozen=True)
class DryRunQuestion:
    """The values of a job file, for whom, and the present Unix time."""

    spec: Mapping[str, Any]
    user: str
    now_us: int


def dry_run(
    journal: FollowedJournal,
    asked: DryRunQuestion,
    foresight: Foresight = Foresight.LATER,
    most_work: int = MOST_WORK,
) -> dict[str, Any]:
    """Nothing is submitted. Raises BadInput as the submission would. `trial_s`: how long a trial
    runs first, at most; None: there is none. It is taken to run so long, and to pass.

    `foresight`: of the starts; delays are those without later submissions. `delayed`: None if it
    cannot be said, `delayed_unknown_because`: why.
    """
    journal.read()
    live = journal.cluster
    now_us = max(asked.now_us, live.engine.state.now_us)
    new = NewJobs.of(live.state, now_us, _wanted(asked))
    present = Foresight.PRESENT if foresight is Foresight.LATER else foresight
    before, after, foreseen = (
        PossibleFutures(live, now_us, journal.position, jobs, seen)
        for jobs, seen in ((None, present), (new, present), (new, foresight))
    )
    starts = _starts(live.state, foreseen, new, up_to(most_work))
    obstacle = new.obstacle(live.state) or after.obstacle
    is_known = all(map(after.is_known, new.jobs))
    pairs = _pairs(before, after, up_to(most_work)) if is_known and not obstacle else None
    delays = None if pairs is None else _delays(pairs)
    first = next(iter(new.jobs.values()))
    return {
        "now": iso_time(now_us),
        "policy": live.state.policy.policy,
        "name": first.spec.name,
        "jobs": len(new.jobs),
        "processes": first.spec.processes,
        **size_document(first.spec),
        "trial_s": new.trial and new.trial.trial_s,
        "expected_start": start_document(starts.first, now_us),
        "last_start": start_document(starts.last, now_us),
        "starts": [
            {"index": index, **start_document(start, now_us)}
            for index, start in sorted(starts.by_index.items())
        ],
        "run_time_s": None
        if after.shares(first.number)
        else _run_time_s(first, after.run_times[first.number]),
        "delayed": None if delays is None else [*_rows(live.state.jobs, delays)],
        "delayed_unknown_because": _why_not(obstacle, delays, is_known=is_known),
    }


def size_document(spec: JobSpec) -> dict[str, Any]:
    """How many processes a job may have; `most_processes`: None: one on every machine.

    `proposes_size`: it begins with the fewest; otherwise its policy chooses.
    """
    most = spec.processes
    if isinstance(spec, CommandSpec):
        least = spec.least_processes
    else:
        roles = ("workers",) if spec.is_by_machine else ("workers", "servers")
        least, most = (sum(getattr(it, each) for each in roles) for it in (spec.least, spec.most))
    return {
        "least_processes": least,
        "most_processes": None if spec.is_by_machine and most == MOST_PROCESSES else most,
        "proposes_size": isinstance(spec, TrainingSpec) and spec.proposes_size,
    }


def _run_time_s(job: LiveJob, forecast: RunTimeForecast | None) -> list[float] | None:
    """Of a new job, no longer than its `max_duration`."""
    if forecast is None:
        return None
    most_s = seconds(left_us(job, 0))
    return [min(float(each), most_s) for each in forecast.quantile(RANGE)]


def _wanted(asked: DryRunQuestion) -> Submit | SubmitArray:
    if is_array(asked.spec):
        return SubmitArray(array_spec(asked.spec), asked.user)
    return Submit(job_spec(dict(asked.spec)), asked.user)


@dataclass(frozen=True)
class _NewStarts:
    """When the first and the last of the new jobs start, and each job of an array."""

    first: ExpectedStart
    last: ExpectedStart
    by_index: Mapping[int, ExpectedStart]


def _starts(state: LiveState, after: PossibleFutures, new: NewJobs, check: Check) -> _NewStarts:
    group = frozenset(new.jobs)
    indices = {job.index: number for number, job in new.jobs.items() if job.array is not None}
    if because := new.obstacle(state):
        unknown = ExpectedStart(None, None, None, because)
        return _NewStarts(unknown, unknown, dict.fromkeys(indices, unknown))
    simulated = simulated_futures(after, group, check)

    def start(choose: Callable[[Mapping[int, int]], int | None]) -> ExpectedStart:
        return start_in_group(after, group, simulated, choose)

    return _NewStarts(
        start(lambda starts: min(starts.values(), default=None)),
        start(lambda starts: max(starts.values()) if len(starts) == len(group) else None),
        {index: start(_start_of(number)) for index, number in indices.items()},
    )


def _start_of(number: int) -> Callable[[Mapping[int, int]], int | None]:
    return lambda starts: starts.get(number)


def start_document(start: ExpectedStart, now_us: int) -> dict[str, Any]:
    """Seconds from now; null where unknown, with the reason."""
    values = {"low": start.low_us, "median": start.median_us, "high": start.high_us}
    in_s = {f"{name}_s": _from_now(at_us, now_us) for name, at_us in values.items()}
    return {**in_s, "unknown_because": start.because}


def _why_not(obstacle: str, delays: object, *, is_known: bool) -> str:
    if obstacle:
        return obstacle
    if not is_known:
        return "nothing is known of how long it will run; give duration_s"
    return "there is too much to simulate" if delays is None else ""


def _from_now(at_us: int | None, now_us: int) -> float | None:
    return None if at_us is None else max(seconds(at_us - now_us), 0.0)


_Pairs: TypeAlias = Sequence[tuple[Mapping[int, int], Mapping[int, int]]]
"""When jobs end (Unix times) in futures without the new jobs, and in the same ones with them."""


def _pairs(before: PossibleFutures, after: PossibleFutures, check: Check) -> _Pairs | None:
    """None: there is too much to simulate."""
    found: list[tuple[Mapping[int, int], Mapping[int, int]]] = []
    for number in range(1 if after.are_equal else MOST_PAIRS):
        try:
            without, with_it = (_ends_us(each, number, check) for each in (before, after))
        except TooMuch:
            return None if number < FEWEST_PAIRS else found
        found.append((without, with_it))
    return found


def _delays(pairs: _Pairs) -> dict[int, list[int]]:
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
    """Jobs that would end later by a second or more in half of the futures; the latest first."""
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
