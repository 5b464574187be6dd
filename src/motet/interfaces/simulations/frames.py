"""A DataFrame of jobs as a trace: the columns of Motet's CSV, one job per row."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motet.domain.errors import BadInput
from motet.domain.units import exact_seconds
from motet.sim.traces.reading import read_source
from motet.sim.traces.source import Source
from motet.sim.traces.trace import Trace

if TYPE_CHECKING:
    from pandas import DataFrame, Series, Timedelta

_NAME = "DataFrame"
_FORMAT = "motet"
_REMEDIES_OF_FILES = (" or leave bad rows out with --skip-bad-rows", " (or another --format)")
_LINES_ABOVE = 2
"""The header is line 1, so the row 0 is line 2."""


def trace_of_frame(frame: DataFrame) -> Trace:
    """Read jobs from columns `job_id`, `submit_time`, `num_gpus`, `duration` and optional ones.

    `submit_time`, `duration`: numbers of seconds, or dates and timedeltas of pandas. An index with
    the name of a column counts as one. Raises BadInput, which names the row by its index.
    """
    if frame.empty:
        raise BadInput("trace: the DataFrame has no rows; give a row per job")
    named = [name for name in frame.index.names if name is not None]
    whole = frame.reset_index() if named else frame
    text = whole.apply(_in_seconds).to_csv(index=False)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    try:
        return read_source(Source(Path(_NAME), sha256, text), _FORMAT)
    except BadInput as error:
        raise BadInput(_with_labels(str(error), frame)) from None


def _in_seconds(column: Series[Any]) -> Series[Any]:
    """Dates as seconds since 1970 and timedeltas as seconds, as exact text; others as they are."""
    import pandas as pd

    if column.dtype.kind not in "mM":
        return column
    zero = pd.Timestamp(0, tz=column.dt.tz) if column.dtype.kind == "M" else pd.Timedelta(0)
    return column.map(lambda time: "" if pd.isna(time) else _seconds_text(time - zero))


def _seconds_text(duration: Timedelta) -> str:
    return exact_seconds(duration // timedelta(microseconds=1))


def _with_labels(message: str, frame: DataFrame) -> str:
    """The message with labels of the index instead of line numbers."""

    def label(match: re.Match[str]) -> str:
        row = int(match["line"]) - _LINES_ABOVE
        if not 0 <= row < len(frame):
            return "the columns"
        return f"row {frame.index[row]!r}"

    for remedy in _REMEDIES_OF_FILES:
        message = message.replace(remedy, "")
    named = re.sub(rf"^{_NAME}:(?P<line>\d+)", label, message)
    return "trace: " + re.sub(r"\bline (?P<line>\d+)", label, named)
