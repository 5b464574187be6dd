"""Rating files: user, item, rating and optionally more, separated by tabs, `::`, commas or blanks.

MovieLens' `u.data` (tabs, no header), `ratings.dat` (`::`) and `ratings.csv` (header) are the
best known. Ids are whole numbers or text. If a user rated an item twice, the last line counts.
To predict ratings, a file of users and items suffices; all its lines are kept.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.datasets.files import Head, InputFile
from motet.datasets.formats.format import (
    CERTAIN,
    NAMED,
    POSSIBLE,
    SHAPED,
    UNLIKELY,
    Format,
    Guess,
    ReadOptions,
    share_of,
)
from motet.datasets.formats.numbers import is_number, is_whole
from motet.datasets.formats.tables.layout import CellLayout, layout_of
from motet.datasets.formats.tables.separator import BREAK, Separator
from motet.datasets.kinds import Ratings
from motet.datasets.kinds.ids import Ids
from motet.datasets.rating_frames import ROLES, rating_columns, ratings_from_columns
from motet.domain.errors import BadInput

_MOVIELENS = re.compile(r"u\.data|u[1-5ab]\.(base|test)|ratings\.(dat|csv|data|tsv)")
_TABLES = (".csv", ".tsv")
_MOST_SHOWN = 8
_EARLIEST_TIMESTAMP = 100_000_000
_PAIR = [("user", np.int64), ("item", np.int64)]
_ROW = [*_PAIR, ("value", np.float64)]
_ALL = tuple(role for role, _ in ROLES)
PAIR = _ALL[:2]
"""The columns that a prediction needs."""
_REMEDY = "write: user item rating [time], ids as whole numbers or text"


class RatingsFormat(Format):
    """One rating per line."""

    name = "ratings"
    summary = "user item rating [time], tabs, ::, commas or blanks (MovieLens)"
    kinds = (Ratings,)
    aliases = ("movielens",)

    def sniff(self, head: Head) -> Guess:
        """A header that names user, item and rating; or id, id, number, time in every line."""
        separator = Separator.in_line(head.lines[0] if head.lines else "")
        if _named_header(head, _ALL):
            return Guess(CERTAIN, "its header names user, item and rating")
        if _named_header(head, PAIR):
            return Guess(POSSIBLE, "its header names user and item")
        if _MOVIELENS.fullmatch(head.name):
            return Guess(NAMED, "by its name")
        share = share_of(head.lines, lambda line: _is_rating(separator.split(line)))
        if share and (separator.text == "::" or _has_timestamps(head, separator)):
            return Guess(SHAPED * share, f"{share:.0%} of its first lines are id, id, rating, time")
        if share:
            return Guess(POSSIBLE * share, f"{share:.0%} of its first lines are id, id, number")
        share = share_of(head.lines, lambda line: _is_text_rating(separator.split(line)))
        if head.name.endswith(_TABLES):  # `read` then tells which columns are wrong.
            return Guess(UNLIKELY, "a table by its name")
        return Guess(UNLIKELY * share, f"{share:.0%} of its first lines are id, id, number")

    def read(self, file: InputFile, options: ReadOptions) -> Ratings:
        """Ratings with users and items numbered from 0 in the order of their ids.

        With `options.only` of `PAIR` every line is kept, and its rating is 0.
        """
        if options.only == PAIR:
            return _read_pairs(file)
        layout = layout_of(file, wanted=_named_header(file.head, PAIR))
        columns = _columns(layout)
        users, items, values = _parse(layout, columns)
        _require_finite(layout, values)
        return ratings_from_columns(users, items, values, source=str(file))


def _read_pairs(file: InputFile) -> Ratings:
    layout = layout_of(file, wanted=_named_header(file.head, PAIR))
    users, items, values = _parse(layout, _columns(layout, PAIR))
    return Ratings.from_ids(users, items, values, source=str(file))


def _named_header(head: Head, roles: tuple[str, ...]) -> tuple[str, ...]:
    """The cells of the first line if they name the columns of these roles."""
    line = head.lines[0] if head.lines else ""
    cells = Separator.in_line(line).split(line)
    return () if None in rating_columns(cells)[: len(roles)] else tuple(cells)


def _is_rating(cells: list[str]) -> bool:
    return (
        len(cells) in (3, 4) and is_whole(cells[0]) and is_whole(cells[1]) and is_number(cells[2])
    )


def _is_text_rating(cells: list[str]) -> bool:
    return len(cells) in (3, 4) and is_number(cells[2])


def _has_timestamps(head: Head, separator: Separator) -> bool:
    rows = [separator.split(line) for line in head.lines]
    times = [row[3] for row in rows if len(row) == 4]
    good = sum(is_whole(time) and int(time) >= _EARLIEST_TIMESTAMP for time in times)
    return separator.text in ("\t", ",") and 2 * good > len(rows)


@dataclass(frozen=True)
class _Columns:
    """Positions of user, item and rating; None: ratings are not read."""

    user: int
    item: int
    value: int | None

    @property
    def positions(self) -> tuple[int, ...]:
        return (self.user, self.item, *([] if self.value is None else [self.value]))


def _columns(layout: CellLayout, roles: tuple[str, ...] = _ALL) -> _Columns:
    """The positions of the columns of these roles. Raises BadInput."""
    if layout.names is None:
        if layout.column_count < len(roles):
            problem = f"{layout.column_count} columns (separated by {layout.separator}), not 3 or 4"
            raise layout.file.complaint(problem, _REMEDY, layout.first_line)
        return _Columns(0, 1, 2 if roles == _ALL else None)
    found = dict(zip(roles, rating_columns(list(layout.names)), strict=False))
    user, item = found["user"], found["item"]
    lacking = [role for role, at in found.items() if at is None]
    if user is None or item is None or lacking:
        problem = f"the header names no {' and no '.join(lacking)}"
        problem += f" (its columns: {', '.join(map(repr, layout.names[:_MOST_SHOWN]))})"
        wanted = [
            f"{role} ({', '.join(words[:3])}, ...)" for role, words in ROLES if role in lacking
        ]
        remedy = f"rename columns: {', '.join(wanted)}"
        raise layout.file.complaint(problem, remedy, layout.first_line - 1)
    return _Columns(user, item, found.get("rating"))


def _parse(layout: CellLayout, columns: _Columns) -> tuple[Ids, Ids, NDArray[np.float64]]:
    """Users, items and values of all ratings; ids are text if one of their column is no number."""
    is_rated = columns.value is not None
    try:
        table = _cells(layout, columns, np.dtype(_ROW if is_rated else _PAIR))
    except (ValueError, OverflowError):
        return _parse_text(layout, columns)
    return table["user"], table["item"], table["value"] if is_rated else np.zeros(len(table))


def _parse_text(layout: CellLayout, columns: _Columns) -> tuple[Ids, Ids, NDArray[np.float64]]:
    try:
        cells = _cells(layout, columns, np.dtype(np.str_))
        cells = np.strings.replace(cells, BREAK, "\n")
        users, items = (_ids(np.strings.strip(cells[:, column])) for column in (0, 1))
        values = np.zeros(len(cells))
        if columns.value is not None:
            values = cells[:, 2].astype(np.float64)
    except (ValueError, OverflowError) as error:
        raise _first_fault(layout, columns) or layout.file.complaint(str(error), _REMEDY) from None
    if not (np.all(users != "") and np.all(items != "")):
        raise _first_fault(layout, columns) or layout.file.complaint("an id is empty", _REMEDY)
    return users, items, values


def _cells(layout: CellLayout, columns: _Columns, dtype: np.dtype[Any]) -> NDArray[Any]:
    """These columns of every line: a structured array, or text `(lines, columns)`."""
    parse = partial(
        np.loadtxt,
        dtype=dtype,
        comments=None,
        delimiter=layout.separator.delimiter,
        usecols=columns.positions,
        quotechar='"',
        ndmin=1 if dtype.names else 2,
    )
    blocks = (layout.separator.as_single_character(block) for block in layout.data_blocks())
    return np.concatenate([parse(io.BytesIO(block), encoding="utf-8") for block in blocks])


def _ids(cells: NDArray[np.str_]) -> Ids:
    try:
        return cells.astype(np.int64)
    except (ValueError, OverflowError):
        return cells


def _first_fault(layout: CellLayout, columns: _Columns) -> BadInput | None:
    for number, cells in layout.data_lines():
        if len(cells) != layout.column_count:
            return layout.uneven(number, len(cells))
        for what, column in (("user", columns.user), ("item", columns.item)):
            if not cells[column].strip():
                return layout.file.complaint(f"the {what} id is empty", _REMEDY, number)
        if columns.value is None:
            continue
        if not cells[columns.value].strip():
            problem, remedy = "the rating is missing", "remove lines without a rating"
            return layout.file.complaint(problem, remedy, number)
        if not is_number(cells[columns.value]):
            problem = f"rating {cells[columns.value]!r} is not a number"
            return layout.file.complaint(problem, _REMEDY, number)
    return None


def _require_finite(layout: CellLayout, values: NDArray[np.float64]) -> None:
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        problem = f"the rating is {values[row]}"
        remedy = "ratings must be finite numbers"
        raise layout.file.complaint(problem, remedy, layout.line_number(int(row)))
