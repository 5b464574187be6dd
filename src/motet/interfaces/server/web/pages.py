"""What the templates show: documents of the state, read between two steps of the master. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from motet.domain.units import SECOND_US, duration_words, seconds
from motet.insight.expected_start import expected_start_words
from motet.insight.policy_failure import policy_failure_words
from motet.interfaces.server.stories.moments import policy_text
from motet.interfaces.server.views import array_line, job_explanation, job_line, job_page
from motet.interfaces.server.web.drawings import MachineSlots, colour_of, machine_slots
from motet.live.jobs.attempt import AttemptPhase
from motet.live.jobs.job import JobArray, LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState
from motet.live.time_limits.time_limit import ends_us

_SHOWN = 8


def common(state: LiveState, machines: list[MachineSlots] | None = None) -> dict[str, Any]:
    """What every page says of the cluster. `machines`: where the page has them already."""
    machines = machine_slots(state) if machines is None else machines
    usable = [each for each in machines if each.condition == "up"]
    return {
        "policy": policy_text(state.policy),
        "refusal": state.refusal,
        "policy_failure": policy_failure_words(state.policy_failure),
        "slots": sum(each.slots for each in usable),
        "taken": sum(each.slots - each.free for each in machines),
        "machine_count": len(machines),
    }


def overview(state: LiveState) -> dict[str, Any]:
    """Running jobs and those that were submitted last; `machines`: slot by slot."""
    running = [line(state, job) for job in list(state.active.values())[:_SHOWN]]
    machines = machine_slots(state)
    return {
        **common(state, machines),
        "running": running,
        "running_count": len(state.active),
        "machines": machines,
    }


def jobs_page(state: LiveState, numbers: tuple[int, ...], array: int) -> dict[str, Any]:
    """A page of the list. `array`: whose jobs they are; 0, or an unknown one: of no array."""
    found = state.arrays.get(array)
    shown = None if found is None else array_in_table(state, found)
    return {**common(state), "jobs": lines(state, numbers), "array": shown}


def lines(state: LiveState, numbers: tuple[int, ...]) -> list[dict[str, Any]]:
    """Jobs of a table, in this order."""
    return [
        array_in_table(state, state.arrays[number])
        if number in state.arrays
        else line(state, state.jobs[number])
        for number in numbers
    ]


def array_in_table(state: LiveState, found: JobArray) -> dict[str, Any]:
    """An array in a table."""
    is_open = any(not each.state.is_final for each in found.jobs)
    return {
        **array_line(state, found),
        "colour": colour_of(found.number),
        "submitted": local_time(found.submitted_us),
        "ended": local_time(found.ended_us),
        "verbs": ["suspend", "resume", "cancel"] if is_open else [],
        "is_stopping": False,
    }


def line(state: LiveState, job: LiveJob) -> dict[str, Any]:
    """A job in a table."""
    return {**job_line(state, job), **_in_table(job)}


def _in_table(job: LiveJob) -> dict[str, Any]:
    """What tables and the page of a job show beside its document."""
    return {
        "name": job.title,
        "colour": colour_of(job.number),
        "submitted": local_time(job.submitted_us),
        "ended": local_time(job.ended_us),
        "verbs": verbs(job),
        "is_stopping": _is_stopping(job),
    }


def _is_stopping(job: LiveJob) -> bool:
    return job.attempt is not None and job.attempt.phase is AttemptPhase.STOPPING


def _about_message(job: LiveJob) -> str:
    """What the sentence of the job is about."""
    if job.idle_since_us is not None:
        return "Warning:"
    return "Its processes are being stopped:" if _is_stopping(job) else "Why it waits:"


def _time_limit(job: LiveJob) -> str:
    """`2 h, reached at 2026-12-01 10:00:00`; empty: none."""
    if job.spec.max_duration is None:
        return ""
    told = duration_words(round(job.spec.max_duration * SECOND_US))
    at_us = ends_us(job)
    return told if at_us is None else f"{told}, reached at {local_time(at_us)}"


def verbs(job: LiveJob) -> list[str]:
    """What a user can do with the job."""
    if job.state.is_final:
        return []
    if job.is_timed_out:
        return ["cancel"]
    return ["resume" if job.is_suspended else "suspend", "cancel"]


def job(
    state: LiveState, number: int, workplace: Workplace, now_us: int, writes_us: Sequence[int]
) -> dict[str, Any]:
    """A job with its story. `writes_us`: to its folder of checkpoints. Raises NotFound."""
    found = state.job(number)
    document = job_page(state, number, workplace)
    story = job_explanation(state, number, now_us, writes_us)
    return {
        **document,
        **_in_table(found),
        "about_message": _about_message(found),
        "time_limit": _time_limit(found),
        "advice": story["advice"],
        "attempt_list": [
            {**each, **_times(attempt.requested_us, attempt.running_us, attempt.ended_us)}
            for each, attempt in zip(document["attempt_list"], found.attempts, strict=True)
        ],
        "snapshot": found.spec.digest[:12],
        "chapters": [
            {"at": local_time(round(each["from"] * 1e6)), "sentence": each["sentence"]}
            for each in story["chapters"]
        ],
        "is_final": found.state.is_final,
        "is_waiting": found.state in (JobState.PENDING, JobState.PREEMPTED),
    }


def expected_start(start: Mapping[str, Any] | None, now_us: int) -> str:
    """In words; empty: there is no prediction."""
    if start is None:
        return ""
    return expected_start_words(start, seconds(now_us), lambda at: local_time(round(at * 1e6)))


def largest_free(machines: list[MachineSlots]) -> int:
    """The most slots that a job on one machine could get now."""
    return max((each.free for each in machines if each.condition == "up"), default=0)


def local_time(at_us: int | None) -> str:
    """Local time of the server; empty: not yet."""
    if at_us is None:
        return ""
    return datetime.fromtimestamp(at_us / 1e6).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _times(requested_us: int, running_us: int | None, ended_us: int | None) -> dict[str, str]:
    return {
        "requested": local_time(requested_us),
        "running": local_time(running_us),
        "ended": local_time(ended_us),
    }
