"""Documents of the server as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

JOB_COLUMNS = (
    *("id", "name", "user", "queue", "priority", "kind", "processes", "state", "reason"),
    *("message", "array", "index", "attempts", "submitted_at", "started_at", "ended_at"),
    *("progress", "held_processes", "most_processes", "least_processes"),
)
_TIMES = frozenset(
    {
        *("submitted_at", "started_at", "ended_at", "created_at", "expires_at", "revoked_at"),
        *("delivered_at", "at", "drain_from"),
    }
)


def indexed_frame(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], index: str
) -> pd.DataFrame:
    """A row per document, indexed by a column; times are in UTC."""
    from pandas import DataFrame, to_datetime

    found = DataFrame([*rows], columns=[*columns])
    for name in _TIMES.intersection(columns):
        found[name] = to_datetime(found[name], format="ISO8601", utc=True)
    return found.set_index(index)


def jobs_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """A row per job or array, indexed by its number."""
    numbered = ({**row, "id": int(row["id"])} for row in rows)
    found = indexed_frame(numbered, JOB_COLUMNS, "id")
    found.index = found.index.astype("int64")
    return found


def turns_frame(turns: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """A row per turn at the CPU or the network of a machine; times are in UTC."""
    from pandas import DataFrame, to_datetime

    found = DataFrame([*turns], columns=["job", "kind", "start_us", "end_us"])
    for name in ("start", "end"):
        found[name] = to_datetime(found.pop(f"{name}_us").astype("int64"), unit="us", utc=True)
    return found


def accounting_frame(lines: Iterable[str]) -> pd.DataFrame:
    """Of accounting records in the form of sacct: a row per attempt, the texts of sacct, but times
    in UTC (NaT where it is `Unknown`) and seconds as numbers."""
    from pandas import DataFrame, to_datetime, to_numeric

    header, *records = (line.split("|") for line in lines)
    found = DataFrame(records, columns=header)
    for name in {"Submit", "Start", "End"}.intersection(header):
        found[name] = to_datetime(found[name], format="ISO8601", utc=True, errors="coerce")
    for name in {"ElapsedRaw", "Priority", "Restarts"}.intersection(header):
        found[name] = to_numeric(found[name], errors="coerce")
    return found
