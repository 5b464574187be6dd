"""A DataFrame of jobs as a trace: the columns of Motet's CSV, one job per row."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from motet.domain.errors import BadInput
from motet.domain.units import exact_seconds
from motet.sim.traces.formats.motet_columns.any_table import TIME_COLUMNS
from motet.sim.traces.formats.motet_columns.motet_csv import NEEDED
from motet.sim.traces.formats.motet_columns.usual_names import usual_column
from motet.sim.traces.reading import read_source
from motet.sim.traces.source import Source
from motet.sim.traces.table import listed_columns
from motet.sim.traces.times.durations import duration_us
from motet.sim.traces.times.time_stamps import TimeStamps
from motet.sim.traces.trace import Trace

if TYPE_CHECKING:
    from pandas import DataFrame, Series, Timedelta, Timestamp

_NAME = "DataFrame"
_FORMAT = "motet"
_REMEDIES_OF_FILES = (" or leave bad rows out with --skip-bad-rows", " (or another --format)")
_LINES_ABOVE = 2
"""The header is line 1, so the row 0 is line 2."""


def trace_of_frame(frame: DataFrame) -> Trace:
    """Read jobs from columns `job_id`, `submit_time`, `num_gpus`, `duration` and optional ones.

    `submit_time`: numbers of seconds, or dates, which count from the first submission as those of a
    file do: dates of pandas, or text such as "2026-03-02 08:00:00". `duration`: numbers of seconds,
    timedeltas, or text such as `1-02:03:04`. An index with the name of a column counts as one.
    Raises BadInput, which names the row by its index.
    """
    if frame.empty:
        raise BadInput("trace: the DataFrame has no rows; give a row per job")
    named = [name for name in frame.index.names if name is not None]
    whole = frame.reset_index() if named else frame
    _require_columns([str(name) for name in whole.columns])
    on_clock, zero = _on_clock(_with_dates(whole, frame))
    text = on_clock.to_csv(index=False)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    try:
        return replace(read_source(Source(Path(_NAME), sha256, text), _FORMAT), zero=zero)
    except BadInput as error:
        raise BadInput(_with_labels(str(error), frame)) from None


def _require_columns(names: list[str]) -> None:
    known = {name.strip().lower() for name in names}
    missing = [name for name in NEEDED if name not in known]
    if not missing:
        return
    guesses = {name: usual_column(name, names) for name in missing}
    renamed = {guess: name for name, guess in guesses.items() if guess is not None}
    remedy = f"rename columns: jobs.rename(columns={renamed})" if renamed else "add it"
    raise BadInput(
        f"trace: no column {', '.join(map(repr, missing))}; the DataFrame has "
        f"{listed_columns(names)}; {remedy}"
    )


def _with_dates(whole: DataFrame, frame: DataFrame) -> DataFrame:
    """Columns of times with dates of pandas where they were text or `datetime`. Raises BadInput."""
    times = [
        position
        for position, name in enumerate(whole.columns)
        if _plain(name) in TIME_COLUMNS and _holds_dates(whole.iloc[:, position])
    ]
    if not times:
        return whole
    import pandas as pd

    columns = [
        _dates(whole.iloc[:, at], frame) if at in times else whole.iloc[:, at]
        for at in range(whole.shape[1])
    ]
    return pd.concat(columns, axis=1)


def _holds_dates(column: Series[Any]) -> bool:
    """Whether the first cell with a value is text that is no number, or a `datetime`."""
    if column.dtype.kind in "mMiufb":
        return False
    first = next(iter(column.dropna()), 0)
    return isinstance(first, datetime) or (isinstance(first, str) and not _is_number(first))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True


def _dates(column: Series[Any], frame: DataFrame) -> Series[Any]:
    """Dates of pandas in UTC. Raises BadInput for the first cell that is none."""
    import pandas as pd

    stamps, found = TimeStamps(None), []
    for row, cell in enumerate(column):
        try:
            known = not (pd.isna(cell) or cell == "")
            found.append(stamps.microseconds(str(cell)) if known else None)
        except ValueError as error:
            where, shown = (
                f"row {_label(frame, row)}",
                f"{str(column.name).strip()} is {cell!r:.60}",
            )
            raise BadInput(f"trace: {where}: {shown}, {error}; correct it") from None
    return pd.to_datetime(pd.Series(found, column.index, "Int64", column.name), unit="us", utc=True)


def _on_clock(frame: DataFrame) -> tuple[DataFrame, datetime | None]:
    """Dates as seconds since the first submission, time spans and durations as seconds.

    Also returns the date of that submission; None without dates.
    """
    import pandas as pd

    submitted = next(frame[name] for name in frame.columns if _plain(name) == "submit_time")
    is_dated = submitted.dtype.kind == "M" and submitted.notna().any()
    zero = _as_utc(submitted).min() if is_dated else pd.Timestamp(0, tz="UTC")
    columns = [
        _in_seconds(frame.iloc[:, position], _plain(name) == "duration", zero)
        for position, name in enumerate(frame.columns)
    ]
    return pd.concat(columns, axis=1), zero.to_pydatetime() if is_dated else None


def _in_seconds(column: Series[Any], is_duration: bool, zero: Timestamp) -> Series[Any]:
    """Times and durations as exact text; other columns and cells as they are."""
    import pandas as pd

    kind = column.dtype.kind
    if kind == "M":
        column = _as_utc(column) - zero
    if kind in "mM":
        return column.map(lambda time: "" if pd.isna(time) else _seconds_text(time))
    return column.map(_duration_text) if is_duration and kind == "O" else column


def _as_utc(dates: Series[Any]) -> Series[Any]:
    utc: Series[Any] = (
        dates.dt.tz_localize("UTC") if dates.dt.tz is None else dates.dt.tz_convert("UTC")
    )
    return utc


def _duration_text(cell: object) -> object:
    """Text such as `1-02:03:04` as seconds; the reader complains about cells that are none."""
    try:
        return exact_seconds(duration_us(cell)) if isinstance(cell, str) else cell
    except ValueError:
        return cell


def _plain(name: object) -> str:
    return str(name).strip().lower()


def _seconds_text(duration: Timedelta) -> str:
    return exact_seconds(duration // timedelta(microseconds=1))


def _with_labels(message: str, frame: DataFrame) -> str:
    """The message with labels of the index instead of line numbers."""

    def label(match: re.Match[str]) -> str:
        row = int(match["line"]) - _LINES_ABOVE
        if not 0 <= row < len(frame):
            return "the columns"
        return f"row {_label(frame, row)}"

    for remedy in _REMEDIES_OF_FILES:
        message = message.replace(remedy, "")
    named = re.sub(rf"^{_NAME}:(?P<line>\d+)", label, message)
    return "trace: " + re.sub(r"\bline (?P<line>\d+)", label, named)


def _label(frame: DataFrame, row: int) -> str:
    """The label of the index, after the position if rows share labels (`pd.concat`)."""
    label = frame.index[row]
    shown = repr(label.item() if isinstance(label, np.generic) else label)
    return shown if frame.index.is_unique else f"{row} (label {shown})"
