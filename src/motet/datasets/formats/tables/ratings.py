"""Rating files: user, item, rating and optionally more, separated by tabs, `::`, commas or blanks.

MovieLens' `u.data` (tabs, no header), `ratings.dat` (`::`) and `ratings.csv` (header) are the
best known. Ids are whole numbers or text. If a user rated an item twice, the last line counts.
To predict ratings, a file of users and items suffices; all its lines are kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

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
from motet.datasets.formats.tables.decimal_commas import NOTE
from motet.datasets.formats.tables.layout import CellLayout, layout_of
from motet.datasets.formats.tables.rating_cells import (
    ids_of,
    is_rating,
    rating_numbers,
    read_cells,
    read_texts,
)
from motet.datasets.formats.tables.separator import Separator
from motet.datasets.formats.tables.wide_ratings import read_wide, wide_layout
from motet.datasets.kinds import Ratings
from motet.datasets.kinds.ids import Ids
from motet.datasets.rating_frames import (
    ROLES,
    RatingColumns,
    rating_columns,
    ratings_from_columns,
)
from motet.domain.errors import BadInput, UnknownName

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
    has_ratings = True

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
        roles = PAIR if options.only == PAIR else _ALL
        wide = None if options.columns.names else wide_layout(file)
        if wide is not None:
            return _as_asked(read_wide(wide), roles)
        named = _named_header(file.head, PAIR)
        layout = layout_of(file, wanted=(*named, *options.columns.names))
        rows = _parse(layout, _columns(layout, roles, options.columns))
        if roles == PAIR:
            return Ratings.from_ids(rows.users, rows.items, rows.values, source=str(file))
        _require_finite(layout, rows.values)
        return ratings_from_columns(
            rows.users, rows.items, rows.values, source=str(file), notes=rows.notes
        )


def _as_asked(ratings: Ratings, roles: tuple[str, ...]) -> Ratings:
    if roles != PAIR:
        return ratings
    return replace(ratings, values=np.zeros(ratings.rating_count))


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


def _columns(layout: CellLayout, roles: tuple[str, ...], named: RatingColumns) -> _Columns:
    """The positions of the columns of these roles. Raises BadInput."""
    found: list[int | None] = [0, 1, 2]
    if layout.names is not None:
        found = rating_columns(list(layout.names))
    elif layout.column_count < len(roles) and not named.names:
        problem = f"{layout.column_count} columns (separated by {layout.separator}), not 3 or 4"
        raise layout.file.complaint(problem, _REMEDY, layout.first_line)
    by_role = dict(zip(roles, found, strict=False))
    for role in roles:
        name = named.named(role)
        if name is not None:
            by_role[role] = _position(layout, name)
    user, item = by_role["user"], by_role["item"]
    lacking = [role for role, at in by_role.items() if at is None or at >= layout.column_count]
    if user is None or item is None or lacking:
        raise _lack_of_columns(layout, lacking)
    return _Columns(user, item, by_role.get("rating"))


def _position(layout: CellLayout, name: str) -> int:
    """The position of a column by its name, or in a file without a header by its index."""
    if layout.names is not None and name in layout.names:
        return layout.names.index(name)
    if layout.names is None and name.isdecimal() and int(name) < layout.column_count:
        return int(name)
    known = layout.names or map(str, range(layout.column_count))
    raise UnknownName(f"column of {layout.file}", name, known)


def _lack_of_columns(layout: CellLayout, lacking: list[str]) -> BadInput:
    names = layout.names or ()
    problem = f"the header names no {' and no '.join(lacking)}"
    problem += f" (its columns: {', '.join(map(repr, names[:_MOST_SHOWN]))})"
    wanted = ",".join(f"{role}=NAME" for role in lacking)
    words = [f"{role} ({', '.join(words[:3])}, ...)" for role, words in ROLES if role in lacking]
    remedy = f"name them with --columns {wanted}, or rename columns: {', '.join(words)}"
    return layout.file.complaint(problem, remedy, layout.first_line - 1)


@dataclass(frozen=True, eq=False)
class _RatingRows:
    """Columns `(n,)` of all ratings, and notes for the user."""

    users: Ids
    items: Ids
    values: NDArray[np.float64]
    notes: tuple[str, ...] = ()


def _parse(layout: CellLayout, columns: _Columns) -> _RatingRows:
    """Users, items and values of all ratings; ids are text if one of their column is no number."""
    is_rated = columns.value is not None
    try:
        dtype = np.dtype(_ROW if is_rated else _PAIR)
        table = read_cells(layout, columns.positions, dtype)
    except (ValueError, OverflowError):
        return _parse_text(layout, columns)
    values = table["value"] if is_rated else np.zeros(len(table))
    return _RatingRows(table["user"], table["item"], values)


def _parse_text(layout: CellLayout, columns: _Columns) -> _RatingRows:
    try:
        cells = read_texts(layout, columns.positions)
        users, items = (ids_of(cells[:, column]) for column in (0, 1))
        values, commas = np.zeros(len(cells)), None
        if columns.value is not None:
            values, commas = rating_numbers(cells[:, 2], layout.separator)
    except (ValueError, OverflowError) as error:
        raise _first_fault(layout, columns) or layout.file.complaint(str(error), _REMEDY) from None
    if not (np.all(users != "") and np.all(items != "")):
        raise _first_fault(layout, columns) or layout.file.complaint("an id is empty", _REMEDY)
    return _RatingRows(users, items, values, () if commas is None else (NOTE,))


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
        if not is_rating(cells[columns.value], layout.separator):
            problem = f"rating {cells[columns.value]!r} is not a number"
            return layout.file.complaint(problem, _REMEDY, number)
    return None


def _require_finite(layout: CellLayout, values: NDArray[np.float64]) -> None:
    for row in np.flatnonzero(~np.isfinite(values))[:1]:
        problem = f"the rating is {values[row]}"
        remedy = "ratings must be finite numbers"
        raise layout.file.complaint(problem, remedy, layout.line_number(int(row)))
