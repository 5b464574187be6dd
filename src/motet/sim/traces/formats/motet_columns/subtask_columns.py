"""Columns of Motet's CSV for elastic jobs that may share machines: COMP and COMM times, bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from motet.domain.estimates import Overlap
from motet.domain.units import GIGA
from motet.sim.traces.cells import gigabytes
from motet.sim.traces.problems import WRONG_WORK, Problems
from motet.sim.traces.table import Table
from motet.sim.workload.subtask_work import SubtaskWork

_TIMES = ("comp_s", "comm_s", "input_gb", "parameters_gb")
_ASYNC = ("asynchronous", "async_efficiency")
SUBTASK_COLUMNS = (*_TIMES, *_ASYNC)
_OVERLAPS = {"never": Overlap.NEVER, "allowed": Overlap.PERMITTED, "always": Overlap.ALWAYS}
ParseColumn = Callable[[str, Callable[[str], Any], Any], Sequence[Any]]
"""Values of a column, with a default for empty cells and for rigid jobs."""
_NAN = float("nan")


def read_subtasks(parse: ParseColumn, table: Table, problems: Problems) -> SubtaskWork | None:
    """Read the times of the rows that have them; None if there are none."""
    if not any(cell.strip() for name in SUBTASK_COLUMNS for cell in table.columns.get(name, ())):
        return None
    found = SubtaskWork.of(
        parse("comp_s", _seconds, _NAN),
        parse("comm_s", _seconds, _NAN),
        parse("input_gb", gigabytes, 0),
        parse("parameters_gb", gigabytes, 0),
        parse("asynchronous", _overlap, Overlap.NEVER),
        parse("async_efficiency", _seconds, 1.0),
    )
    is_known = found.is_known.tolist()
    for name in SUBTASK_COLUMNS:
        cells = table.columns.get(name, ("",) * len(found))
        for row, cell in enumerate(cells):
            if row in problems:
                continue
            if not is_known[row] and cell.strip():
                problems.add(row, WRONG_WORK, f"{name} is {cell.strip()}, but comp_s is empty")
            elif is_known[row] and name == "comm_s" and not cell.strip():
                problems.add(row, WRONG_WORK, "comp_s is given, but comm_s is empty")
    return found


def subtask_columns(work: SubtaskWork) -> Mapping[str, Sequence[object]]:
    """Return the cells for writing the times to a CSV."""

    def cells(values: Sequence[object]) -> list[object]:
        return [
            value if it else "" for value, it in zip(values, work.is_known.tolist(), strict=True)
        ]

    names = {int(each): name for name, each in _OVERLAPS.items()}
    overlaps: dict[str, list[object]] = {}
    if work.overlap.any():  # Traces without such jobs have the columns of before.
        overlaps["asynchronous"] = cells([names[each] for each in work.overlap.tolist()])
        overlaps["async_efficiency"] = cells([repr(it) for it in work.async_efficiency.tolist()])
    return {
        "comp_s": cells([repr(value) for value in work.comp_s.tolist()]),
        "comm_s": cells([repr(value) for value in work.comm_s.tolist()]),
        "input_gb": cells([exact_gigabytes(each) for each in work.input_bytes.tolist()]),
        "parameters_gb": cells([exact_gigabytes(each) for each in work.model_bytes.tolist()]),
        **overlaps,
    }


def exact_gigabytes(size_bytes: int) -> str:
    """Exact decimal text: 64, 0.5, 1.000000001."""
    whole, rest = divmod(size_bytes, GIGA)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


def _overlap(cell: str) -> Overlap:
    if cell.lower() not in _OVERLAPS:
        raise ValueError(f"it must be {', '.join(_OVERLAPS)}")
    return _OVERLAPS[cell.lower()]


def _seconds(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ValueError("which is not a number") from None
