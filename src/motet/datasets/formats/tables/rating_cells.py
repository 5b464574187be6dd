"""Cells of rating files: ids as numbers or text, ratings with points or decimal commas."""

from __future__ import annotations

import io
import re
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.datasets.formats.numbers import is_number
from motet.datasets.formats.tables.decimal_commas import SEPARATORS, DecimalCommas
from motet.datasets.formats.tables.layout import CellLayout
from motet.datasets.formats.tables.separator import BREAK, Separator
from motet.datasets.kinds.ids import Ids

_LEADING_ZERO = re.compile(rb'(?:^|[\s,;:|\x1f"])0[0-9]', re.MULTILINE)


def read_cells(
    layout: CellLayout, positions: tuple[int, ...], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """These columns of every line: a structured array, or text `(lines, columns)`.

    Raises ValueError for cells that the dtype cannot hold, or where numbers would lose zeros.
    """
    parse = partial(
        np.loadtxt,
        dtype=dtype,
        comments=None,
        delimiter=layout.separator.delimiter,
        usecols=positions,
        quotechar='"',
        ndmin=1 if dtype.names else 2,
    )
    parts = []
    for block in layout.data_blocks():
        if dtype.names and _LEADING_ZERO.search(block):
            raise ValueError("numbers begin with 0")
        text = layout.separator.as_single_character(block)
        parts.append(parse(io.BytesIO(text), encoding="utf-8"))
    return np.concatenate(parts)


def read_texts(layout: CellLayout, positions: tuple[int, ...]) -> NDArray[np.str_]:
    """These columns of every line as text, `(lines, columns)`, without blanks around it."""
    cells = read_cells(layout, positions, np.dtype(np.str_))
    return np.strings.strip(np.strings.replace(cells, BREAK, "\n"))


def ids_of(cells: NDArray[np.str_]) -> Ids:
    """Whole numbers, if all cells are and none begins with a 0 that a number would lose."""
    has_zero = np.strings.startswith(cells, "0") & (np.strings.str_len(cells) > 1)
    if has_zero.any():
        return cells
    try:
        return cells.astype(np.int64)
    except (ValueError, OverflowError):
        return cells


def rating_numbers(
    cells: NDArray[np.str_], separator: Separator
) -> tuple[NDArray[np.float64], DecimalCommas | None]:
    """The numbers of a column, and the decimal commas if it has some. Raises ValueError."""
    try:
        return cells.astype(np.float64), None
    except ValueError:
        commas = DecimalCommas.in_cells(cells.tolist(), separator)
        if commas is None:
            raise
        return np.array(list(map(commas.in_line, cells.tolist()))).astype(np.float64), commas


def is_rating(cell: str, separator: Separator) -> bool:
    """Whether a cell is a number, with a point or a decimal comma."""
    if separator.text in SEPARATORS:
        cell = DecimalCommas(str(separator.text)).in_line(cell)
    return is_number(cell)
