"""Loss curves that a trace names: bundled curves and user files.

A file is a CSV with a column `loss`, a row per measurement, and, unless these are equidistant, a
column `step` or `epoch`; `loss.csv` of `motet train` is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motet.domain.errors import BadInput, UnknownName
from motet.sim.curves import LossCurve, bundled_curve
from motet.sim.traces.problems import Problems, shown_cell
from motet.sim.traces.source import Source
from motet.sim.traces.table import Table, listed_columns

ENDINGS = (".csv", ".csv.gz")
LOSS, STEPS = "loss", ("step", "epoch")
LARGEST = 1e12


class CurveFiles:
    """Reads every file once, valid or not. `folder`: base of relative paths."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[str, LossCurve | str] = {}
        self._hashes: dict[str, str] = {}

    def named(self, name: str) -> LossCurve:
        """The curve that a cell names. Raises ValueError."""
        if not name.lower().endswith(ENDINGS):
            return _bundled(name)
        if name not in self._found:
            self._found[name] = self._read(name)
        found = self._found[name]
        if isinstance(found, str):
            raise ValueError(found)
        return found

    def hash_with(self, trace_sha256: str) -> str:
        """Combined hash of a trace and the files it names; the trace's own hash without
        such files.
        """
        if not self._hashes:
            return trace_sha256
        parts = [trace_sha256, *(self._hashes[name] for name in sorted(self._hashes))]
        return sha256("\n".join(parts).encode()).hexdigest()

    def _read(self, name: str) -> LossCurve | str:
        """The curve, or the error message."""
        try:
            source = Source.open((self._folder / name).absolute(), wanted="a CSV of losses")
            self._hashes[name] = source.sha256
            return read_curve(source)
        except BadInput as error:
            return str(error)


def read_curve(source: Source) -> LossCurve:
    """The curve, named by its path. Raises BadInput for other content."""
    if LOSS not in source.header:
        problem = f"no column 'loss'; the header has {listed_columns(source.header)}"
        raise source.complaint(problem, "call a column loss", 1)
    problems = Problems()
    table = Table.read(source, (LOSS,), problems)
    if len(problems):
        raise problems.complaint(str(source.path), table.lines, can_skip=False)
    losses = _numbers(source, table, LOSS)
    if len(losses) < 2:
        raise source.complaint(f"{len(losses)} losses", "give at least two")
    if not losses[-1] < losses[0]:
        problem = f"the last loss is {losses[-1]:g}, the first {losses[0]:g}"
        raise source.complaint(problem, "give the curve of a job whose loss fell")
    return LossCurve(str(source.path), losses, _steps(source, table))


def _steps(source: Source, table: Table) -> NDArray[np.float64] | None:
    name = next((name for name in STEPS if name in table.columns), None)
    if name is None:
        return None
    steps = _numbers(source, table, name)
    for row in np.flatnonzero(np.diff(steps) <= 0).tolist():
        problem = f"{name} is {steps[row + 1]:g} after {steps[row]:g}"
        raise source.complaint(problem, "it must ascend", table.lines[row + 1])
    return steps


def _numbers(source: Source, table: Table, name: str) -> NDArray[np.float64]:
    cells: Sequence[str] = table[name]
    try:
        values = np.array(cells, dtype=np.float64)
    except ValueError:
        values = np.array([_number(cell) for cell in cells])
    for row in np.flatnonzero(~(np.abs(values) <= LARGEST)).tolist():
        remedy = f"it must be a number within -{LARGEST:g} and {LARGEST:g}"
        raise source.complaint(f"{name} is {shown_cell(cells[row])}", remedy, table.lines[row])
    return values


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def _bundled(name: str) -> LossCurve:
    try:
        return bundled_curve(name)
    except UnknownName as error:
        own = "; or the path of a .csv with a column 'loss'"
        raise ValueError(f"unknown loss curve{error.hint}{own}") from None
