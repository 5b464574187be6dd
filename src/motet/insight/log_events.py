"""Events of a story from entries of the decision log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TypedDict

from motet.domain.log_entry import LogEntry, OtherJobs, Team, is_wait
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import NEVER_US
from motet.insight.story_event import OtherJob, StoryEvent, TeamSize


def story_event(
    entry: LogEntry, job_name: Callable[[int], str], machines: Sequence[str]
) -> StoryEvent:
    """The entry with names. `job_name`: the id of a job number; `machines`: names by number."""
    waits = is_wait(entry)
    before = entry.team_before
    return StoryEvent(
        time_us=entry.time_us,
        event="wait" if waits else entry.event,
        gpus=entry.gpus,
        machines=_named(entry.placement, machines),
        others=_others(entry.others, job_name),
        others_total=entry.others.total,
        queue=None if entry.queue == UNKNOWN else entry.queue + 1,
        until_us=None if entry.until_us == NEVER_US else entry.until_us,
        overhead_us=entry.overhead_us,
        left=None if entry.left is None else machines[entry.left.machine],
        times_as_long=None if entry.left is None else entry.left.times_as_long,
        team=_team(entry.team),
        team_before=_team(before),
        exchange=_others(entry.exchange, job_name),
        exchange_total=entry.exchange.total,
        job_queue=entry.job_queue,
        forecast=entry.forecast,
        measured=entry.measured,
        on_disk=entry.on_disk,
        asynchronous=entry.asynchronous,
        stays=entry.stays,
        gain=entry.measure if entry.event == "propose" else None,
        refusal=entry.refusal,
        **(_wait_fields(entry) if waits else {}),
    )


class _WaitFields(TypedDict, total=False):
    reason: str
    free_gpus: int
    place: int | None
    measure: float | None
    bar: float | None
    least_gpus: int | None
    usable_gpus: int | None


def _wait_fields(entry: LogEntry) -> _WaitFields:
    is_compared = isfinite(entry.measure) and isfinite(entry.bar)
    is_elastic = entry.least_gpus != UNKNOWN
    return {
        "reason": entry.event,
        "free_gpus": entry.free_gpus,
        "place": None if entry.position == UNKNOWN else entry.position + 1,
        "measure": entry.measure if is_compared else None,
        "bar": entry.bar if is_compared else None,
        "least_gpus": entry.least_gpus if is_elastic else None,
        "usable_gpus": entry.usable_gpus if is_elastic and entry.usable_gpus != UNKNOWN else None,
    }


def _named(where: Placement, machines: Sequence[str]) -> Mapping[str, int]:
    return {machines[each]: count for each, count in zip(*where, strict=True)}


def _others(others: OtherJobs, job_name: Callable[[int], str]) -> tuple[OtherJob, ...]:
    return tuple(OtherJob(job_name(job), gpus) for job, gpus in others.first)


def _team(team: Team | None) -> TeamSize | None:
    return None if team is None else TeamSize(*team)
