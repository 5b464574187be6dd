"""Problems of trace rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from motet.domain.errors import BadInput
from motet.domain.units import NEVER_US

WRONG_CELLS = "wrong number of cells"
UNPARSABLE = "unparsable"
NEGATIVE_DURATION = "negative duration"
NEGATIVE_SUBMIT = "negative submit time"
NO_GPUS = "no GPUs"
NEGATIVE_GPUS = "negative number of GPUs"
TOO_MANY_GPUS = "too many GPUs"
TOO_LARGE = "too much service"
NO_ID = "no id"
DUPLICATE_ID = "duplicate id"
UNKNOWN_SPEED = "unknown speed"
WRONG_WORK = "no work model"
WRONG_ORDER = "times in a wrong order"

_LONGEST_CELL = 40
_NO_VALUE = frozenset({"", "-", "n/a", "na", "nan", "nat", "none", "null", "unknown"})
_MOST_NAMED = 8


@dataclass(frozen=True)
class TraceProblem:
    """`reason`: one of the constants above, with the name of the field for one that cannot be
    parsed; `message`: with the value and the limit. `subject`: the row's name, where lines do not
    tell rows apart."""

    reason: str
    message: str
    subject: str = ""

    def place(self, line: int) -> str:
        """`line 4`, or the row's name."""
        return self.subject or f"line {line}"


class BadRow(ValueError):
    """A reader cannot use a row. `reason`: as in TraceProblem; the text is its message."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    @classmethod
    def unparsable(cls, name: str, cell: str, why: object) -> Self:
        """The cell of a field does not have the form of its values. `why`: "which is not ..."."""
        return cls(f"{UNPARSABLE} {name}", f"{name} is {shown_cell(cell)}, {why}")


class Problems:
    """Collects problems by row; the first problem of a row counts."""

    def __init__(self) -> None:
        self._of_row: dict[int, TraceProblem] = {}

    def __contains__(self, row: int) -> bool:
        return row in self._of_row

    def __len__(self) -> int:
        return len(self._of_row)

    def add(self, row: int, reason: str, message: str) -> None:
        """Add a problem of a row."""
        self._of_row.setdefault(row, TraceProblem(reason, message))

    def add_error(self, row: int, error: BadRow, subject: str = "") -> None:
        """Add the problem of a row that its reader raised. `subject`: see TraceProblem."""
        message = f"{subject}: {error}" if subject else str(error)
        self._of_row.setdefault(row, TraceProblem(error.reason, message, subject))

    def renumber(self, kept: Sequence[int]) -> None:
        """Renumber rows after removals: the row `kept[n]` is now row n. Bad rows must be kept."""
        self._of_row = {n: self._of_row[row] for n, row in enumerate(kept) if row in self._of_row}

    def by_reason(self) -> dict[str, int]:
        """Number of bad rows per reason, the most common first."""
        return dict(Counter(problem.reason for problem in self._of_row.values()).most_common())

    def account(self, lines: Sequence[int]) -> str:
        """`negative duration 2 (first in line 4), no GPUs 1 (line 9)`, the most common first.

        `lines`: of all rows.
        """
        return _grouped([(self._of_row[row], lines[row]) for row in self._of_row])

    def complaint(self, file: str, lines: Sequence[int], *, can_skip: bool = True) -> BadInput:
        """The error for the first bad row, with the numbers of others per reason.

        `can_skip`: whether an option skips bad rows.
        """
        first, *others = sorted(self._of_row, key=lambda row: lines[row])
        more = f" ({self._counted(others, lines)})" if others else ""
        remedy = f"correct {'them' if others else 'it'}"
        remedy += " or leave bad rows out with --skip-bad-rows" if can_skip else ""
        return BadInput(f"{file}:{lines[first]}: {self._of_row[first].message}{more}; {remedy}")

    def _counted(self, rows: Sequence[int], lines: Sequence[int]) -> str:
        """`and 3 more bad rows: negative duration 2 (first in line 4), no GPUs 1 (line 9)`."""
        count = f"and {len(rows):,} more bad row{'s' if len(rows) > 1 else ''}"
        return f"{count}: {_grouped([(self._of_row[row], lines[row]) for row in rows])}"

    def parse(
        self, name: str, cells: Sequence[str], parse_cell: Callable[[str], int]
    ) -> tuple[list[int], set[int]]:
        """A column's numbers, and the rows with invalid cells: recorded as problems, with value 0.

        `parse_cell` raises ValueError with the reason for an invalid cell. It is called once per
        cell, because it may count what it assumes.
        """
        values, bad = [], set()
        for row, cell in enumerate(cells):
            try:
                values.append(parse_cell(cell))
            except ValueError as error:
                self.add_error(row, BadRow.unparsable(name, cell, error))
                values.append(0)
                bad.add(row)
        return values, bad

    def numbers(
        self, name: str, cells: Sequence[str], parse_cell: Callable[[str], int]
    ) -> list[int]:
        """As `parse`, without the rows."""
        return self.parse(name, cells, parse_cell)[0]

    def optional(
        self, name: str, cells: Sequence[str], parse_cell: Callable[[str], int]
    ) -> list[int | None]:
        """As `numbers`; None for a cell without a value or with a bad one."""
        known = [row for row, cell in enumerate(cells) if not is_missing(cell)]
        found: list[int | None] = [None] * len(cells)
        for row in known:
            try:
                found[row] = parse_cell(cells[row])
            except ValueError as error:
                self.add_error(row, BadRow.unparsable(name, cells[row], error))
        return found

    def demands(
        self, name: str, cells: Sequence[str] | None, parse_cell: Callable[[str], int]
    ) -> list[int]:
        """As `numbers`; empty for a missing or empty column, 0 for an empty cell."""
        if cells is None or _is_all_blank(cells):
            return []
        return self.numbers(name, [cell.strip() or "0" for cell in cells], parse_cell)

    def times(
        self, name: str, cells: Sequence[str] | None, parse_cell: Callable[[str], int]
    ) -> list[int]:
        """As `demands`; NEVER_US for an empty cell."""
        if cells is None or _is_all_blank(cells):
            return []
        return self.numbers(
            name, cells, lambda cell: parse_cell(cell) if cell.strip() else NEVER_US
        )


def _grouped(bad_rows: Sequence[tuple[TraceProblem, int]]) -> str:
    """A count per reason with its first row. `bad_rows`: problem and line of each."""
    first: dict[str, tuple[int, str]] = {}
    for problem, line in bad_rows:
        found = line, problem.place(line)
        known = first.setdefault(problem.reason, found)
        if line < known[0]:
            first[problem.reason] = found
    counted = Counter(problem.reason for problem, _ in bad_rows).items()
    counts = sorted(counted, key=lambda entry: (-entry[1], first[entry[0]][0]))
    parts = [
        f"{reason} {count:,} ({'first in ' if count > 1 else ''}{first[reason][1]})"
        for reason, count in counts[:_MOST_NAMED]
    ]
    return ", ".join(parts + ["..."] * (len(counts) > _MOST_NAMED))


def is_missing(cell: str) -> bool:
    """Whether a cell is empty or a word that stands for no value, such as Unknown or null."""
    return cell.strip().lower() in _NO_VALUE


def _is_all_blank(cells: Sequence[str]) -> bool:
    return not any(cell and not cell.isspace() for cell in cells)


def shown_cell(cell: str) -> str:
    """A cell in a message: quoted and truncated."""
    if not cell.strip():
        return "empty"
    return repr(cell if len(cell) <= _LONGEST_CELL else f"{cell[:_LONGEST_CELL]}...")
