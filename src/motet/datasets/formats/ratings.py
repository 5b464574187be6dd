"""Rating files: user, item, rating and optionally more, separated by tabs, `::`, commas or blanks.

MovieLens' `u.data` (tabs, no header), `ratings.dat` (`::`) and `ratings.csv` (header) are the
best known. Ids are whole numbers from 1. If a user rated an item twice, the last line counts.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motet.datasets.files import Head, InputFile
from motet.datasets.formats.format import (
    CERTAIN,
    NAMED,
    POSSIBLE,
    SHAPED,
    Format,
    Guess,
    ReadOptions,
    share_of,
)
from motet.datasets.formats.layout import CellLayout, layout_of
from motet.datasets.formats.numbers import is_number, is_whole
from motet.datasets.formats.separator import Separator
from motet.datasets.kinds import Ratings
from motet.domain.errors import BadInput

_MOVIELENS = re.compile(r"u\.data|u[1-5ab]\.(base|test)|ratings\.(dat|csv|data|tsv)")
_HEADER_WORDS = (
    ("user", ("userid", "user", "uid")),
    ("item", ("movieid", "itemid", "item", "movie", "productid", "bookid", "iid")),
    ("rating", ("rating", "score", "value", "stars")),
)
_MOST = 2**63 - 1
_EARLIEST_TIMESTAMP = 100_000_000
_ROW = np.dtype([("user", np.int64), ("item", np.int64), ("value", np.float64)])
_REMEDY = "write: user item rating, ids as whole numbers from 1"


class RatingsFormat(Format):
    """One rating per line."""

    name = "ratings"
    summary = "user item rating [time], tabs, ::, commas or blanks (MovieLens)"
    kinds = (Ratings,)
    aliases = ("movielens",)

    def sniff(self, head: Head) -> Guess:
        """A header that names user, item and rating; or id, id, number, time in every line."""
        separator = Separator.in_line(head.lines[0] if head.lines else "")
        if head.lines and None not in _named_columns(separator.split(head.lines[0])):
            return Guess(CERTAIN, "its header names user, item and rating")
        if _MOVIELENS.fullmatch(head.name):
            return Guess(NAMED, "by its name")
        share = share_of(head.lines, lambda line: _is_rating(separator.split(line)))
        if share and (separator.text == "::" or _has_timestamps(head, separator)):
            return Guess(SHAPED * share, f"{share:.0%} of its first lines are id, id, rating, time")
        return Guess(POSSIBLE * share, f"{share:.0%} of its first lines are id, id, number")

    def read(self, file: InputFile, options: ReadOptions) -> Ratings:
        """Ratings with users and items numbered from 0 in the order of their ids."""
        layout = layout_of(file)
        columns = _columns(layout)
        table = np.concatenate([_parse(layout, columns, block) for block in layout.data_blocks()])
        _check(layout, table)
        latest = _last_of_each(table)
        repeats = len(table) - len(latest)
        note = (
            f"the same user and item occur again on {repeats:,} lines: the last one of each counts"
        )
        kept = table[latest] if repeats else table
        return Ratings.from_ids(
            kept["user"],
            kept["item"],
            kept["value"],
            source=str(file),
            notes=(note,) if repeats else (),
        )


def _is_rating(cells: list[str]) -> bool:
    return (
        len(cells) in (3, 4) and is_whole(cells[0]) and is_whole(cells[1]) and is_number(cells[2])
    )


def _has_timestamps(head: Head, separator: Separator) -> bool:
    rows = [separator.split(line) for line in head.lines]
    times = [row[3] for row in rows if len(row) == 4]
    good = sum(is_whole(time) and int(time) >= _EARLIEST_TIMESTAMP for time in times)
    return separator.text in ("\t", ",") and 2 * good > len(rows)


def _named_columns(names: list[str]) -> list[int | None]:
    """Return the positions of user, item and rating in a header; None for those it lacks."""
    plain = [re.sub(r"[^a-z]", "", name.lower()) for name in names]
    return [
        next((plain.index(word) for word in words if word in plain), None)
        for _, words in _HEADER_WORDS
    ]


@dataclass(frozen=True)
class _Columns:
    """Positions of user, item and rating."""

    user: int
    item: int
    value: int

    @property
    def positions(self) -> tuple[int, int, int]:
        return self.user, self.item, self.value


def _columns(layout: CellLayout) -> _Columns:
    if layout.names is None:
        if layout.column_count < 3:
            problem = f"{layout.column_count} columns (separated by {layout.separator}), not 3 or 4"
            raise layout.file.complaint(problem, _REMEDY, layout.first_line)
        return _Columns(0, 1, 2)
    found = _named_columns(list(layout.names))
    user, item, value = found
    if user is None or item is None or value is None:
        lacking = [what for (what, _), at in zip(_HEADER_WORDS, found, strict=True) if at is None]
        problem = f"the header names no {' and no '.join(lacking)}"
        remedy = "name the columns userId, itemId and rating"
        raise layout.file.complaint(problem, remedy, layout.first_line - 1)
    return _Columns(user, item, value)


def _parse(layout: CellLayout, columns: _Columns, block: bytes) -> NDArray[np.void]:
    """(ratings,) rows of user, item, value."""
    stream = io.BytesIO(layout.separator.as_single_character(block))
    try:
        return np.loadtxt(
            stream,
            _ROW,
            comments=None,
            delimiter=layout.separator.delimiter,
            usecols=columns.positions,
            quotechar='"',
            ndmin=1,
        )
    except (ValueError, OverflowError) as error:
        raise _first_fault(layout, columns) or layout.file.complaint(str(error), _REMEDY) from None


def _first_fault(layout: CellLayout, columns: _Columns) -> BadInput | None:
    for number, cells in layout.data_lines():
        if len(cells) != layout.column_count:
            return layout.uneven(number, len(cells))
        for what, column in (("user", columns.user), ("item", columns.item)):
            if not is_whole(cells[column]):
                problem = f"{what} id {cells[column]!r} is not a whole number"
                return layout.file.complaint(problem, _REMEDY, number)
            if int(cells[column]) > _MOST:
                problem = f"{what} id {cells[column]} is above {_MOST}"
                return layout.file.complaint(problem, "number them anew", number)
        if not is_number(cells[columns.value]):
            problem = f"rating {cells[columns.value]!r} is not a number"
            return layout.file.complaint(problem, _REMEDY, number)
    return None


def _check(layout: CellLayout, table: NDArray[np.void]) -> None:
    for what in ("user", "item"):
        for row in np.flatnonzero(table[what] < 1)[:1]:
            problem = f"{what} id {table[what][row]} is below 1"
            remedy = "ids are whole numbers from 1; add 1 to all if they start at 0"
            raise layout.file.complaint(problem, remedy, layout.line_number(int(row)))
    for row in np.flatnonzero(~np.isfinite(table["value"]))[:1]:
        problem = f"the rating is {table['value'][row]}"
        remedy = "ratings must be finite numbers"
        raise layout.file.complaint(problem, remedy, layout.line_number(int(row)))


def _last_of_each(table: NDArray[np.void]) -> NDArray[np.intp]:
    """Return the positions, ascending, of the last row of every (user, item)."""
    order = np.lexsort((table["item"], table["user"]))
    users, items = table["user"][order], table["item"][order]
    is_last = np.ones(len(order), dtype=np.bool_)
    is_last[:-1] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
    return np.sort(order[is_last])
