"""What `motet submit --dry-run` prints: when the job would start, and whom it would delay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.domain.units import microseconds
from motet.insight.wording import counted, duration_words
from motet.interfaces.cli.shell.streams.visible import visible_text

MOST_DELAYED = 20
_AT_ONCE_S = 1.0


def dry_run_screen(found: Mapping[str, Any]) -> RenderableType:
    """Start, run time, and the jobs that would end later."""
    facts = Table(box=None, show_header=False, pad_edge=False)
    processes = "1 process" if found["processes"] == 1 else f"{found['processes']} processes"
    facts.add_row("job", visible_text(f"{found['name']}, {processes}, policy {found['policy']}"))
    facts.add_row("starts", start_words(found["expected_start"], found["now"]))
    facts.add_row("runs", _run_time(found["run_time_s"]))
    facts.add_row("delays", _delayed_words(found))
    facts.add_row("", "nothing was submitted")
    if not found["delayed"]:
        return facts
    return Group(facts, Text(), _delayed(found["delayed"]))


def start_words(start: Mapping[str, Any], now_s: float) -> str:
    """`at once`, or a range of nine tenths from now on; `unknown` with the reason."""
    if start["high_s"] is None:
        return visible_text(f"unknown: {start['unknown_because']}")
    if start["high_s"] < _AT_ONCE_S:
        return "at once"
    low, median, high = (_words(start[f"{name}_s"]) for name in ("low", "median", "high"))
    if low == high:
        return f"in {low} ({_clock(now_s + start['low_s'])})"
    clocks = f"{_clock(now_s + start['low_s'])} to {_clock(now_s + start['high_s'])}"
    soonest = "at once" if start["low_s"] < _AT_ONCE_S else f"in {low}"
    return f"{soonest} to {high}, in half of all cases within {median} ({clocks})"


def _run_time(times_s: Sequence[float] | None) -> str:
    if times_s is None:
        return "unknown"
    low, median, high = map(_words, times_s)
    return low if low == high else f"{low} to {high}, in half of all cases within {median}"


def _delayed_words(found: Mapping[str, Any]) -> str:
    delayed = found["delayed"]
    if delayed is None:
        return visible_text(f"unknown: {found['delayed_unknown_because']}")
    return f"{counted(len(delayed), 'job')} by a second or more" if delayed else "nobody"


def _delayed(jobs: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("ID", "NAME", "USER"):
        table.add_column(column)
    for column in ("ENDS LATER BY", "AT MOST"):
        table.add_column(column, justify="right")
    for job in jobs[:MOST_DELAYED]:
        names = [visible_text(job[name]) for name in ("id", "name", "user")]
        table.add_row(*map(Text, names), _words(job["delay_s"]), _words(job["largest_delay_s"]))
    if len(jobs) > MOST_DELAYED:
        table.add_row("...", f"{len(jobs) - MOST_DELAYED} more, see --json")
    return table


def _words(seconds: float) -> str:
    whole = seconds if seconds < 10 else round(seconds)
    return duration_words(microseconds(str(whole)))


def _clock(unix_s: float) -> str:
    moment, today = datetime.fromtimestamp(unix_s).astimezone(), datetime.now().astimezone()
    form = "%H:%M:%S" if moment.date() == today.date() else "%Y-%m-%d %H:%M"
    return moment.strftime(form)
