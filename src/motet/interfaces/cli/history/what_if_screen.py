"""What `motet whatif` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.insight.replay_words import (
    moved_jobs,
    replay_notes,
    result_sentence,
    run_figures,
    run_words,
    time_words,
)
from motet.insight.wording import counted
from motet.interfaces.cli.screens.local_clock import date_and_time_of
from motet.interfaces.cli.shell.streams.visible import visible_text

MOST_JOBS = 20


def what_if_screen(report: Mapping[str, Any]) -> RenderableType:
    """The three runs, what to know about them, and the jobs that would move most. Runs of which
    no times can be compared are left out."""
    parts: list[RenderableType] = [_heading(report)]
    if told := result_sentence(report):
        parts += [Text(visible_text(told))]
    parts += [Text(), *([_runs(report), Text()] if report["jobs_compared"] else ())]
    parts += [Text(visible_text(line)) for line in replay_notes(report)]
    moved = moved_jobs(report["job_list"])
    if moved:
        parts += [Text(), _jobs(moved)]
    return Group(*parts)


def _heading(report: Mapping[str, Any]) -> Text:
    period = f"{date_and_time_of(report['from'])} to {date_and_time_of(report['until'])}"
    return Text(f"{counted(report['jobs'], 'job')}, {period}", style="bold")


def _runs(report: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("COMPLETION TIMES")
    figures = [run_figures(run) for run in report["runs"]]
    for title in figures[0]:
        table.add_column(title.upper(), justify="right")
    for place, words in enumerate(figures):
        table.add_row(visible_text(run_words(report, place)), *words.values())
    return table


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
        change = f"{'+' if later > 0 else '-'}{time_words(abs(later))}"
        names = [Text(visible_text(job[name])) for name in ("id", "name", "user")]
        times = time_words(job["in_force_jct_s"]), time_words(job["jct_s"])
        style = "green" if later < 0 else "red"
        table.add_row(*names, str(job["processes"]), *times, Text(change, style=style))
    return Group(Text(title), table)
