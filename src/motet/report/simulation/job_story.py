"""The story of one job, read from the folder of a finished simulation."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from motet.domain.errors import BadInput, NotFound
from motet.domain.units import microseconds, seconds
from motet.insight.meanwhile import Meanwhile
from motet.insight.sentences import Rules, sentence
from motet.insight.story import Chapter, JobRecord, Story
from motet.insight.story_event import Happening, OtherJob
from motet.report.cluster_run.decision_file import (
    OTHERS_OF,
    exchange_role,
    happenings_of,
    holdings_of,
)
from motet.report.simulation.files import DECISIONS, JOBS, SUMMARY, run_names, run_summary

_COUNTED = {
    "preemptions": "preempt",
    "migrations": "migrate",
    "promotions": "promote",
    "demotions": "demote",
}
_FARTHEST = 2


@dataclass(frozen=True)
class ToldStory:
    """`policy`: under which it happened; `rules`: of that policy's queues.

    `meanwhile`: who had the GPUs while it waited.
    """

    policy: str
    rules: Rules
    story: Story
    meanwhile: Meanwhile

    def document(self) -> dict[str, Any]:
        """The fields of `motet explain --json`; times in seconds on the trace's own clock."""
        record = self.story.record
        return {
            "job": record.job,
            "policy": self.policy,
            "user": record.user,
            "queue": record.queue,
            "num_gpus": record.gpus,
            "submit_time": seconds(record.submit_us),
            "end_time": _seconds(record.end_us),
            "state": "waiting" if record.end_us is None else "finished",
            "chapters": [self._chapter(chapter) for chapter in self.story.chapters],
            "totals": _totals(self.story),
            "meanwhile": _meanwhile(self.meanwhile),
        }

    def _chapter(self, chapter: Chapter) -> dict[str, Any]:
        return {
            "kind": chapter.kind,
            "from": seconds(chapter.from_us),
            "to": _seconds(chapter.to_us),
            "duration_s": _seconds(chapter.duration_us),
            "event": chapter.because.event,
            "sentence": sentence(chapter, self.rules),
            **_details(chapter.because),
        }


def told_story(folder: Path, job: str) -> ToldStory:
    """Raises NotFound for no run or no such job, BadInput for one without a decision log."""
    run = _run_folder(folder)
    if not (run / DECISIONS).exists():
        raise BadInput(
            f"{run}: no {DECISIONS}, so nothing is known of the decisions; simulate again with "
            "--log-decisions"
        )
    (document,) = run_summary(run)["runs"]
    record = _record(run, job)
    story = Story.of(record, happenings_of(run / DECISIONS, job))
    holdings = holdings_of(run / DECISIONS, record.submit_us, record.end_us)
    meanwhile = Meanwhile.of(story, holdings, _submitted_after(run, record.submit_us))
    return ToldStory(document["policy"], _rules(document["params"]), story, meanwhile)


def job_ids(folder: Path) -> Iterator[str]:
    """All jobs of a run, in its order; none where there is no run."""
    if (folder / JOBS).is_file():
        for row in _rows(folder / JOBS):
            yield row["job_id"]


# -- the folder ------------------------------------------------------------------------------------


def _run_folder(folder: Path) -> Path:
    """Raises NotFound where there is no run, BadInput where there are several."""
    if (folder / JOBS).is_file() and (folder / SUMMARY).is_file():
        return folder
    if names := list(run_names(folder)):
        found = ", ".join(str(folder / name) for name in names)
        raise BadInput(f"--run {folder}: holds {len(names)} runs; name one of them: {found}")
    raise NotFound(
        f"--run {folder}: no finished simulation; "
        f"'motet simulate --log-decisions --out {folder}' makes one"
    )


def _record(run: Path, job: str) -> JobRecord:
    try:
        row = next((row for row in _rows(run / JOBS) if row["job_id"] == job), None)
        if row is None:
            raise NotFound(f"{run}: no job {job!r}{_near(job, list(job_ids(run)))}")
        return JobRecord(
            job,
            row["user"],
            row["queue"],
            int(row["num_gpus"]),
            microseconds(row["submit_time"]),
            microseconds(row["end_time"]) if row["end_time"] else None,
        )
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise BadInput(f"{run / JOBS}: not a table of jobs ({error}); simulate again") from error


def _submitted_after(run: Path, time_us: int) -> set[str]:
    return {
        row["job_id"] for row in _rows(run / JOBS) if microseconds(row["submit_time"]) > time_us
    }


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _near(job: str, known: Sequence[str]) -> str:
    """Looking at ids of about its length only: there may be a hundred thousand."""
    alike = [other for other in known if abs(len(other) - len(job)) <= _FARTHEST]
    near = get_close_matches(job, alike, n=3)
    if near:
        return f"; did you mean {' or '.join(map(repr, near))}?"
    return f"; its {len(known):,} jobs are called like {known[0]!r}" if known else "; it has none"


def _rules(params: Mapping[str, Any]) -> Rules:
    """As Tiresias calls them; other policies have none."""
    try:
        knob = float(params["promote_knob"])
        thresholds = tuple(float(limit) for limit in params["thresholds"])
    except (KeyError, ValueError, TypeError):
        return Rules()
    return Rules(thresholds, knob if math.isfinite(knob) else None)


# -- the document ----------------------------------------------------------------------------------


def _details(because: Happening) -> dict[str, Any]:
    """What is known of it, by the names that it has in `decisions.jsonl`."""
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
        **_others(OTHERS_OF.get(because.event), because.others, because.others_total),
    }
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
