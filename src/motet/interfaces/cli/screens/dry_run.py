"""What `motet submit --dry-run` prints: when the job would start, and whom it would delay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.domain.units import iso_seconds
from motet.insight.expected_start import expected_start_words, rough_words
from motet.insight.wording import counted
from motet.interfaces.cli.screens.local_clock import local_clock
from motet.interfaces.cli.shell.streams.visible import visible_text

MOST_DELAYED = 20
_USUAL_COVERAGE = 0.9


def dry_run_screen(found: Mapping[str, Any]) -> RenderableType:
    """Start, run time, and the jobs that would end later."""
    now_s = iso_seconds(found["now"])
    start = expected_start_words(found["expected_start"], now_s, local_clock)
    facts = Table(box=None, show_header=False, pad_edge=False)
    processes = _size(found)
    jobs = found.get("jobs", 1)  # A server of the version before knows single jobs only.
    size = processes if jobs == 1 else f"{jobs} jobs of {processes}"
    facts.add_row("job", visible_text(f"{found['name']}, {size}, policy {found['policy']}"))
    if (trial_s := found.get("trial_s")) is not None:
        facts.add_row("trial", f"first, for {rough_words(trial_s)} at most; it is taken to pass")
    facts.add_row("starts" if jobs == 1 else "first starts", visible_text(start))
    if jobs > 1:
        last = expected_start_words(found["last_start"], now_s, local_clock)
        facts.add_row("last starts", visible_text(last))
    if found["expected_start"]["high_s"] is not None and _is_cut(found):
        simulations = found["simulations"]
        share = f"{int(found['coverage'] * 100)} % of such starts should be in the range"
        facts.add_row("", f"from {counted(simulations, 'simulation')}, more take too long: {share}")
    facts.add_row("runs" if jobs == 1 else "each runs", _run_time(found["run_time_s"]))
    facts.add_row("delays", _delayed_words(found))
    facts.add_row("", "nothing was submitted")
    if not found["delayed"]:
        return facts
    return Group(facts, Text(), _delayed(found["delayed"]))


def _is_cut(found: Mapping[str, Any]) -> bool:
    """A server of the version before does not tell."""
    coverage = found.get("coverage")
    return coverage is not None and coverage < _USUAL_COVERAGE


def _size(found: Mapping[str, Any]) -> str:
    """Of one job. A server of the version before tells the most of its processes only."""
    least = found.get("least_processes", found["processes"])
    most = found.get("most_processes", found["processes"])
    if most is None:
        return f"a process on each of {counted(least, 'machine')} or more"
    if least == most:
        return _processes(most)
    if found["proposes_size"]:
        return f"{_processes(least)} at first, up to {most}"
    return f"{least} to {most} processes"


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _run_time(times_s: Sequence[float] | None) -> str:
    if times_s is None:
        return "unknown"
    low, median, high = map(rough_words, times_s)
    return low if low == high else f"{low} to {high}, in half of all cases within {median}"


def _delayed_words(found: Mapping[str, Any]) -> str:
    delayed = found["delayed"]
    if delayed is None:
        return visible_text(f"unknown: {found['delayed_unknown_because']}")
    jobs = f"{counted(len(delayed), 'job')} by a second or more" if delayed else "no job"
    few = found.get("delay_simulations")
    return f"{jobs}, from {counted(few, 'simulation')}, more take too long" if few else jobs


def _delayed(jobs: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("ID", "NAME", "USER"):
        table.add_column(column)
    for column in ("ENDS LATER BY", "AT MOST"):
        table.add_column(column, justify="right")
    for job in jobs[:MOST_DELAYED]:
        names = [visible_text(job[name]) for name in ("id", "name", "user")]
        table.add_row(
            *map(Text, names), rough_words(job["delay_s"]), rough_words(job["largest_delay_s"])
        )
    if len(jobs) > MOST_DELAYED:
        table.add_row("...", f"{len(jobs) - MOST_DELAYED} more, see --json")
    return table
