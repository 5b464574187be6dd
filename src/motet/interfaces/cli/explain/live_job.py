"""The page that `motet explain JOB` prints about a job of the live cluster."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from motet.domain.units import duration_words, microseconds
from motet.insight.expected_start import expected_start_words, rough_words
from motet.insight.sentences import reason_title
from motet.insight.wording import counted, in_slots, job_name, sizes_had
from motet.interfaces.cli.screens.local_clock import date_and_time_of, local_clock
from motet.interfaces.cli.shell.streams.visible import visible_text
from motet.live.jobs.job_state import JobState

MOST_ROWS = 40
_NEVER = "-"


def explanation_page(document: Mapping[str, Any], *, is_whole: bool) -> RenderableType:
    """Heading, chapters and totals. `is_whole`: all chapters, not only the last ones."""
    parts: list[RenderableType] = [_heading(document)]
    if document["message"]:
        parts.append(Text(visible_text(document["message"])))
    if (start := document.get("expected_start")) is not None:
        told = expected_start_words(start, time.time(), local_clock)
        parts.append(Text(visible_text(f"expected start: {told}")))
    if document.get("advice"):
        parts.append(Text(visible_text(f"what helps: {document['advice']}")))
    parts += [
        Padding(_chapters(document["chapters"], is_whole=is_whole), (1, 0)),
        _totals(document),
    ]
    return Group(*parts)


def _heading(document: Mapping[str, Any]) -> Text:
    title = f"{job_name(document['job'])} {document['name']}: {document['state']}"
    slots = counted(document["num_gpus"], "slot")
    if (most := document.get("most_processes")) is not None:  # An older server does not tell.
        is_over = document["held_processes"] == 0 and JobState(document["state"]).is_final
        held = f"{document['held_processes']} of {most}"
        told = sizes_had(document.get("least_processes"), most) if is_over else held
        slots = f"{told} slot{'' if told == '1' else 's'}"
    facts = f", {slots}, queue {document['queue']}, policy {document['policy']}"
    return Text(visible_text(title), style="bold").append(visible_text(facts), style="not bold")


def _chapters(chapters: Sequence[Mapping[str, Any]], *, is_whole: bool) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("SINCE", no_wrap=True)
    table.add_column("", overflow="fold")
    left_out = 0 if is_whole else max(0, len(chapters) - MOST_ROWS)
    if left_out:
        table.add_row("...", f"{left_out:,} earlier rows, see --all or --json")
    for each in chapters[left_out:]:
        style = "dim" if each["kind"] == "moment" else ""
        table.add_row(
            date_and_time_of(each["from"]), Text(visible_text(each["sentence"]), style=style)
        )
    return table


def _totals(document: Mapping[str, Any]) -> Table:
    totals = document["totals"]
    table = Table(box=None, show_header=False, pad_edge=False)
    waits = [
        f"{_words(seconds)} {in_slots(reason_title(reason))}"
        for reason, seconds in totals["waiting_s"].items()
    ]
    table.add_row("waited", ", ".join(waits) or _NEVER)
    table.add_row("ran", _words(totals["running_s"]))
    most = document["meanwhile"]["most"]
    if most:
        held = [f"{job_name(each['job'])} ({_words(each['gpu_s'])})" for each in most]
        table.add_row("meanwhile", f"slot time held by {visible_text(', '.join(held))}")
    return table


def _words(seconds: float) -> str:
    return duration_words(microseconds(str(seconds)))


def coverage_page(coverage: Mapping[str, Any] | None) -> Text:
    """How good the predictions of starts were."""
    if coverage is None or not coverage["known"]:
        return Text("no start that was predicted with a range has come about yet")
    share = f"{coverage['inside']:,} of {coverage['known']:,} starts ({coverage['share']:.0%})"
    width = rough_words(coverage["median_width_s"])
    return Text(
        f"{share} were within the first range that was predicted for them, at least 90 % are "
        f"aimed at; the median width of these ranges is {width}"
    )
