"""The choice of the target column and of columns to leave out: `--target`, `--drop`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from motet.datasets.files import InputFile
from motet.datasets.kinds.matrix import lack_of_columns
from motet.domain.errors import BadInput, UnknownName

MISSING = "missing"
MISSING_ROWS = "missing-rows"
INDEX_NAMES = ("", "Unnamed: 0")
"""Of the row numbers that pandas writes as a first column."""
_RANGE = re.compile(r"(\d+)-(\d+)")


@dataclass(frozen=True)
class Columns:
    """Positions from 0.

    `drops_missing`: whether to leave out features with missing values; `drops_rows`: or rows.
    """

    features: tuple[int, ...]
    target: int | None
    drops_missing: bool
    drops_rows: bool


def choose_columns(
    file: InputFile,
    names: tuple[str, ...] | None,
    column_count: int,
    target: str | None,
    drop: tuple[str, ...],
    only: tuple[str, ...] = (),
) -> Columns:
    """Choose columns by name or index (negative ones count from the end, `0-4` is a range).

    `only`: the features that are needed; in a table with names all others are left out.

    Raises `UnknownName` for a name that the header lacks, `BadInput` for an index outside the
    table, a dropped target, a lack of needed features, or when no feature is left.
    """
    table = _Table(file, names, column_count)
    wanted = None if target is None else table.index(target.strip(), "--target")
    parts = [part for text in drop for part in table.drop_parts(text)]
    named = [part for part in parts if part not in (MISSING, MISSING_ROWS)]
    dropped = {column for part in named for column in table.indices(part)}
    if wanted in dropped:
        raise BadInput(f"{file}: column {target!r} is both --target and --drop; give it once")
    features = tuple(
        column for column in range(column_count) if column not in dropped and column != wanted
    )
    if only and names is not None:
        distinct = distinct_names(names)
        lacking = [name for name in only if name not in distinct]
        if lacking:
            raise lack_of_columns(str(file), lacking, len(only))
        features = tuple(column for column in features if distinct[column] in only)
    if not features:
        remedy = (
            f"drop fewer of {column_count}" if dropped or only else "the target is the only one"
        )
        raise BadInput(f"{file}: no feature column is left; {remedy}")
    return Columns(features, wanted, MISSING in parts, MISSING_ROWS in parts)


def distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Number repeated names as pandas does: `a, a` becomes `a, a.1`."""
    taken = set(names)
    found: list[str] = []
    for at, name in enumerate(names):
        new, number = name, 0
        while (number or name in names[:at]) and (number == 0 or new in taken):
            number += 1
            new = f"{name}.{number}"
        taken.add(new)
        found.append(new)
    return tuple(found)


@dataclass(frozen=True)
class _Table:
    file: InputFile
    names: tuple[str, ...] | None
    column_count: int

    def drop_parts(self, text: str) -> list[str]:
        """Split `0-4,missing`; a column name that contains a comma is one part."""
        if text in (self.names or ()):
            return [text]
        return [part.strip() for part in text.split(",") if part.strip()]

    def indices(self, part: str) -> range:
        """Return the columns that one part of `--drop` selects."""
        bounds = _RANGE.fullmatch(part)
        if bounds is None or part in (self.names or ()):
            column = self.index(part, "--drop")
            return range(column, column + 1)
        first, last = (self.index(text, "--drop") for text in bounds.groups())
        if first > last:
            raise BadInput(f"{self.file}: --drop {part} runs backwards; write {last}-{first}")
        return range(first, last + 1)

    def index(self, text: str, flag: str) -> int:
        """Return the position from 0 of a column given by name or index."""
        if text in (self.names or ()):
            return self._named(text, flag)
        if text in (distinct := distinct_names(self.names or ())):
            return distinct.index(text)
        if not re.fullmatch(r"-?\d+", text):
            if self.names is None:
                raise BadInput(
                    f"{self.file}: {flag} {text!r}: the file has no header; "
                    f"give an index, 0..{self.column_count - 1} or -1 for the last"
                )
            raise UnknownName(f"column of {self.file}", text, self.names)
        if not -self.column_count <= int(text) < self.column_count:
            raise BadInput(
                f"{self.file}: {flag} {text}: the table has {self.column_count} columns; "
                f"give 0..{self.column_count - 1}, or -1 for the last"
            )
        return int(text) % self.column_count

    def _named(self, name: str, flag: str) -> int:
        places = [str(at) for at, each in enumerate(self.names or ()) if each == name]
        if len(places) > 1:
            raise BadInput(
                f"{self.file}: {flag} {name!r}: {len(places)} columns have this name; "
                f"give an index, {' or '.join(places)}"
            )
        return int(places[0])
