"""The JSON document of the events of a job, as `motet explain --json` prints it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from motet.domain.units import seconds
from motet.insight.holders.meanwhile import Meanwhile
from motet.insight.job_story import JobStory
from motet.insight.sentences import sentence
from motet.insight.story import Chapter, Story
from motet.insight.story_event import OtherJob, StoryEvent
from motet.report.cluster_run.decision_writer import OTHERS_OF, exchange_role

_COUNTED = {
    "preemptions": "preempt",
    "migrations": "migrate",
    "promotions": "promote",
    "demotions": "demote",
}


def story_document(explained: JobStory) -> dict[str, Any]:
    """The fields of the document; times in seconds on the trace's own clock.

    `submitted` and `ended` are dates, None if the log has no dates.
    """
    record = explained.story.record
    return {
        "job": record.job,
        "policy": explained.policy,
        "user": record.user,
        "queue": record.queue,
        "num_gpus": record.gpus,
        "submitted": _date(explained, record.submit_us),
        "ended": _date(explained, record.end_us),
        "submit_time": seconds(record.submit_us),
        "end_time": _seconds(record.end_us),
        "state": "waiting" if record.end_us is None else "finished",
        "chapters": [_chapter(explained, each) for each in explained.story.chapters],
        "totals": _totals(explained.story),
        "meanwhile": _meanwhile(explained.meanwhile),
    }


def _date(explained: JobStory, time_us: int | None) -> str | None:
    """ISO 8601; None if unknown, or if the log has no dates."""
    date = None if time_us is None else explained.moment(time_us)
    return None if date is None else date.isoformat()


def _chapter(explained: JobStory, chapter: Chapter) -> dict[str, Any]:
    story = explained.story
    return {
        "kind": chapter.kind,
        "from": seconds(chapter.from_us),
        "to": _seconds(chapter.to_us),
        "duration_s": _seconds(story.lasted_us(chapter)),
        "event": chapter.because.event,
        "sentence": sentence(chapter, explained.rules.at(chapter.from_us), story.until_us),
        **_details(chapter.because),
    }


def _details(because: StoryEvent) -> dict[str, Any]:
    """Details of the event by their names in `decisions.jsonl`, without unknown ones."""
    team, before = because.team, because.team_before
    known: dict[str, Any] = {
        "reason": because.reason or None,
        "least_gpus": because.least_gpus,
        "free_gpus": because.free_gpus,
        "usable_gpus": because.usable_gpus,
        "place": because.place,
        "measure": because.measure,
        "bar": because.bar,
        "machines": dict(because.machines) or None,
        "workers": team and team.workers,
        "servers": team and team.servers,
        "before": before and asdict(before),
        "priority_queue": because.queue,
        "group": because.forecast and because.forecast._asdict(),
        "measured": because.measured and because.measured._asdict(),
        "on_disk": because.on_disk or None,
        "asynchronous": because.asynchronous or None,
        "stays": because.stays or None,
        **_others(OTHERS_OF.get(because.event), because.others, because.others_total),
    }
    if because.released is not None:
        known |= _others("released_last", because.released.jobs, because.released.total)
    if team and before:
        role = exchange_role(before.gpus, team.gpus)
        known |= _others(role, because.exchange, because.exchange_total)
    return {name: value for name, value in known.items() if value is not None}


def _others(role: str | None, others: Sequence[OtherJob], total: int) -> dict[str, Any]:
    if role is None or not others:
        return {}
    named = [{"job": other.job, "gpus": other.gpus} for other in others]
    return {role: named, f"{role}_total": total}


def _totals(story: Story) -> dict[str, Any]:
    resizes = story.count("resize")
    return {
        "jct_s": _seconds(story.jct_us),
        "waiting_s": {reason: seconds(time_us) for reason, time_us in story.waiting_us.items()},
        "running_s": seconds(story.running_us),
        "overhead_s": seconds(story.overhead_us),
        **{name: story.count(event) for name, event in _COUNTED.items()},
        **({"resizes": resizes} if resizes else {}),
    }


def _meanwhile(meanwhile: Meanwhile) -> dict[str, Any]:
    most = [{"job": job, "gpu_s": seconds(gpu_us)} for job, gpu_us in meanwhile.most]
    return {"jobs": meanwhile.jobs, "submitted_later": meanwhile.later, "most": most}


def _seconds(time_us: int | None) -> float | None:
    return None if time_us is None else seconds(time_us)
