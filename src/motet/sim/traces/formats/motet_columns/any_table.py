"""Any table with a header whose columns the user names with `--columns`.

Unlike in Motet's CSV, times may be time stamps and durations may have any form.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from motet.domain.errors import BadInput
from motet.domain.units import exact_seconds
from motet.sim.traces.cells import decimal_number, seconds_us, since_first
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.formats.leaving_out import without
from motet.sim.traces.formats.motet_columns.elastic_columns import WORK_COLUMNS
from motet.sim.traces.formats.motet_columns.intervention_columns import INTERVENTION_COLUMNS
from motet.sim.traces.formats.motet_columns.motet_csv import NEEDED, jobs_of
from motet.sim.traces.formats.motet_columns.stray_columns import STEPS
from motet.sim.traces.formats.motet_columns.usual_names import has_usual_name, usual_column
from motet.sim.traces.problems import Problems, is_missing
from motet.sim.traces.source import Source
from motet.sim.traces.table import (
    Cells,
    Table,
    check_named_columns,
    delimited_header,
    header_names,
    listed_columns,
)
from motet.sim.traces.times.clock_forms import AmbiguousDates, ClockForm, found_form, read_usual
from motet.sim.traces.times.durations import duration_us
from motet.sim.traces.times.time_stamps import TimeStamps
from motet.sim.traces.trace import TRACE_COLUMNS, Jobs

DELIMITERS = (",", "\t", ";", "|")
TIME_COLUMNS = (
    "submit_time",
    "start_time",
    "end_time",
    "cancel_time",
    "suspend_time",
    "resume_time",
)
_KNOWN = frozenset((*TRACE_COLUMNS, *INTERVENTION_COLUMNS, *WORK_COLUMNS))


class AnyTableFormat(TraceFormat):
    """One job per row; times in seconds or as time stamps, durations in any form."""

    name = "table"
    described = "table with a header"
    takes_columns = True

    def recognises(self, source: Source) -> bool:
        """Whether the user has named columns."""
        return bool(source.options.columns)

    def read(self, source: Source, problems: Problems) -> Jobs:
        """See TraceFormat.

        A missing `job_id` is the row, from 0; a missing duration is the time from the start to the
        end. Jobs without GPUs or without a duration (empty, or 0 GPUs) are left out; cells that
        cannot be read and negative numbers are problems.
        """
        delimiter = delimiter_of(source)
        _check_columns(source, delimited_header(source, delimiter))
        table = Table.read_delimited(source, delimiter, problems)
        names = header_names(source, delimiter)
        columns, notices = _motet_columns(table, source.options.columns, names)
        clock = _clock_of(source, table, columns["submit_time"])
        stamps = TimeStamps(source.options.zone, clock.read if clock else read_usual)
        on_clock, zero_us = _on_clock(columns, stamps, problems) if clock else ({}, None)
        columns |= on_clock
        notices = (*notices, clock.notice) if clock and clock.notice else notices
        durations, unknown = _durations(columns, problems)
        idle = {row for row, cell in enumerate(columns["num_gpus"]) if _is_no_gpu(cell)}
        filled = ["0" if row in idle else cell for row, cell in enumerate(columns["num_gpus"])]
        columns |= {"duration": durations, "num_gpus": filled}
        jobs = jobs_of(replace(table, columns=columns), source, problems)
        notices = (*notices, *stamps.notices(), *jobs.notices)
        jobs = replace(jobs, notices=notices, zero=stamps.moment(zero_us))
        why = _why_left_out(unknown - idle, idle, problems, table.lines)
        return without(jobs, problems, unknown | idle, why)


def delimiter_of(source: Source) -> str:
    """The delimiter that occurs most often in the first line."""
    return max(DELIMITERS, key=source.head[0].count)


def looks_like_jobs(source: Source) -> bool:
    """Whether the first line is a header with a usual name of a necessary column."""
    header = _likely_names(source)
    if len(set(header)) < 2 or any(map(_is_number, header)):
        return False
    return any(has_usual_name(name, header) for name in NEEDED)


def has_needed_columns(source: Source) -> bool:
    """Whether the first line has the necessary names of Motet's CSV, whatever its delimiter."""
    return not _missing([name.lower() for name in _likely_names(source)], source.options.columns)


def _likely_names(source: Source) -> list[str]:
    """The names in the first line if it is a header; text with wrong quotes is no error yet."""
    return [name.strip().strip('"') for name in source.head[0].split(delimiter_of(source))]


def missing_columns(source: Source, header: Sequence[str]) -> BadInput:
    """The error for a table without the necessary columns; proposes names for --columns."""
    missing = _missing(header, source.options.columns)
    header = header_names(source, delimiter_of(source))
    return source.complaint(
        f"no column {', '.join(map(repr, missing))}; the header has {listed_columns(header)}",
        f"name the columns with --columns {_proposal(missing, header)} (or another --format)",
        1,
    )


def _proposal(missing: Sequence[str], header: Sequence[str]) -> str:
    """`submit_time=created,num_gpus=gpus`, quoted for a shell."""
    guesses = {name: usual_column(name, header) for name in missing}
    if "duration" in guesses and guesses["duration"] is None:
        ends = {name: usual_column(name, header) for name in ("start_time", "end_time")}
        if None not in ends.values():
            del guesses["duration"]
            guesses |= ends
    if "job_id" not in map(str.lower, header) and (job_id := usual_column("job_id", header)):
        guesses = {"job_id": job_id, **guesses}
    return shlex.quote(",".join(f"{name}={guess or 'COLUMN'}" for name, guess in guesses.items()))


def _check_columns(source: Source, header: Sequence[str]) -> None:
    check_named_columns(source, header_names(source, delimiter_of(source)))
    if _missing(header, source.options.columns):
        raise missing_columns(source, header)


def _missing(header: Sequence[str], columns: Mapping[str, str]) -> list[str]:
    known = {*header, *columns}
    needed = [name for name in NEEDED if name != "job_id" and name not in known]
    if {"start_time", "end_time"} <= known:
        needed = [name for name in needed if name != "duration"]
    return needed


def _motet_columns(
    table: Table, columns: Mapping[str, str], names: Sequence[str]
) -> tuple[dict[str, Cells], tuple[str, ...]]:
    """The columns under Motet's names; notices of what was assumed. `names`: of the header."""
    renamed = {name: table.columns[column.lower()] for name, column in columns.items()}
    known = {name: cells for name, cells in table.columns.items() if name in _KNOWN}
    found = known | renamed
    if "job_id" in found:
        return found, ()
    found["job_id"] = [str(row) for row in range(len(table.lines))]
    usual = usual_column("job_id", names)
    remedy = f"; name one with --columns job_id={shlex.quote(usual)}" if usual else ""
    return found, (f"there is no column job_id: the row, from 0, is the id of a job{remedy}",)


def _clock_of(source: Source, table: Table, cells: Cells) -> ClockForm | None:
    """The form of the times; None: they are seconds. Raises BadInput for one of two forms."""
    if source.options.clock is not None:
        return source.options.clock
    try:
        return found_form(cells)
    except AmbiguousDates as error:
        raise BadInput(f"{source.path}:{table.lines[0]}: submit_time: {error}") from None


def _on_clock(
    columns: Mapping[str, Cells], stamps: TimeStamps, problems: Problems
) -> tuple[dict[str, Cells], int | None]:
    """The columns of time stamps in seconds from the first submission.

    Also returns that submission in microseconds since 1970.
    """
    submit_us, unknown = problems.parse("submit_time", columns["submit_time"], stamps.microseconds)
    since_us, first_us = since_first(submit_us, unknown)
    found: dict[str, Cells] = {"submit_time": [exact_seconds(time_us) for time_us in since_us]}
    for name in TIME_COLUMNS[1:]:
        times_us = problems.optional(name, columns.get(name, ()), stamps.microseconds)
        if times_us:
            found[name] = [
                "" if time_us is None else exact_seconds(time_us - first_us) for time_us in times_us
            ]
    return found, first_us


def _durations(columns: Mapping[str, Cells], problems: Problems) -> tuple[list[str], set[int]]:
    """Durations in seconds, and the rows without one that are not elastic.

    An empty one is the time from the start to the end.
    """
    count = len(columns["submit_time"])
    given = problems.optional("duration", columns.get("duration", ("",) * count), duration_us)
    starts, ends = (
        problems.optional(name, columns.get(name, ("",) * count), seconds_us)
        if None in given
        else [None] * count
        for name in ("start_time", "end_time")
    )
    steps = columns.get(STEPS, ("",) * count)
    unknown: set[int] = set()
    found: list[str] = []
    for row, (known_us, start_us, end_us) in enumerate(zip(given, starts, ends, strict=True)):
        if known_us is None and start_us is not None and end_us is not None:
            known_us = end_us - start_us
        if known_us is None and not steps[row].strip():
            unknown.add(row)
        found.append(exact_seconds(known_us or 0))
    return found, unknown


def _why_left_out(
    timeless: Collection[int], idle: Collection[int], problems: Problems, lines: Sequence[int]
) -> str:
    """`have no duration: 2 (first in line 4), or no GPU: 1 (line 9)`."""
    parts = []
    for what, rows in (("no duration", timeless), ("no GPU", idle)):
        if found := sorted(lines[row] for row in rows if row not in problems):
            first = "first in " if len(found) > 1 else ""
            parts.append(f"{what}: {len(found):,} ({first}line {found[0]})")
    return f"have {', or '.join(parts)}"


def _is_no_gpu(cell: str) -> bool:
    return is_missing(cell) or (_is_number(cell) and decimal_number(cell) == 0)


def _is_number(cell: str) -> bool:
    try:
        decimal_number(cell)
    except ValueError:
        return False
    return True
