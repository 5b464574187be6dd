"""`read_trace`: reads a file in any known format."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from motet.domain.errors import BadInput, UnknownName
from motet.sim.traces.checking import check
from motet.sim.traces.formats.format import TraceFormat
from motet.sim.traces.formats.gavel_tsv import GavelTsvFormat
from motet.sim.traces.formats.helios_csv import HeliosCsvFormat
from motet.sim.traces.formats.kubernetes.kueue import KueueFormat
from motet.sim.traces.formats.motet_columns.any_table import (
    AnyTableFormat,
    delimiter_of,
    has_needed_columns,
    looks_like_jobs,
    missing_columns,
)
from motet.sim.traces.formats.motet_columns.motet_csv import MotetCsvFormat
from motet.sim.traces.formats.muri_csv import MuriCsvFormat
from motet.sim.traces.formats.philly_csv import PhillyCsvFormat
from motet.sim.traces.formats.philly_json import PhillyJsonFormat
from motet.sim.traces.formats.slurm.sacct import SacctFormat
from motet.sim.traces.formats.swf import SwfFormat
from motet.sim.traces.formats.tiresias_csv import TiresiasCsvFormat
from motet.sim.traces.options import ReadingOptions
from motet.sim.traces.problems import Problems
from motet.sim.traces.source import Source
from motet.sim.traces.table import delimited_header
from motet.sim.traces.trace import CUT_STATES, MORE_COLUMNS, Jobs, Trace
from motet.sim.workload.workload import Workload

T = TypeVar("T")

# The first format that recognises a file reads it: formats with marks precede similar ones.
FORMATS: Mapping[str, TraceFormat] = {
    entry.name: entry
    for entry in (
        SacctFormat(),
        KueueFormat(),
        AnyTableFormat(),
        MotetCsvFormat(),
        MuriCsvFormat(),
        TiresiasCsvFormat(),
        PhillyCsvFormat(),
        HeliosCsvFormat(),
        PhillyJsonFormat(),
        GavelTsvFormat(),
        SwfFormat(),
    )
}
DEFAULT_QUEUE = "default"
_NEAR = 0.5
_LEAST_FIELDS = 3


def read_trace(
    path: str | os.PathLike[str],
    format: str | None = None,
    skip_bad_rows: bool = False,
    largest_gang: int | None = None,
    throughputs: str | os.PathLike[str] | None = None,
    columns: Mapping[str, str] | None = None,
    timezone: str | None = None,
    encoding: str | None = None,
    time_format: str | None = None,
) -> Trace:
    """Read a trace, gzipped or not; detects its format by its content unless `format` is given.

    `largest_gang`: jobs with more GPUs are bad rows (the cluster's size). `throughputs`: table of
    isolated speeds, for Gavel traces. `columns`: names of columns of the file by their names in
    Motet's CSV. `timezone`: of time stamps without a zone, otherwise UTC. `encoding`: of the text;
    None: UTF-8, UTF-16 with a byte order mark, or else Windows-1252. `time_format`: of times in a
    table or a dump of sacct, as of `strptime`, or a unit since 1970 (s, ms, us, ns). Raises
    BadInput for a file that cannot be read, and for the first bad row unless `skip_bad_rows`;
    UnknownName for an unknown format or column.
    """
    speeds = None if throughputs is None else Path(throughputs)
    told = ReadingOptions.of(speeds, columns, timezone, encoding, time_format)
    source = Source.open(Path(path), told)
    return read_source(source, format, skip_bad_rows, largest_gang)


def read_source(
    source: Source,
    format: str | None = None,
    skip_bad_rows: bool = False,
    largest_gang: int | None = None,
) -> Trace:
    """As `read_trace`, from text in memory."""
    chosen = _format(source, format)
    problems = Problems()
    jobs = chosen.read(source, problems)
    check(jobs, problems, largest_gang)
    if len(problems) and not skip_bad_rows:
        raise problems.complaint(str(source.path), jobs.lines)
    kept = [row for row in range(len(jobs)) if row not in problems]
    if not kept:
        raise _nothing_left(source, chosen, jobs, problems)
    return _trace(source, chosen, jobs, kept, problems)


def _format(source: Source, name: str | None) -> TraceFormat:
    chosen = _chosen_format(source, name)
    if source.options.clock is None or isinstance(chosen, AnyTableFormat | SacctFormat):
        return chosen
    if isinstance(chosen, MotetCsvFormat):
        return FORMATS[AnyTableFormat.name]
    raise BadInput(
        f"--time-format and the format {chosen.name}: its times have one form; leave the option out"
    )


def _chosen_format(source: Source, name: str | None) -> TraceFormat:
    if name is not None:
        return _named_format(source, name)
    for entry in FORMATS.values():
        if entry.recognises(source) and (entry.takes_columns or not source.options.columns):
            return entry
    if has_needed_columns(source):
        return FORMATS[AnyTableFormat.name]
    nearest = max(FORMATS.values(), key=lambda entry: entry.nearness(source))
    if nearest.nearness(source) >= _NEAR and not isinstance(nearest, MotetCsvFormat):
        return nearest  # Its reader reports the missing columns.
    if looks_like_jobs(source):
        raise missing_columns(source, delimited_header(source, delimiter_of(source)))
    remedy = _remedy_for_relative(source) or (
        f"known with --format are {', '.join(FORMATS)}; of any other table name the columns: "
        "--columns submit_time=COLUMN,num_gpus=COLUMN,duration=COLUMN"
    )
    raise source.complaint("not a trace in a known format", remedy, 1)


def _remedy_for_relative(source: Source) -> str | None:
    """How to print a log of Slurm or Kubernetes that is in a form without a reader."""
    first, text = source.head[0], "\n".join(source.head).lower()
    if first.lstrip()[:1] in ("{", "[") and '"slurm' in text:
        return "print it with sacct --parsable2 instead of --json"
    if first.count("|") >= _LEAST_FIELDS:
        return "a dump of sacct needs its header: print it without --noheader"
    if first.startswith("apiVersion:"):
        return "print the objects with kubectl -o json instead of yaml"
    if first.split()[:2] == ["NAMESPACE", "NAME"] or first.split()[:2] == ["NAME", "QUEUE"]:
        return "print the objects with kubectl -o json"
    return None


def _named_format(source: Source, name: str) -> TraceFormat:
    if name not in FORMATS:
        raise UnknownName("trace format", name, FORMATS)
    chosen = FORMATS[name]
    if not source.options.columns or chosen.takes_columns:
        return chosen
    if isinstance(chosen, MotetCsvFormat):
        return FORMATS[AnyTableFormat.name]
    able = ", ".join(entry.name for entry in FORMATS.values() if entry.takes_columns)
    raise BadInput(f"--columns and --format {name}: it has its own columns; --columns needs {able}")


def _trace(
    source: Source, chosen: TraceFormat, jobs: Jobs, kept: Sequence[int], problems: Problems
) -> Trace:
    ids = _at(jobs.ids, kept)
    submit_us = _at(jobs.submit_us, kept)
    text = {name: _at(cells, kept) for name, cells in jobs.text.items()}
    workload = Workload.of(
        ids,
        submit_us,
        _at(jobs.duration_us, kept),
        _at(jobs.gpus, kept),
        queues=[queue or DEFAULT_QUEUE for queue in text["queue"]] if "queue" in text else None,
        models=text.get("model"),
        users=text.get("user"),
        cpus=_at(jobs.cpus, kept) if jobs.cpus else 0,
        memory_bytes=_at(jobs.memory_bytes, kept) if jobs.memory_bytes else 0,
        work=None if jobs.work is None else jobs.work.take(kept),
        experiments=text.get("experiment"),
        interventions=None if jobs.interventions is None else jobs.interventions.take(kept),
        cut=[state.upper() in CUT_STATES for state in text["state"]] if "state" in text else None,
    )
    row_of = {job: row for row, job in enumerate(ids)}
    order = [row_of[job] for job in workload.ids]
    return Trace(
        workload,
        chosen.name,
        jobs.sha256 or source.sha256,
        (
            *source.notices,
            *jobs.notices,
            *_order_notice(submit_us, _at(jobs.lines, kept)),
            *_skip_notice(problems, jobs.lines),
        ),
        problems.by_reason(),
        {name: tuple(_at(text[name], order)) for name in MORE_COLUMNS if name in text},
        jobs.zero,
    )


def _order_notice(submit_us: Sequence[int], lines: Sequence[int]) -> tuple[str, ...]:
    for row in range(1, len(submit_us)):
        if submit_us[row] < submit_us[row - 1]:
            problem = f" (line {lines[row]} was submitted before line {lines[row - 1]})"
            where = problem if lines[row] != lines[row - 1] else ""
            return (f"jobs are not in the order of their submission{where}: sorted",)
    return ()


def _skip_notice(problems: Problems, lines: Sequence[int]) -> tuple[str, ...]:
    if not len(problems):
        return ()
    plural = "s" if len(problems) > 1 else ""
    return (f"{len(problems):,} bad row{plural} skipped: {problems.account(lines)}",)


def _nothing_left(source: Source, chosen: TraceFormat, jobs: Jobs, problems: Problems) -> BadInput:
    why = (
        "; ".join((*jobs.notices, *_skip_notice(problems, jobs.lines)))
        or f"read as {chosen.described}"
    )
    return source.complaint(f"no job to replay ({why})", "give a trace with jobs")


def _at(cells: Sequence[T], rows: Sequence[int]) -> list[T]:
    return [cells[row] for row in rows]
