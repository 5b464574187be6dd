"""The report of a replay: completion times as measured, simulated, and under another policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.errors import MotetError
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import NEVER_US, iso_time, seconds
from motet.interfaces.forecasts.remaining_work import RemainingWork, has_ended
from motet.interfaces.forecasts.replay.barred_rows import barred_rows
from motet.interfaces.forecasts.replay.policies_in_turn import PoliciesInTurn
from motet.interfaces.forecasts.replayed_period import PolicyInForce, ReplayedPeriod
from motet.interfaces.forecasts.sizes.sized_trainings import SizedTrainings
from motet.live.jobs.attempt import StopCause
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import CommandSpec
from motet.live.jobs.job_state import JobState
from motet.live.master.state import LiveState
from motet.sim.metrics.summary import Distribution
from motet.sim.replay.outcome import Outcome
from motet.sim.workload.measured_work import is_measured

Tell: TypeAlias = Callable[[str], None]
"""Is called at the beginning of every phase of a replay with its name."""


def untold(phase: str) -> None:
    """No one waits for the replay."""
    del phase


def what_if_report(
    state: LiveState,
    period: ReplayedPeriod,
    policies: PoliciesInTurn,
    work: RemainingWork,
    sized: SizedTrainings,
    wanted: PolicyInForce,
    until_us: int,
    warnings: Sequence[str] = (),
    tell: Tell = untold,
) -> dict[str, Any]:
    """Simulates the policies that were in force, and the wanted one. Durations are seconds, times
    ISO 8601. `warnings`: about the journal; one is added if a policy that was in force cannot be
    simulated, say without its file.

    Statistics are of the jobs that ended by themselves on the live cluster (`jobs_compared`), so
    that they are of the same jobs in all three runs. Jobs complete when their processes have ended;
    a simulated one holds its slots for as long after that as the server did not know it, for
    example in an outage. `replay_error`: of the mean completion time under the policies that were
    in force, relative to the measured one. `never_start`: jobs that wait at the end under the
    wanted policy, and would for ever.
    """
    jobs = [state.jobs[number] for number in period.jobs]
    tell("replays the policy in force")
    before, problem = _in_force(period, policies)
    tell(f"simulates {wanted.policy}")
    simulation = period.simulation(wanted)
    after = simulation.run()
    runs = [
        _measured_run(policies.last, [job for job in jobs if has_ended(job)], period),
        _unknown_run(policies.last)
        if before is None
        else _simulated(period, policies.last, before, jobs),
        _simulated(period, wanted, after, jobs),
    ]
    counted = {
        "jobs": len(jobs),
        "jobs_compared": sum(has_ended(job) for job in jobs),
        "jobs_cancelled": sum(job.state is JobState.CANCELLED for job in jobs),
        "jobs_predicted": sum(not has_ended(job) and _is_open(job) for job in jobs),
        "jobs_assumed": sum(job.number in work.assumed and _is_open(job) for job in jobs),
        **_sized_counts(jobs, sized, after),
        "never_start": barred_rows(period.jobs, simulation.barred),
    }
    return {
        "from": iso_time(max(period.start.now_us, min(job.submitted_us for job in jobs))),
        "until": iso_time(until_us),
        **counted,
        "policies": policies.as_dicts(),
        "policy_changes": len(policies.changes),
        "restart_s": seconds(period.starts.usual_us),
        "resize_s": seconds(period.starts.usual_us + period.resize_us),
        "replay_error": _relative(runs[0], runs[1]),
        "warnings": [*warnings, *problem],
        "runs": runs,
        "job_list": [*_job_rows(jobs, work, sized, before, after)],
    }


def _is_open(job: LiveJob) -> bool:
    return job.state is not JobState.CANCELLED


def _sized_counts(jobs: Sequence[LiveJob], sized: SizedTrainings, after: Outcome) -> dict[str, int]:
    """`elastic_jobs`: trainings of a fixed size. `elastic_commands`: all of a fixed size.
    `resized_jobs`, `machine_jobs`: of the other trainings, those of workers and servers, and those
    on machines. `estimated_jobs`: that run with a size at which they were not measured."""
    resized = [job for job in jobs if job.number in sized.jobs]
    places = dict(enumerate(jobs))
    trained = after.trained
    held = zip(
        trained.job.tolist(), trained.workers.tolist(), trained.servers.tolist(), strict=True
    )
    estimated = {
        place
        for place, *size in held
        if not is_measured(sized.jobs[places[place].number].speeds, *size)
    }
    return {
        "elastic_jobs": sum(job.number in sized.fixed for job in jobs),
        "elastic_commands": sum(
            isinstance(job.spec, CommandSpec) and job.spec.is_elastic for job in jobs
        ),
        "resized_jobs": sum(not job.spec.is_by_machine for job in resized),
        "proposals": sized.proposals,
        "machine_jobs": sum(job.spec.is_by_machine for job in resized),
        "unprofiled_jobs": len(sized.unprofiled),
        "estimated_jobs": len(estimated),
    }


def _measured_run(
    policy: PolicyInForce, ended: Sequence[LiveJob], period: ReplayedPeriod
) -> dict[str, Any]:
    """`ended`: the compared jobs."""
    jct_us = np.array([(job.ended_us or 0) - job.submitted_us for job in ended], np.int64)
    ends_us = max((job.ended_us or 0 for job in ended), default=0)
    submitted_us = min((job.submitted_us for job in ended), default=0)
    preemptions = sum(
        attempt.was_preempted and (attempt.freed_us or 0) > period.start.now_us
        for job in ended
        for attempt in job.attempts
    )
    resizes = sum(
        attempt.stop_cause is StopCause.RESIZED and (attempt.freed_us or 0) > period.start.now_us
        for job in ended
        for attempt in job.attempts
    )
    held_us = np.array([_held_us(job) for job in ended], np.int64)
    unheard_us = np.array([job.unheard_us for job in ended], np.int64)
    makespan_us, counts = ends_us - submitted_us, (preemptions, resizes)
    return _run("measured", policy, jct_us, jct_us + unheard_us - held_us, makespan_us, counts)


def _held_us(job: LiveJob, until_us: int = NEVER_US) -> int:
    """The time until then for which a job held slots, or an ended job in all."""
    ends_us = [NEVER_US if each.freed_us is None else each.freed_us for each in job.attempts]
    held_us = zip((each.requested_us for each in job.attempts), ends_us, strict=True)
    return sum(max(min(end_us, until_us) - from_us, 0) for from_us, end_us in held_us)


def _simulated_held_us(outcome: Outcome) -> Ints:
    """The same for all jobs of a simulation, since its start. Holds are ordered by start and job;
    those on several machines count once."""
    holds, held_us = outcome.holds, np.zeros(len(outcome.workload), np.int64)
    is_first = np.diff(holds.start_us, prepend=UNKNOWN) != 0
    is_first |= np.diff(holds.job, prepend=UNKNOWN) != 0
    np.add.at(held_us, holds.job[is_first], (holds.end_us - holds.start_us)[is_first])
    return held_us


def _in_force(period: ReplayedPeriod, policies: PoliciesInTurn) -> tuple[Outcome | None, list[str]]:
    """The outcome under the policies that were in force, or why there is none."""
    try:
        return period.simulated(policies.first, policies.changes), []
    except MotetError as error:
        return None, [f"the policy in force cannot be simulated: {error}"]


def _unknown_run(policy: PolicyInForce) -> dict[str, Any]:
    none = np.zeros(0, np.int64)
    return {**_run("simulated", policy, none, none, 0, (0, 0)), "knows_durations": False}


def _simulated(
    period: ReplayedPeriod, policy: PolicyInForce, outcome: Outcome, jobs: Sequence[LiveJob]
) -> dict[str, Any]:
    done = outcome.is_finished & np.array([has_ended(job) for job in jobs], np.bool_)
    unheard_us = np.array([job.unheard_us for job in jobs], np.int64)[done]
    ends_us = outcome.columns["end_us"][done] - unheard_us
    submitted_us = np.array([job.submitted_us for job in jobs], np.int64)[done]
    makespan_us = int(ends_us.max() - submitted_us.min()) if done.any() else 0
    counts = tuple(int(outcome.columns[name][done].sum()) for name in ("preemptions", "rescales"))
    jct_us = ends_us - submitted_us
    before_us = [_held_us(job, period.start.now_us) for job in jobs]
    held_us = np.array(before_us, np.int64) + _simulated_held_us(outcome)
    wait_us = jct_us + unheard_us - held_us[done]
    run = _run("simulated", policy, jct_us, wait_us, makespan_us, counts)
    return {**run, "knows_durations": period.experiment(policy).policy_class.knows_durations}


def _run(
    kind: str,
    policy: PolicyInForce,
    jct_us: Ints,
    wait_us: Ints,
    makespan_us: int,
    counts: tuple[int, ...],
) -> dict[str, Any]:
    """`counts`: preemptions and resizes."""
    return {
        "kind": kind,
        "policy": policy.policy,
        "settings": dict(policy.settings),
        "finished": len(jct_us),
        "jct_s": asdict(Distribution.of(jct_us)) if len(jct_us) else None,
        "wait_s": asdict(Distribution.of(wait_us)) if len(wait_us) else None,
        "makespan_s": seconds(makespan_us),
        "preemptions": counts[0],
        "resizes": counts[1],
    }


def _relative(measured: dict[str, Any], simulated: dict[str, Any]) -> float | None:
    """None: they are not of the same jobs, or there are none."""
    if not measured["finished"] or measured["finished"] != simulated["finished"]:
        return None
    return float(simulated["jct_s"]["mean"] / measured["jct_s"]["mean"] - 1)


def _job_rows(
    jobs: Sequence[LiveJob],
    work: RemainingWork,
    sized: SizedTrainings,
    before: Outcome | None,
    after: Outcome,
) -> Iterator[dict[str, Any]]:
    """Completion times are None where the job did not complete."""
    for place, job in enumerate(jobs):
        ended_us = job.ended_us if has_ended(job) else None
        yield {
            "id": str(job.number),
            "name": job.title,
            "user": job.user,
            "queue": job.spec.queue,
            "processes": _processes(job, sized, int(after.workload.gpus[place])),
            "state": job.state.value,
            "submitted": iso_time(job.submitted_us),
            "is_predicted": job.number in work.predicted,
            "measured_jct_s": None if ended_us is None else seconds(ended_us - job.submitted_us),
            "in_force_jct_s": before and _jct_s(before, place, job),
            "jct_s": _jct_s(after, place, job),
            "in_force_preemptions": before and int(before.columns["preemptions"][place]),
            "preemptions": int(after.columns["preemptions"][place]),
        }


def _processes(job: LiveJob, sized: SizedTrainings, requested: int) -> int:
    """Of a training that is resized, the most slots that it held."""
    held = [attempt.processes for attempt in job.attempts]
    return max(held) if job.number in sized.jobs and held else requested


def _jct_s(outcome: Outcome, place: int, job: LiveJob) -> float | None:
    end_us = int(outcome.columns["end_us"][place])
    return None if end_us == UNKNOWN else seconds(end_us - job.unheard_us - job.submitted_us)
