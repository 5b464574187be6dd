"""The time of a job before the engine gets it: jobs that it waits for, limits of arrays. Pure.

The decision log has none of it, so it is derived from the ends of other jobs.
"""

from __future__ import annotations

from collections.abc import Iterator

from motet.insight.cluster_wait import ClusterWait
from motet.insight.story_event import OtherJob, StoryEvent
from motet.insight.waits import wait_sentence
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.master.state import LiveState

_SHOWN = 5


def held_events(state: LiveState, job: LiveJob) -> Iterator[StoryEvent]:
    """Its waits until it was released, and its end if it ended before; none of a job that was never
    held."""
    if not job.spec.after and job.array is None:
        return
    if job.spec.after:
        yield _needs_jobs(state, job, [*job.spec.after], job.submitted_us)
    met_us = _met_us(state, job)
    is_limited = job.array is not None and job.array.most_open is not None
    if is_limited and met_us is not None and not _ended_by(job, met_us):
        yield _needs_place(job, met_us)
    if job.released_us is not None:
        yield StoryEvent(job.released_us, "wait", job.spec.processes)
    elif job.end is not None and job.ended_us is not None:
        event = "fail" if job.end is JobState.FAILED else "cancel"
        yield StoryEvent(job.ended_us, event, job.spec.processes, told=job.reason)


def why_held(state: LiveState, job: LiveJob) -> tuple[str, str]:
    """The name and the sentence of the reason for which a job is held now."""
    if waits_for := state.held.waits_for(job):
        wait, because = ClusterWait.DEPENDENCY, _needs_jobs(state, job, waits_for, 0)
    else:
        wait, because = ClusterWait.ARRAY_LIMIT, _needs_place(job, 0)
    return wait.value.name, f"waits {wait_sentence(because)}"


def _needs_jobs(state: LiveState, job: LiveJob, numbers: list[int], at_us: int) -> StoryEvent:
    others = [OtherJob(str(number), _slots(state, number)) for number in numbers]
    return StoryEvent(
        at_us,
        "wait",
        job.spec.processes,
        ClusterWait.DEPENDENCY.key,
        others=tuple(others[:_SHOWN]),
        others_total=len(others),
    )


def _needs_place(job: LiveJob, at_us: int) -> StoryEvent:
    assert job.array is not None
    most = job.array.most_open or 0
    return StoryEvent(
        at_us, "wait", job.spec.processes, ClusterWait.ARRAY_LIMIT.key, bar=float(most)
    )


def _slots(state: LiveState, number: int) -> int:
    array = state.arrays.get(number)
    return state.jobs[number].spec.processes if array is None else array.processes


def _met_us(state: LiveState, job: LiveJob) -> int | None:
    """When it was known that the last of the jobs that it waits for had succeeded; None: one of
    them has not."""
    if state.held.waits_for(job):
        return None
    needed = [state.arrays.get(number) or state.jobs[number] for number in job.spec.after]
    if any(each.state is not JobState.SUCCEEDED for each in needed):
        return None
    ends_us = (each.known_end_us or 0 for each in needed)
    return max(job.submitted_us, max(ends_us, default=0))


def _ended_by(job: LiveJob, at_us: int) -> bool:
    """Whether it ended, or was released, before a wait that would begin then."""
    end_us = job.released_us if job.released_us is not None else job.ended_us
    return end_us is not None and end_us <= at_us
