"""Reader for small CSV files of machine events: fixed columns, one row per event."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from motet.domain.bounded_reading.regular_files import regular_file
from motet.domain.errors import BadInput

PlacedRow: TypeAlias = tuple[str, Mapping[str, str]]
"""(`file:line`, cells by column)"""


def read_rows(option: str, path: Path, columns: Sequence[str]) -> Iterator[PlacedRow]:
    """Rows of the file that an option names. Raises BadInput."""
    try:
        with regular_file(path).open(newline="", encoding="utf-8-sig") as file:
            yield from _rows(option, path, csv.reader(file), columns)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{option}{path}: cannot be read ({reason})") from error


def _rows(
    option: str, path: Path, lines: Iterable[list[str]], columns: Sequence[str]
) -> Iterator[PlacedRow]:
    rows = ((number, cells) for number, cells in enumerate(lines, 1) if any(map(str.strip, cells)))
    _, header = next(rows, (1, []))
    names = [name.strip() for name in header]
    if not names:
        raise BadInput(f"{option}{path}: the file is empty; give a header {','.join(columns)}")
    if sorted(names) != sorted(columns):
        raise BadInput(f"{path}:1: the columns are {','.join(names)}; give {','.join(columns)}")
    for number, cells in rows:
        place = f"{path}:{number}"
        if len(cells) != len(names):
            raise BadInput(f"{place}: {len(cells)} cells under {len(names)} columns")
        yield place, dict(zip(names, map(str.strip, cells), strict=True))
