"""Mistakes in the columns of Motet's CSV that would be ignored otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from motet.domain.errors import nearest_name
from motet.sim.traces.problems import WRONG_WORK, Problems, shown_cell
from motet.sim.traces.table import Table

STEPS = "steps"


def misspelt_columns(table: Table, wanted: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return a notice for every unknown column that resembles a missing one of `wanted`.

    `others`: known columns that are not suggested.
    """
    missing = [name for name in wanted if name not in table.columns]
    unknown = [name for name in table.columns if name and name not in (*wanted, *others)]
    meant = {name: nearest_name(name, missing) for name in unknown}
    return tuple(
        f"column {name!r} is unknown and not read; did you mean {column!r}?"
        for name, column in meant.items()
        if column
    )


def check_steps(table: Table, columns: Sequence[str], problems: Problems) -> None:
    """Add a problem for rows without steps that have values in the columns of elastic jobs."""
    steps = table.columns.get(STEPS)
    for name in columns:
        if name == STEPS:
            continue
        for row, cell in enumerate(table.columns.get(name, ())):
            if cell.strip() and not (steps is not None and steps[row].strip()):
                message = f"{name} is {shown_cell(cell)}, {_why(table)}; give steps or no {name}"
                problems.add(row, WRONG_WORK, message)


def _why(table: Table) -> str:
    if STEPS in table.columns:
        return "but steps is empty, and only jobs with steps are elastic"
    alike = nearest_name(STEPS, table.columns)
    hint = f" (did you mean it by {alike!r}?)" if alike else ""
    return f"but there is no column steps{hint}, and only jobs with steps are elastic"
