"""A CSV file with a header as columns of text."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from motet.domain.errors import UnknownName
from motet.sim.traces.problems import WRONG_CELLS, Problems
from motet.sim.traces.source import Source

Cells = Sequence[str]

_LONGEST_NAME, _MOST_NAMES, _LISTED = 40, 30, 12


@dataclass(frozen=True)
class Table:
    """`lines`: first line of each row, from 1. `columns`: by name in lower case, a cell per row."""

    lines: Sequence[int]
    columns: dict[str, Cells]

    @classmethod
    def read(cls, source: Source, needed: Sequence[str], problems: Problems) -> Self:
        """Read all rows; rows with too few or too many cells are problems and have empty cells.

        Raises BadInput if a column in `needed` is missing.
        """
        _check_header(source, needed)
        return cls.of_records(source.header, _records(source, ","), problems)

    @classmethod
    def read_delimited(cls, source: Source, delimiter: str, problems: Problems) -> Self:
        """As `read`, for any columns. Raises BadInput for two columns of one name."""
        names = delimited_header(source, delimiter)
        twice = [name for name, count in Counter(names).items() if count > 1 and name]
        if twice:
            raise source.complaint(f"two columns are called {twice[0]!r}", "rename one of them", 1)
        return cls.of_records(names, _records(source, delimiter), problems)

    @classmethod
    def of_records(
        cls,
        names: Sequence[str],
        records: Iterable[tuple[int, list[str]]],
        problems: Problems,
        hint: str = "",
    ) -> Self:
        """A table of rows with the lines that they begin in.

        `names`: of the columns. `hint`: what may have caused a wrong number of cells.
        """
        lines: list[int] = []
        flat: list[str] = []  # The garbage collector would look through a list per row.
        for line, cells in records:
            if len(cells) != len(names):
                message = f"{len(cells)} cells, the header has {len(names)}{hint}"
                problems.add(len(lines), WRONG_CELLS, message)
                cells = [""] * len(names)
            lines.append(line)
            flat += cells
        width = len(names)
        columns: dict[str, Cells] = {name: flat[place::width] for place, name in enumerate(names)}
        return cls(lines, columns)

    def __getitem__(self, name: str) -> Cells:
        return self.columns[name]

    def texts(self, **column_of: str) -> dict[str, Cells]:
        """Columns under new names, stripped; columns that the file lacks are omitted."""
        return {
            name: [cell.strip() for cell in self.columns[column]]
            for name, column in column_of.items()
            if column in self.columns
        }


def stripped(cells: Cells) -> list[str]:
    """Cells without surrounding blanks."""
    return [cell.strip() for cell in cells]


def delimited_header(source: Source, delimiter: str) -> tuple[str, ...]:
    """The names in the first line, in lower case."""
    return tuple(name.lower() for name in header_names(source, delimiter))


def header_names(source: Source, delimiter: str) -> tuple[str, ...]:
    """The names in the first line as they are written."""
    try:
        (names,) = csv.reader([source.head[0]], delimiter=delimiter)
    except (csv.Error, ValueError) as error:
        problem, remedy = f"cannot be read as a header ({error})", "check the quotes"
        raise source.complaint(problem, remedy, 1) from None
    return tuple(name.strip() for name in names)


def listed_columns(names: Sequence[str]) -> str:
    """The first 12 columns, and how many there are in all if more.

    Names of more than 40 characters are cut, and end with `...`.
    """
    listed = [
        name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
        for name in names[:_LISTED]
    ]
    if len(names) > _LISTED:
        listed.append(f"... ({len(names)} in all)")
    return ", ".join(listed)


def check_named_columns(source: Source, header: Sequence[str]) -> None:
    """Raises UnknownName if the user names a column with --columns that the header lacks."""
    plain = {each.lower() for each in header}
    for name, column in source.options.columns.items():
        if column.lower() not in plain:
            known = [each[:_LONGEST_NAME] for each in header[:_MOST_NAMES]]
            kind = f"column of {source.path} in --columns {name}="
            raise UnknownName(kind, column[:_LONGEST_NAME], known)


def _check_header(source: Source, needed: Sequence[str]) -> None:
    missing = [name for name in needed if name not in source.header]
    if missing:
        names = ", ".join(map(repr, missing))
        raise source.complaint(
            f"no column {names}; the header has {listed_columns(source.header)}",
            f"a header with {', '.join(needed)} is needed (or another --format)",
            1,
        )
    twice = [name for name, count in Counter(source.header).items() if count > 1 and name in needed]
    if twice:
        raise source.complaint(f"two columns are called {twice[0]!r}", "rename one of them", 1)


def _records(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Every row after the header that is not blank, with its first line."""
    reader = csv.reader(io.StringIO(source.text, newline=""), delimiter=delimiter)
    begins, is_header = 1, True
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            problem, remedy = f"cannot be read as CSV ({error})", "check the quotes"
            raise source.complaint(problem, remedy, begins) from None
        if cells is None:
            return
        if cells and any(cells) and (len(cells) > 1 or cells[0].strip()):
            if not is_header:
                yield begins, cells
            is_header = False
        begins = reader.line_num + 1
