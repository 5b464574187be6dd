"""Columns of Motet's CSV for elastic jobs, which are the rows with a number of steps.

`num_gpus` is the full request: `workers x worker_gpus + servers x server_gpus`. `duration` is that
on the full request; it follows from the steps, so the cell is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from motet.estimate.speed_function import PARAMETERS, SpeedMode
from motet.sim.traces.cells import whole_number
from motet.sim.traces.curve_files import CurveFiles
from motet.sim.traces.formats.motet_columns.subtask_columns import (
    SUBTASK_COLUMNS,
    read_subtasks,
    subtask_columns,
)
from motet.sim.traces.problems import WRONG_WORK, BadRow, Problems, shown_cell
from motet.sim.traces.table import Table
from motet.sim.workload.elastic_work import WorkModels

T = TypeVar("T")
_COUNTS = (
    "min_workers",
    "max_workers",
    "servers",
    "min_servers",
    "max_servers",
    "worker_gpus",
    "server_gpus",
)
_SPEED_PARAMETERS = tuple(f"speed_{name}" for name in PARAMETERS)
_SPEED = ("speed", *_SPEED_PARAMETERS)
WORK_COLUMNS = ("steps", *_COUNTS, *_SPEED, "curve", "target_loss", *SUBTASK_COLUMNS)
_MODES = {"sync": SpeedMode.SYNC, "async": SpeedMode.ASYNC}
_MOST = 1e12


def read_work(
    table: Table, gpus: Sequence[int], curves: CurveFiles, problems: Problems
) -> WorkModels | None:
    """Read the work of the rows with steps; None if there are none."""
    if not any(cell.strip() for cell in table.columns.get("steps", ())):
        return None
    reader = _Reader(table, problems)
    counts = _counts(reader, gpus)
    subtasks = read_subtasks(reader.column, table, problems)
    if subtasks is not None:
        _refuse_speeds(reader, table, subtasks.is_known.tolist())
    speeds = [reader.column(name, _parameter, 0.0) for name in _SPEED_PARAMETERS[:-1]]
    speeds.append(reader.column(_SPEED_PARAMETERS[-1], _parameter, 1.0))
    work = WorkModels.of(
        reader.column("steps", _steps, 0),
        reader.column("speed", _mode, int(SpeedMode.UNKNOWN)),
        np.array(speeds, dtype=np.float64).T,
        curves=reader.column("curve", curves.named, None),
        target_loss=reader.column("target_loss", _loss, float("nan")),
        subtasks=subtasks,
        **counts,
    )
    for row, text in work.complaints():
        problems.add(row, WRONG_WORK, text)
    return work


def work_columns(work: WorkModels) -> Mapping[str, Sequence[object]]:
    """Return the cells for writing the work to a CSV."""
    has, modes = work.is_modelled.tolist(), {int(m): name for name, m in _MODES.items()}

    def cells(values: Sequence[object]) -> list[object]:
        return [value if it else "" for value, it in zip(values, has, strict=True)]

    curves = [work.curve_of(job) for job in range(len(work))]
    losses = work.target_loss.tolist()
    parameters = work.speeds.parameters.T.tolist()
    subtasks = {} if work.subtasks is None else subtask_columns(work.subtasks)
    follows = [False] * len(work) if work.subtasks is None else work.subtasks.is_known.tolist()
    has_speed = [it and not other for it, other in zip(has, follows, strict=True)]

    def speed_cells(values: Sequence[object]) -> list[object]:
        return [value if it else "" for value, it in zip(values, has_speed, strict=True)]

    return {
        "steps": cells(work.planned_steps.tolist()),
        **{name: cells(getattr(work, name).tolist()) for name in _COUNTS},
        "speed": speed_cells([modes.get(mode, "") for mode in work.speeds.mode.tolist()]),
        **{
            name: speed_cells([repr(value) for value in column])
            for name, column in zip(_SPEED_PARAMETERS, parameters, strict=True)
        },
        "curve": cells(["" if curve is None else curve.name for curve in curves]),
        "target_loss": cells([repr(loss) if isfinite(loss) else "" for loss in losses]),
        **subtasks,
    }


def _counts(reader: _Reader, gpus: Sequence[int]) -> dict[str, list[int]]:
    """Return the roles of every row; workers use the GPUs of the request without the servers'."""
    found = {name: reader.column(name, whole_number, None) for name in _COUNTS}
    given: dict[str, list[int]] = {
        name: [default if value is None else value for value in found[name]]
        for name, default in (("servers", 0), ("worker_gpus", 1), ("server_gpus", 0))
    }
    workers = []
    for row, (count, servers, each, of_server) in enumerate(
        zip(gpus, given["servers"], given["worker_gpus"], given["server_gpus"], strict=True)
    ):
        whole, rest = divmod(count - servers * of_server, max(each, 1))
        if reader.is_elastic(row) and (rest or whole < 1):
            reader.problems.add(row, WRONG_WORK, _no_workers(count, servers, each, of_server))
        workers.append(whole)
    usual = {
        "min_workers": [1] * len(gpus),
        "max_workers": workers,
        "min_servers": given["servers"],
        "max_servers": given["servers"],
    }
    for name, defaults in usual.items():
        given[name] = [
            default if value is None else value
            for value, default in zip(found[name], defaults, strict=True)
        ]
    return {"workers": workers, **given}


def _refuse_speeds(reader: _Reader, table: Table, follows: Sequence[bool]) -> None:
    """Add a problem for rows with COMP and COMM times that state a speed of their own."""
    for name in _SPEED:
        for row, cell in enumerate(table.columns.get(name, ())):
            if follows[row] and cell.strip():
                message = f"{name} is {shown_cell(cell)}, but the speed follows from comp_s and "
                reader.problems.add(row, WRONG_WORK, f"{message}comm_s; leave {name} empty")


def _no_workers(gpus: int, servers: int, each: int, of_server: int) -> str:
    return (
        f"num_gpus is {gpus}, which is not a whole number of workers of {each} GPUs beside "
        f"{servers} servers of {of_server}"
    )


class _Reader:
    """Parses cells of the rows with steps."""

    def __init__(self, table: Table, problems: Problems) -> None:
        self._table, self.problems = table, problems
        self._is_elastic = [bool(cell.strip()) for cell in table["steps"]]

    def is_elastic(self, row: int) -> bool:
        return self._is_elastic[row]

    def column(self, name: str, parse_cell: Callable[[str], Any], default: T) -> list[Any | T]:
        """Parse a column; `default` for empty or invalid cells (a problem) and for other rows."""
        values: list[Any | T] = [default] * len(self._is_elastic)
        for row, cell in enumerate(self._table.columns.get(name, ())):
            if not (self._is_elastic[row] and cell.strip()):
                continue
            try:
                values[row] = parse_cell(cell.strip())
            except ValueError as error:
                self.problems.add_error(row, BadRow.unparsable(name, cell, error))
        return values


def _steps(cell: str) -> int:
    steps = whole_number(cell)
    if steps < 1:
        raise ValueError("it must be at least 1")
    return steps


def _mode(cell: str) -> int:
    if cell.lower() not in _MODES:
        raise ValueError("it must be sync or async")
    return int(_MODES[cell.lower()])


def _parameter(cell: str) -> float:
    value = _number(cell)
    if not 0 <= value <= _MOST:
        raise ValueError(f"it must be within 0 and {_MOST:g}")
    return value


def _loss(cell: str) -> float:
    value = _number(cell)
    if not isfinite(value):
        raise ValueError("which is not a finite number")
    return value


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise ValueError("which is not a number") from None
