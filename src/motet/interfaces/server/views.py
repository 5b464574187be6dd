"""Jobs as JSON documents, for the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from motet.domain.units import iso_time, microseconds, seconds
from motet.insight.wording import in_processes, in_slots
from motet.interfaces.server.stories.explanation import (
    advice,
    explained,
    idle_warning,
    limit_warning,
    loss_warning,
    why_waiting,
)
from motet.interfaces.server.stories.lost_work import with_lost_work
from motet.interfaces.server.stories.moments import with_moments
from motet.interfaces.server.stories.proposed_size import proposed_size
from motet.live.jobs.attempt import Attempt
from motet.live.jobs.job import JobArray, LiveJob
from motet.live.jobs.job_spec import TrainingSpec
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import first_failure
from motet.live.master.facts import ClusterDeclared
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState
from motet.live.read_tables.usage import gb_hours
from motet.live.time_limits.time_limit import ends_us
from motet.report.simulation.story_document import story_document

_UNIX_TIMES = ("submit_time", "end_time")


def job_line(state: LiveState, job: LiveJob, *, is_latest: bool = False) -> dict[str, Any]:
    """A job in a list. `reason`: of a wait, a warning or a failure; `message`: a sentence about a
    wait or a warning. `processes`: that it holds, or requests while it holds none.
    `most_processes`: of a training whose size may change; None: of other jobs. When it has ended,
    `least_processes` and `most_processes` are those that it has had. `limit_at`: when a
    job that runs has run for `max_duration_s`. `is_latest`: see `why_waiting`."""
    reason, message = _remark(state, job, is_latest=is_latest)
    return {
        "id": str(job.number),
        "name": job.spec.name,
        "user": job.user,
        "queue": job.spec.queue,
        "priority": job.spec.priority,
        "array": job.array and str(job.array.number),
        "index": job.index if job.array else None,
        "kind": job.spec.kind,
        "processes": job.spec.processes if job.attempt is None else job.attempt.processes,
        **_sizes(job),
        "state": job.state.value,
        "reason": reason or job.reason,
        "message": message,
        "attempts": len(job.attempts),
        "submitted_at": iso(job.submitted_us),
        "progress": _progress(job),
        "started_at": iso(_first_start_us(job)),
        "ended_at": iso(job.ended_us),
        "max_duration_s": job.spec.max_duration,
        "limit_at": iso(ends_us(job)),
    }


def array_line(state: LiveState, array: JobArray) -> dict[str, Any]:
    """An array in a list of jobs. `counts`: how many of its jobs have each state."""
    first, counts = array.jobs[0], array.counts
    starts = [each for each in map(_first_start_us, array.jobs) if each is not None]
    return {
        **job_line(state, first),
        "id": str(array.number),
        "array": None,
        "index": None,
        "kind": "array",
        "processes": array.processes,
        "held_processes": sum(_sizes(each)["held_processes"] or 0 for each in array.jobs),
        "least_processes": None,
        "most_processes": None,
        "state": array.state.value,
        "reason": ", ".join(f"{count} {state}" for state, count in counts.items()),
        "message": "",
        "counts": counts,
        "attempts": sum(len(each.attempts) for each in array.jobs),
        "progress": None,
        "started_at": iso(min(starts, default=None)),
        "ended_at": iso(array.ended_us),
        "limit_at": None,
    }


def array_page(state: LiveState, number: int) -> dict[str, Any]:
    """An array with its jobs."""
    array = state.arrays[number]
    jobs = [job_line(state, each) for each in array.jobs]
    return {**array_line(state, array), "most_open": array.most_open, "jobs": jobs}


def job_page(state: LiveState, number: int, workplace: Workplace) -> dict[str, Any]:
    """A job with its specification and all attempts. `results`: of a training, its folder.
    `borrowed_gb_hours`: memory of lenders. `working_folder`: where its processes start. `ran_s`:
    for how long its attempts that have ended ran, of `max_duration_s`. `proposal`: of its size.
    `model`: as its workers told the Aggregators.

    Raises NotFound.
    """
    assert state.cluster is not None
    job = state.job(number)
    has_results = isinstance(job.spec, TrainingSpec)
    return {
        **job_line(state, job, is_latest=True),
        "results": str(workplace.results_folder(job.number)) if has_results else None,
        "working_folder": str(workplace.working_folder(job)),
        "ran_s": seconds(
            sum(each.ran_us(each.ended_us) for each in job.attempts if each.ended_us is not None)
        ),
        "proposal": proposed_size(state, job),
        "borrowed_gb_hours": gb_hours(sum(it.borrowed_byte_s_sum for it in job.attempts)),
        "model": _model(job),
        "spec": job.spec.model_dump(mode="json"),
        "attempt_list": [
            {**_attempt(each, state.cluster), **_roles(job, each)} for each in job.attempts
        ],
    }


def _model(job: LiveJob) -> dict[str, Any] | None:
    """`skew`: the part of the largest tensor."""
    if job.model is None:
        return None
    model_bytes, largest_bytes = job.model
    skew = round(largest_bytes / model_bytes, 4)
    return {"bytes": model_bytes, "largest_bytes": largest_bytes, "skew": skew}


def job_explanation(
    state: LiveState, number: int, now_us: int, writes_us: Sequence[int] = ()
) -> dict[str, Any]:
    """The fields of `motet explain --json` until now; times of chapters are Unix seconds, see
    `dated_explanation`. Raises NotFound. `writes_us`: to the job's folder of checkpoints."""
    job = state.job(number)
    document = story_document(explained(state, number, now_us))
    chapters = [
        {**each, "sentence": _of_job(job, each["sentence"])} for each in document["chapters"]
    ]
    reason, message = _remark(state, job, is_latest=True)
    return {
        **document,
        "name": job.title,
        "state": job.state.value,
        **_sizes(job),
        "reason": reason or job.reason,
        "message": message,
        "advice": advice(state, reason, job),
        "chapters": with_moments(with_lost_work(chapters, job, writes_us), state, job, now_us),
    }


def _of_job(job: LiveJob, sentence: str) -> str:
    """A sentence of the simulator in the words of the live cluster."""
    told = in_slots(sentence)
    return told if isinstance(job.spec, TrainingSpec) else in_processes(told)


def dated_explanation(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same with ISO 8601 instead of Unix seconds, as all answers of the API."""
    chapters = [
        {**each, "from": _dated(each["from"]), "to": _dated(each["to"])}
        for each in document["chapters"]
    ]
    times = {"submitted": document["submit_time"], "ended": document["end_time"]}
    kept = {name: each for name, each in document.items() if name not in _UNIX_TIMES}
    return kept | {name: _dated(at_s) for name, at_s in times.items()} | {"chapters": chapters}


def _dated(at_s: float | None) -> str | None:
    return None if at_s is None else iso_time(microseconds(at_s))


def _sizes(job: LiveJob) -> dict[str, int | None]:
    """Processes that it holds, and those that it may hold at most if that changes by itself, or
    has had when it has ended: it needs not have had as many as it might."""
    spec, attempt = job.spec, job.attempt
    varies = spec.is_elastic and not spec.is_by_machine
    had = [each.processes for each in job.attempts] if varies and job.state.is_final else []
    return {
        "held_processes": 0 if attempt is None else attempt.processes,
        "least_processes": min(had, default=None),
        "most_processes": max(had, default=spec.processes) if varies else None,
    }


def _remark(state: LiveState, job: LiveJob, *, is_latest: bool) -> tuple[str, str]:
    """Why it waits, or what is odd about its run: a name and a sentence."""
    remarks = (limit_warning(job), loss_warning(state, job), idle_warning(job))
    found = next((each for each in remarks if each[0]), None)
    return found or why_waiting(state, job, is_latest=is_latest)


def iso(at_us: int | None) -> str | None:
    """ISO 8601 in UTC."""
    return None if at_us is None else iso_time(at_us)


def _progress(job: LiveJob) -> dict[str, Any] | None:
    """`epochs`: at most; None if unknown. `has_converged`: it has succeeded with fewer of them,
    and no `until` or trial ended it."""
    spec = job.spec
    if job.progress is None or not isinstance(spec, TrainingSpec):
        return None
    is_early = spec.epochs is not None and job.progress.steps_done < spec.epochs
    ends_by_itself = job.state is JobState.SUCCEEDED and not (spec.until or job.trial_s)
    return {
        "epochs_done": int(job.progress.steps_done),
        "epochs": spec.epochs,
        "loss": job.progress.loss,
        "has_converged": is_early and ends_by_itself,
    }


def _first_start_us(job: LiveJob) -> int | None:
    return next((each.running_us for each in job.attempts if each.running_us is not None), None)


def _roles(job: LiveJob, attempt: Attempt) -> dict[str, int]:
    """A training on machines has a server beside each worker."""
    servers = attempt.workers if job.spec.is_by_machine else attempt.servers
    return {"workers": attempt.workers, "servers": servers}


def _attempt(attempt: Attempt, cluster: ClusterDeclared) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "phase": attempt.phase.value,
        "outcome": attempt.outcome and attempt.outcome.value,
        "failure": attempt.failure or None,
        "reason": attempt.reason or None,
        "stop_cause": attempt.stop_cause and attempt.stop_cause.value,
        "placement": {
            cluster.names[machine]: slots for machine, slots in zip(*attempt.placement, strict=True)
        },
        "gpus": {
            cluster.names[machine]: devices
            for machine, devices in zip(attempt.placement.machines, attempt.devices, strict=False)
            if devices
        },
        "requested_at": iso(attempt.requested_us),
        "running_at": iso(attempt.running_us),
        "ended_at": iso(attempt.ended_us),
        "exits": [
            {"rank": rank, "code": end.code, "signal": end.signal, "reason": end.reason}
            for rank, end in enumerate(attempt.exits)
        ],
        "failed_rank": first_failure(attempt.exits),
    }
