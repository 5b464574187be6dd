"""What `motet whatif` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.domain.units import microseconds
from motet.insight.wording import counted, duration_words
from motet.interfaces.cli.screens.local_clock import date_and_time
from motet.interfaces.cli.shell.streams.visible import visible_text

MOST_JOBS = 20
_SAME = 0.01
"""Completion times that differ by less are the same."""


def what_if_screen(report: Mapping[str, Any]) -> RenderableType:
    """The three runs, what to know about them, and the jobs that would move most."""
    parts: list[RenderableType] = [_heading(report), Text(), _runs(report["runs"]), Text()]
    parts += [Text(line) for line in _notes(report)]
    moved = _moved(report["job_list"])
    if moved:
        parts += [Text(), _jobs(moved)]
    return Group(*parts)


def _heading(report: Mapping[str, Any]) -> Text:
    period = f"{date_and_time(report['from'])} to {date_and_time(report['until'])}"
    return Text(f"{counted(report['jobs'], 'job')}, {period}", style="bold")


def _runs(runs: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("COMPLETION TIMES")
    for column in ("MEAN", "MEDIAN", "95TH", "MAKESPAN", "PREEMPTIONS"):
        table.add_column(column, justify="right")
    for run in runs:
        times = run["jct_s"] or {}
        words = [_words(times.get(name)) for name in ("mean", "median", "p95")]
        told = f"{_policy(run)}, {run['kind']}"
        table.add_row(told, *words, _words(run["makespan_s"]), f"{run['preemptions']:,}")
    return table


def _policy(run: Mapping[str, Any]) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in run["settings"].items())
    return visible_text(f"{run['policy']} ({settings})" if settings else run["policy"])


def _notes(report: Mapping[str, Any]) -> Iterator[str]:
    runs = report["runs"]
    if report["replay_error"] is not None:
        yield (
            f"replay: the mean under the policy in force differs by {report['replay_error']:+.1%} "
            f"from the measured one; a further start of a job costs {_words(report['restart_s'])}"
        )
    compared = report["jobs_compared"]
    if compared < report["jobs"]:
        yield f"times are of the {counted(compared, 'job')} that have ended by themselves"
    if report["jobs_predicted"]:
        yield (
            f"{counted(report['jobs_predicted'], 'job')} have not ended: they run on for the "
            f"median of jobs like them; of {report['jobs_assumed']} nothing is known, they run "
            "twice as long as until now"
        )
    if report["elastic_jobs"]:
        yield f"{counted(report['elastic_jobs'], 'elastic training')}: replayed with a fixed size"
    if report["policy_changes"]:
        changes = counted(report["policy_changes"], "time")
        yield f"the policy was changed {changes}; the replay knows only the last one"
    if runs[2]["finished"] < compared:
        yield f"{compared - runs[2]['finished']} jobs would not have ended under {_policy(runs[2])}"
    if runs[2]["knows_durations"]:
        yield f"{_policy(runs[2])} is told the run times that were measured"


def _moved(jobs: Sequence[Mapping[str, Any]]) -> list[tuple[float, Mapping[str, Any]]]:
    """Jobs that end in both runs, with how much later they do; the largest changes first."""
    pairs = [
        (job["jct_s"] - job["in_force_jct_s"], job)
        for job in jobs
        if job["jct_s"] is not None and job["in_force_jct_s"] is not None
    ]
    moved = [(later, job) for later, job in pairs if abs(later) > _SAME * job["in_force_jct_s"]]
    return sorted(moved, key=lambda each: -abs(each[0]))


def _jobs(moved: Sequence[tuple[float, Mapping[str, Any]]]) -> RenderableType:
    sooner = sum(later < 0 for later, _ in moved)
    title = f"{sooner} sooner, {len(moved) - sooner} later (simulated in both cases)"
    if len(moved) > MOST_JOBS:
        title += f"; the {MOST_JOBS} largest changes, all with --json:"
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("ID", "NAME", "USER"):
        table.add_column(column)
    for column in ("PROCESSES", "NOW", "THEN", "CHANGE"):
        table.add_column(column, justify="right")
    for later, job in moved[:MOST_JOBS]:
        change = f"{'+' if later > 0 else '-'}{_words(abs(later))}"
        names = [Text(visible_text(job[name])) for name in ("id", "name", "user")]
        times = _words(job["in_force_jct_s"]), _words(job["jct_s"])
        style = "green" if later < 0 else "red"
        table.add_row(*names, str(job["processes"]), *times, Text(change, style=style))
    return Group(Text(title), table)


def _words(seconds: float | None) -> str:
    return "-" if seconds is None else duration_words(microseconds(str(seconds)))
