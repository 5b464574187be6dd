"""Reads the events of one job from the folder of a finished simulation."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path

from motet.domain.errors import BadInput, NotFound
from motet.domain.units import microseconds
from motet.insight.holders.last_released import with_last_released
from motet.insight.holders.meanwhile import Meanwhile
from motet.insight.job_story import JobStory, RulesInForce, queue_rules
from motet.insight.sentences import Rules
from motet.insight.story import JobRecord, Story
from motet.report.cluster_run.decision_reader import held_gpus_during, story_events_of
from motet.report.rendering.csv_cells import original_cell
from motet.report.simulation.files import DECISIONS, JOBS, SUMMARY, run_names, run_summary

_LARGEST_DIFFERENCE = 2


def read_job_story(folder: Path, job: str) -> JobStory:
    """Raises NotFound without a run or such a job, BadInput for a run without a decision log."""
    run = _run_folder(folder)
    if not (run / DECISIONS).exists():
        raise BadInput(
            f"{run}: no {DECISIONS}, so nothing is known of the decisions; simulate again with "
            "'motet simulate --log-decisions'"
        )
    policy, rules, zero = _policy_of(run)
    record = _record(run, job)
    story = Story.of(record, story_events_of(run / DECISIONS, job))
    held = [*held_gpus_during(run / DECISIONS, record.submit_us, record.end_us)]
    meanwhile = Meanwhile.of(story, held, _submitted_after(run, record.submit_us))
    told = with_last_released(story, held)
    return JobStory(policy, RulesInForce(rules), told, meanwhile, zero)


def job_ids(folder: Path) -> Iterator[str]:
    """Ids of the jobs of a run, in the order of `jobs.csv`; empty if there is no run."""
    if (folder / JOBS).is_file():
        for row in _rows(folder / JOBS):
            yield row.get("job_id") or ""


# -- the folder ------------------------------------------------------------------------------------


def _run_folder(folder: Path) -> Path:
    """The folder itself. Raises NotFound if it contains no run, BadInput if several."""
    if (folder / JOBS).is_file() and (folder / SUMMARY).is_file():
        return folder
    if names := list(run_names(folder)):
        found = ", ".join(str(folder / name) for name in names)
        raise BadInput(f"--run {folder}: holds {len(names)} runs; name one of them: {found}")
    raise NotFound(
        f"--run {folder}: no finished simulation; "
        f"'motet simulate --log-decisions --out {folder}' makes one"
    )


def _policy_of(run: Path) -> tuple[str, Rules, datetime | None]:
    """The policy, the rules of its queues, and the date of time 0."""
    try:
        summary = run_summary(run)
        (document,) = summary["runs"]
        zero = summary["setup"].get("time_zero")
        date = None if zero is None else datetime.fromisoformat(zero)
        return str(document["policy"]), queue_rules(document["params"]), date
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise BadInput(f"{run / SUMMARY}: not of one run ({error}); simulate again") from error


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
    try:
        return {
            row["job_id"] for row in _rows(run / JOBS) if microseconds(row["submit_time"]) > time_us
        }
    except (KeyError, ValueError, TypeError, ArithmeticError) as error:
        raise BadInput(f"{run / JOBS}: not a table of jobs ({error}); simulate again") from error


def _rows(path: Path) -> Iterator[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                yield {name: original_cell(cell or "") for name, cell in row.items() if name}
    except (csv.Error, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not a table of jobs ({error}); simulate again") from error


def _near(job: str, known: Sequence[str]) -> str:
    """A hint. Only ids of similar length are compared: a run may have 100,000 jobs."""
    alike = [other for other in known if abs(len(other) - len(job)) <= _LARGEST_DIFFERENCE]
    near = get_close_matches(job, alike, n=3)
    if near:
        return f"; did you mean {' or '.join(map(repr, near))}?"
    return f"; its {len(known):,} jobs have ids such as {known[0]!r}" if known else "; it has none"
