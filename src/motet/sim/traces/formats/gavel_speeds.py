"""Steps per second of Gavel's job types, alone on a number of GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Self

from motet.domain.units import SECOND_US
from motet.sim.traces.cells import decimal_number, rounded_us, whole_number
from motet.sim.traces.problems import Problems
from motet.sim.traces.source import Source
from motet.sim.traces.table import Table

COLUMNS = ("worker_type", "model", "scale_factor", "steps_per_s")
WORKER_TYPE = "v100"
_SLOWEST = Decimal("1e-9")


@dataclass(frozen=True)
class IsolatedSpeed:
    """A speed. `is_exact`: whether it was measured on this number of GPUs, not on fewer."""

    steps_per_s: Decimal
    is_exact: bool

    def duration_us(self, steps: str) -> int:
        """Return the duration of that many steps. Raises ValueError."""
        return rounded_us(decimal_number(steps) / self.steps_per_s * SECOND_US)


@dataclass(frozen=True)
class IsolatedSpeeds:
    """`of_type[model][GPUs]`: steps per second on V100s, on as few machines as possible."""

    path: Path
    of_type: Mapping[str, Mapping[int, Decimal]]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the table. Raises BadInput for any other file."""
        source, problems = Source.open(path, wanted="a table of speeds"), Problems()
        table = Table.read(source, COLUMNS, problems)
        scales = problems.numbers("scale_factor", table["scale_factor"], whole_number)
        of_type: dict[str, dict[int, Decimal]] = {}
        for line, worker, model, scale, cell in zip(
            table.lines,
            table["worker_type"],
            table["model"],
            scales,
            table["steps_per_s"],
            strict=True,
        ):
            if worker == WORKER_TYPE:
                of_type.setdefault(model, {})[scale] = _speed(source, line, cell)
        if len(problems):
            raise problems.complaint(str(path), table.lines, can_skip=False)
        return cls(path, of_type)

    def on(self, model: str, gpus: int) -> IsolatedSpeed:
        """Return the speed on that many GPUs or the next smaller measured number.

        Raises LookupError.
        """
        measured = self.of_type[model]
        fitting = max((count for count in measured if count <= gpus), default=None)
        if fitting is None:
            raise LookupError(gpus)
        return IsolatedSpeed(measured[fitting], fitting == gpus)


def _speed(source: Source, line: int, cell: str) -> Decimal:
    try:
        value = decimal_number(cell)
    except ValueError:
        value = Decimal(0)
    if value < _SLOWEST:
        raise source.complaint(f"steps_per_s is {cell!r}", "it must be a number above 0", line)
    return value
