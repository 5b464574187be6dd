"""The target column of a table: numbers, words or booleans."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from motet.datasets.formats.numbers import is_number, is_whole
from motet.datasets.formats.tables.cells import NumberTable
from motet.datasets.formats.tables.columns import Columns
from motet.datasets.formats.tables.layout import CellLayout
from motet.datasets.formats.tables.text_cells import is_missing_cell, is_of_words, unclear_numbers
from motet.datasets.kinds.target import MOST_EXACT, TRUTH_CLASSES, Classes, target_of

_Reader: TypeAlias = Callable[
    [CellLayout, int, tuple[str, ...]], tuple[NDArray[np.float64], Classes | None]
]
_TRUTH = {word: word.lower() == "true" for word in ("true", "false", "True", "False")}
_TRUTH |= {word.upper(): is_true for word, is_true in _TRUTH.items()}
"""Booleans as pandas reads them."""


def read_target(
    layout: CellLayout, columns: Columns, na: tuple[str, ...]
) -> tuple[NDArray[np.float64] | None, Classes | None]:
    """Return the target, and its classes as in `TargetColumn`; nan where rows are dropped.

    Raises BadInput.
    """
    if columns.target is None:
        return None, None
    unclear = unclear_numbers(layout, columns.target, na)
    if unclear is not None:
        raise unclear
    is_words = is_of_words(layout, columns.target, na)
    read: _Reader = _read_classes if is_words else _read_numbers
    target, classes = read(layout, columns.target, na)
    missing = np.flatnonzero(np.isnan(target))
    if len(missing) == len(target) and layout.names and not layout.names[columns.target]:
        raise layout.file.complaint(
            f"{layout.column_name(columns.target)} is empty and has no name: lines end with a "
            "separator",
            "name the target (--target NAME), and leave that column out with --drop missing",
        )
    if len(missing) and not columns.drops_rows:
        raise layout.file.complaint(
            f"{layout.column_name(columns.target)} is missing",
            "every row needs a target; leave such rows out with --drop missing-rows",
            layout.line_number(int(missing[0])),
        )
    return target.copy(), classes


def _read_classes(
    layout: CellLayout, column: int, na: tuple[str, ...]
) -> tuple[NDArray[np.float64], Classes]:
    """Read a column of words as class numbers (rows,), and the classes in alphabetical order.

    A missing class has the number nan. Only true and false are booleans.
    """
    words = _words(layout, column)
    names, codes = np.unique(words, return_inverse=True)
    missing = np.array([is_missing_cell(name, na) for name in names])
    for wrong in [name for name in names[~missing] if is_number(name)][:1]:
        row = int(np.argmax(codes == np.searchsorted(names, wrong)))
        raise layout.file.complaint(
            f"{layout.column_name(column)} is {str(wrong)!r} among words",
            "write every class as a word, or every one as a number",
            layout.line_number(row),
        )
    if all(name in _TRUTH for name in names[~missing].tolist()):
        truth = np.array([_TRUTH.get(name, np.nan) for name in names.tolist()], dtype=np.float64)
        return truth[codes], TRUTH_CLASSES
    numbers = np.where(missing, np.nan, np.cumsum(~missing) - 1.0)
    return numbers[codes], tuple(map(str, names[~missing]))


def _read_numbers(
    layout: CellLayout, column: int, na: tuple[str, ...]
) -> tuple[NDArray[np.float64], Classes | None]:
    """Read a column of numbers; whole ones that are no float64 as numbers of classes."""
    values = NumberTable.read(layout, (column,), na).values[:, 0]
    if not (np.abs(values) > MOST_EXACT).any():
        return values, None
    present = ~np.isnan(values)
    cells = _words(layout, column)[present].tolist()
    if not all(map(is_whole, cells)):
        return values, None
    exact = np.array(list(map(int, cells)))
    if exact.dtype.kind not in "iu":  # More than 64 bits.
        return values, None
    target = target_of(exact, layout.column_name(column))
    values[present] = target.values
    return values, target.classes


def _words(layout: CellLayout, column: int) -> NDArray[np.str_]:
    """The cells of a column (rows,)."""
    return np.concatenate([_words_of(layout, column, block) for block in layout.data_blocks()])


def _words_of(layout: CellLayout, column: int, block: bytes) -> NDArray[np.str_]:
    lines = block.decode("utf-8", "replace").split("\n")
    return np.array([layout.separator.split(line)[column] for line in lines if line.strip()])
