"""Submissions: what is checked, what the engine gets, and when held jobs reach it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ByteSize

from motet.domain.errors import BadInput
from motet.domain.estimates import Overlap
from motet.domain.events import Cancelled, DataSizes, Event, Goal, Submitted, Suspended
from motet.domain.queues.queue_limits import largest_job
from motet.domain.units import microseconds
from motet.engine.state.proposed_sizes import TAKES_PROPOSALS
from motet.live.jobs.array_file import ArraySpec
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import CommandSpec, JobSpec, TrainingSpec
from motet.live.jobs.job_state import JobState
from motet.live.master.facts import (
    ArrayAccepted,
    ClusterDeclared,
    DependencyFailed,
    Fact,
    JobAccepted,
    JobReleased,
    TrialPassed,
)
from motet.live.master.intake_result import Intake
from motet.live.master.policy_choice import LEAST_US, check_duration
from motet.live.master.state import LiveState
from motet.live.master.submissions.repeated_request import check_repeated
from motet.live.queues.queue_changes import check_size
from motet.live.trials.trial_spec import EndTrial, after_trial, is_trial_of, needs_trial, trial_of
from motet.placement.room import ResourceDemand, gpus_of_empty

_NO_MODEL = -1
_MOST_COUNTED = 2**62


@dataclass(frozen=True, slots=True)
class Submit:
    """A user submits a job. `key`: the same for repetitions of the request; empty: none."""

    spec: JobSpec
    user: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class SubmitArray:
    """A user submits an array of jobs. `key`: see Submit."""

    spec: ArraySpec
    user: str
    key: str = ""


def submission_intake(
    state: LiveState, now_us: int, given: Submit | SubmitArray | EndTrial
) -> Intake:
    """Accept a job, or all jobs of an array, or end a trial. Raises BadInput for a job that could
    never start, KeyReused."""
    if isinstance(given, EndTrial):
        return Intake((TrialPassed(given.job),), (Cancelled(given.job),))
    if given.key and (known := state.job_of_key(given.user, given.key)) is not None:
        check_repeated(state, given.key, known, given.spec)
        return Intake(reply=known)
    if isinstance(given, SubmitArray):
        return _accept_array(state, now_us, given)
    return _accept_job(state, now_us, given)


def _accept_job(state: LiveState, now_us: int, given: Submit) -> Intake:
    _check(state, given.spec)
    if needs_trial(given.spec):
        trial, number = _accept_trial(state, now_us, given.spec, given.user), state.next_job + 1
        spec = after_trial(given.spec, state.next_job)
        accepted = JobAccepted(number, _document(spec), given.user, given.key)
        return Intake((*trial.facts, accepted), trial.events, number)
    job = LiveJob(state.next_job, given.spec, given.user, now_us)
    accepted = JobAccepted(job.number, _document(job.spec), given.user, given.key)
    events = () if job.spec.after else (arrival(state, now_us, job),)
    return Intake((accepted,), events, job.number)


def _accept_array(state: LiveState, now_us: int, given: SubmitArray) -> Intake:
    """One trial is for all jobs of the array: most errors are in what they have in common."""
    for _, spec in given.spec.jobs:
        _check(state, spec)
    array, user, jobs = state.next_job, given.user, given.spec.jobs
    trial = Intake()
    if needs_trial(jobs[0][1]):
        trial = _accept_trial(state, now_us, jobs[0][1], user)
        jobs = tuple((index, after_trial(spec, array)) for index, spec in jobs)
        array += 1
    facts: list[Fact] = [
        ArrayAccepted(array, given.spec.name, user, given.key, given.spec.most_open)
    ]
    for job, (index, spec) in enumerate(jobs, start=array + 1):
        facts.append(JobAccepted(job, _document(spec), user, "", array, index))
    return Intake((*trial.facts, *facts), trial.events, array)


def _accept_trial(state: LiveState, now_us: int, spec: JobSpec, user: str) -> Intake:
    job = LiveJob(state.next_job, trial_of(spec), user, now_us)
    accepted = JobAccepted(job.number, _document(job.spec), user, "", trial_s=spec.trial_s)
    return Intake((accepted,), () if job.spec.after else (arrival(state, now_us, job),))


def _document(spec: JobSpec) -> dict[str, Any]:
    return spec.model_dump(mode="json")


def _check(state: LiveState, spec: JobSpec) -> None:
    _check_size(state, spec)
    check_duration(state.policy, spec)
    _check_dependencies(state, spec)


def release_held(state: LiveState, now_us: int) -> Intake:
    """The held jobs whose dependencies have succeeded, and those that can never start."""
    facts: list[Fact] = []
    events: list[Event] = []
    for job, failed in state.held.doomed:
        is_trial = is_trial_of(failed.number, job.spec)
        reason = _why_doomed(failed, is_trial=is_trial)
        trial = failed.number if is_trial and failed.state is JobState.FAILED else 0
        facts.append(DependencyFailed(job.number, reason, trial))
    for job in state.held.ready:
        facts.append(JobReleased(job.number))
        events += _arrivals(state, now_us, job)
    return Intake(tuple(facts), tuple(events))


def _why_doomed(failed: LiveJob, *, is_trial: bool) -> str:
    if is_trial:
        return f"its trial, job {failed.number}, is {failed.state}: {failed.reason or 'by a user'}"
    return f"it waits for job {failed.number} to succeed, which is {failed.state}"


def _arrivals(state: LiveState, now_us: int, job: LiveJob) -> list[Event]:
    events: list[Event] = [arrival(state, now_us, job)]
    if job.is_suspended:
        events.append(Suspended(job.number))
    return events


def arrival(state: LiveState, now_us: int, job: LiveJob) -> Submitted:
    """The job as the engine gets it. A held one takes its place in line when it is released, those
    of an array that of the first of them."""
    spec, array = job.spec, job.array
    queue = state.queue_book.number(spec.queue)
    columns = {
        **_request_of(state, spec, _slots_of(state, queue)),
        "queue": queue,
        "priority": spec.priority,
        "submit_us": now_us if array is None else array.since_us or now_us,
        "model": _NO_MODEL,
    }
    if not _may_share(spec):
        columns |= _demand_of(spec, _processes_of(spec, columns))
    if array is not None:
        columns["experiment"] = array.number
    if spec.duration_s is not None:
        columns["remaining_us"] = max(microseconds(spec.duration_s), LEAST_US)
    if isinstance(spec, CommandSpec):
        return Submitted(job.number, columns)
    data = None
    if spec.machines is not None:
        data = DataSizes(0, int(spec.memory or 0), _overlap(spec))
    return Submitted(job.number, columns, _goal(spec), data)


def _overlap(spec: TrainingSpec) -> Overlap:
    if spec.is_asynchronous:
        return Overlap.ALWAYS
    return Overlap.PERMITTED if spec.allow_async else Overlap.NEVER


def _may_share(spec: JobSpec) -> bool:
    """Whether jobs may be beside it on its machines: its policy counts the memory, as declared and
    then as measured. No other job has slots there."""
    return isinstance(spec, TrainingSpec) and spec.machines is not None and spec.is_elastic


def _size_of(spec: JobSpec) -> str:
    """What the size of a job is called in its file."""
    if isinstance(spec, CommandSpec):
        return "processes"
    return "workers + servers" if spec.machines is None else "slots of its machines"


def _check_size(state: LiveState, spec: JobSpec) -> None:
    queue, queues = state.queue_book.number_for_job(spec.queue), state.queue_book.in_force
    assert state.cluster is not None
    slots = sum(state.cluster.slots)
    least, size = least_slots(state.cluster, spec), _size_of(spec)
    if not state.cluster.names:
        if spec.is_by_machine:
            raise BadInput("machines: the cluster has none yet; submit the job when it has")
        return
    if least > slots:
        has = "1 slot" if slots == 1 else f"{slots} slots"
        raise BadInput(f"{size}: {least}, but the cluster has {has}; the job could never start")
    check_size(queues, queue, slots, least, f"{size}:")
    columns = _request_of(state, spec, _slots_of(state, queue))
    _check_demand(state.cluster, spec, _processes_of(spec, columns))


def least_slots(cluster: ClusterDeclared, spec: JobSpec) -> int:
    """Slots without which a job cannot run."""
    if isinstance(spec, CommandSpec):
        return spec.least_processes
    if spec.machines is not None:
        return spec.least.workers * cluster.usual_slots
    return spec.least.workers + spec.least.servers


def _processes_of(spec: JobSpec, columns: Mapping[str, int]) -> int:
    """Of the request in these columns."""
    return columns["workers" if spec.is_by_machine else "gpus"]


def _demand_of(spec: JobSpec, processes: int) -> dict[str, int]:
    """Columns of what the processes need beside their slots."""
    of_one = {"cpus": spec.cpus, "memory_bytes": spec.memory}
    return {name: value * processes for name, value in of_one.items() if value is not None}


def _check_demand(cluster: ClusterDeclared, spec: JobSpec, processes: int) -> None:
    demand = ResourceDemand(processes, **_demand_of(spec, processes))
    if demand.memory_bytes * processes > _MOST_COUNTED:
        raise BadInput(f"memory: more than can be counted for {processes:,} processes")
    if processes > (fitting := int(gpus_of_empty(cluster.spec(), demand).sum())):
        told = {"cpus": spec.cpus, "memory": spec.memory and spec.memory.human_readable(True)}
        wanted = ", ".join(f"{name}: {value}" for name, value in told.items() if value)
        raise BadInput(
            f"{wanted}: the machines have room for {fitting} such processes, not {processes}"
            f"{_largest(cluster, spec)}; the job could never start"
        )


def _largest(cluster: ClusterDeclared, spec: JobSpec) -> str:
    """The most that a machine has of what the job requests; empty: nothing is known."""
    machines = range(len(cluster.names))
    cpus = max(map(cluster.cpus_of, machines), default=0) if spec.cpus else 0
    memory = max(map(cluster.memory_of, machines), default=0) if spec.memory else 0
    told = [f"{cpus:,} CPU{'' if cpus == 1 else 's'}"] if cpus else []
    told += [f"{ByteSize(memory).human_readable(decimal=True)} of memory"] if memory else []
    return f" (a machine has at most {' and '.join(told)})" if told else ""


def _slots_of(state: LiveState, queue: int) -> int:
    """The most that a job of the queue can get of the cluster."""
    assert state.cluster is not None
    slots = sum(state.cluster.slots)
    return min(slots, largest_job(queue, state.queue_book.in_force.limits, slots))


def _check_dependencies(state: LiveState, spec: JobSpec) -> None:
    for number in spec.after:
        if number not in state.jobs and number not in state.arrays:
            raise BadInput(f"after: there is no job {number}")
        for job in state.jobs_of(number):
            if job.state.is_final and job.state is not JobState.SUCCEEDED:
                raise BadInput(f"after: job {job.number} is {job.state}; the job could never start")


def _request_of(state: LiveState, spec: JobSpec, slots: int) -> dict[str, int]:
    """Columns of a job's size. `slots`: of the cluster; an elastic job requests all that it can use
    of them, which policies that do not resize jobs give it, or at least its minimum. One
    that proposes its size requests the minimum at first.
    """
    if isinstance(spec, CommandSpec):
        return _request_of_command(spec, slots)
    if spec.machines is not None:
        assert state.cluster is not None
        return _request_of_machines(spec, slots, state.cluster.usual_slots)
    least, most = spec.least, spec.most
    proposals: dict[str, int] = {}
    if spec.proposes_size:
        most = least  # Until it has measured itself.
        proposals = {TAKES_PROPOSALS: 1}
        proposals |= {"proposed_workers": least.workers, "proposed_servers": least.servers}
        slots = 0
    wanted = spec.most_within(max(slots, least.workers + least.servers))
    return {
        "gpus": wanted.workers + wanted.servers,
        "workers": wanted.workers,
        "min_workers": least.workers,
        "max_workers": most.workers,
        "servers": wanted.servers,
        "min_servers": least.servers,
        "max_servers": most.servers,
        "server_gpus": 1,
        **proposals,
    }


def _request_of_command(spec: CommandSpec, slots: int) -> dict[str, int]:
    """Every process of an elastic command is a worker."""
    if not spec.is_elastic:
        return {"gpus": spec.processes}
    wanted = max(spec.least_processes, min(spec.processes, slots))
    return {
        "gpus": wanted,
        "workers": wanted,
        "min_workers": spec.least_processes,
        "max_workers": spec.processes,
        "servers": 0,
        "min_servers": 0,
        "max_servers": 0,
        "server_gpus": 0,
    }


def _request_of_machines(spec: TrainingSpec, slots: int, of_machine: int) -> dict[str, int]:
    """A worker takes all slots of a machine, and has the server of that machine beside it."""
    least, most = spec.least.workers, spec.most.workers
    wanted = max(least, min(most, slots // of_machine))
    return {
        "gpus": wanted * of_machine,
        "workers": wanted,
        "min_workers": least,
        "max_workers": most,
        "worker_gpus": of_machine,
        "servers": 0,
        "min_servers": 0,
        "max_servers": 0,
        "server_gpus": 0,
    }


def _goal(spec: TrainingSpec) -> Goal:
    """Steps are epochs."""
    planned = None if spec.epochs is None else float(spec.epochs)
    return Goal(target_loss=spec.target_loss, planned_steps=planned)
