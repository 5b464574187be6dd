"""What a submission would do: when its jobs would start, and which jobs would end later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from motet.domain.units import iso_time, seconds
from motet.estimate.run_times import RunTimeForecast
from motet.insight.expected_start import rough_words
from motet.insight.wording import counted
from motet.interfaces.forecasts.dry_runs.budget import DryRunBudget
from motet.interfaces.forecasts.dry_runs.delays import DelayedJobs, delayed_jobs
from motet.interfaces.forecasts.expected_starts import (
    COVERAGE,
    FEWEST_FUTURES,
    Choose,
    ExpectedStart,
    SimulatedFutures,
    from_now_s,
    simulated_futures,
    start_document,
    start_in_group,
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

RANGE = (0.05, 0.5, 0.95)
_FEWEST = 3
"""Futures whose range says something: half of such starts lie in it."""


@dataclass(frozen=True)
class DryRunQuestion:
    """The values of a job file, for whom, and the present Unix time."""

    spec: Mapping[str, Any]
    user: str
    now_us: int


def dry_run(
    journal: FollowedJournal,
    asked: DryRunQuestion,
    budget: DryRunBudget | None = None,
    foresight: Foresight = Foresight.LATER,
) -> dict[str, Any]:
    """Nothing is submitted. Raises BadInput as the submission would. `trial_s`: how long a trial
    runs first, at most; None: there is none. It is taken to run so long, and to pass.

    `budget`: None: the usual one. `foresight`: of the starts; delays are those without later
    submissions. `simulations`: from how many the ranges of starts are, `coverage`: the part of such
    starts that should be in them; 0 and None: there are no ranges. `delayed`: None if it cannot be
    said, `delayed_unknown_because`: why; `delay_simulations`: from how many it is, if more were
    wanted.
    """
    budget = budget or DryRunBudget()
    budget.report_progress("reading the journal")
    journal.read()
    budget.begin()
    live = journal.cluster
    now_us = max(asked.now_us, live.engine.state.now_us)
    new = NewJobs.of(live.state, now_us, _wanted(asked))
    present = Foresight.PRESENT if foresight is Foresight.LATER else foresight
    before, after, foreseen = (
        PossibleFutures(live, now_us, journal.position, jobs, seen)
        for jobs, seen in ((None, present), (new, present), (new, foresight))
    )
    known = _known_delays(live.state, after, new)
    starts = _starts(live.state, foreseen, new, budget, leaves_time=known is None)
    delayed = known or _simulated_delays(before, after, budget)
    first = next(iter(new.jobs.values()))
    return {
        "now": iso_time(now_us),
        "policy": live.state.policy.policy,
        "name": first.spec.name,
        "jobs": len(new.jobs),
        "processes": first.spec.processes,
        **size_document(first.spec),
        "trial_s": new.trial and new.trial.trial_s,
        "expected_start": _document(starts.first, now_us),
        "last_start": _document(starts.last, now_us),
        "simulations": starts.simulations,
        "coverage": starts.coverage,
        "starts": [
            {"index": index, **_document(start, now_us)}
            for index, start in sorted(starts.by_index.items())
        ],
        "run_time_s": None
        if after.shares(first.number)
        else _run_time_s(first, after.run_times[first.number]),
        "delayed": delayed.rows(live.state.jobs),
        "delayed_unknown_because": delayed.because,
        "delay_simulations": delayed.simulations,
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
    simulations: int
    coverage: float | None


def _starts(
    state: LiveState,
    after: PossibleFutures,
    new: NewJobs,
    budget: DryRunBudget,
    *,
    leaves_time: bool,
) -> _NewStarts:
    """`leaves_time`: whether delays are to be simulated, too."""
    group = frozenset(new.jobs)
    indices = {job.index: number for number, job in new.jobs.items() if job.array is not None}
    if because := new.obstacle(state):
        unknown = ExpectedStart(None, None, None, because)
        return _NewStarts(unknown, unknown, dict.fromkeys(indices, unknown), 0, None)
    ahead = counted(len(after.waiting - group), "waiting job")
    complete = [0]

    def has_range() -> bool:
        return complete[-1] >= _FEWEST and leaves_time

    check = budget.starts(f"simulating the start beside {ahead}", has_range)
    simulated = simulated_futures(after, group, check, _FEWEST, complete.append)

    def start(choose: Choose) -> ExpectedStart:
        return start_in_group(after, group, simulated, choose)

    return _NewStarts(
        start(lambda starts: min(starts.values(), default=None)),
        start(lambda starts: max(starts.values()) if len(starts) == len(group) else None),
        {index: start(_start_of(number)) for index, number in indices.items()},
        simulated.count,
        _coverage(simulated),
    )


def _coverage(simulated: SimulatedFutures) -> float | None:
    """A further start is equally probably in each place among those of the futures."""
    count = simulated.count
    if not count:
        return None
    return COVERAGE if count >= FEWEST_FUTURES else (count - 1) / (count + 1)


def _start_of(number: int) -> Choose:
    return lambda starts: starts.get(number)


def _document(start: ExpectedStart, now_us: int) -> dict[str, Any]:
    """`later_than_s`: a start that is too far away for a range is no earlier, in what was
    simulated; null: there is a range, or nothing is known."""
    later_s = from_now_s(start.later_than_us, now_us)
    told = start_document(start, now_us)
    if later_s is not None and later_s >= 1:
        told["unknown_because"] += f"; in what was, it waits for {rough_words(later_s)} at least"
    return {**told, "later_than_s": later_s}


def _known_delays(state: LiveState, after: PossibleFutures, new: NewJobs) -> DelayedJobs | None:
    """What needs no simulation; None: delays have to be simulated."""
    if obstacle := new.obstacle(state) or after.obstacle:
        return DelayedJobs(None, obstacle)
    if after.keep_order:
        return DelayedJobs({})
    if not all(map(after.is_known, new.jobs)):
        return DelayedJobs(None, "nothing is known of how long it will run; give duration_s")
    return None


def _simulated_delays(
    before: PossibleFutures, after: PossibleFutures, budget: DryRunBudget
) -> DelayedJobs:
    others = counted(len(before.jobs), "other job")
    check = budget.delays(f"simulating the ends of {others} with it and without it")
    return delayed_jobs(before, after, check, budget.all_s)
