"""Tables of numbers: CSV, TSV and similar, with or without a header line.

`--target` names the column to predict; if it holds words, they become class numbers in
alphabetical order. Missing values (empty cells, nan, NA, NULL, the tokens of `--na`) are refused
unless `--drop missing` leaves their columns out or `--drop missing-rows` their rows.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from motet.datasets.files import Head, InputFile
from motet.datasets.formats.format import NAMED, PLAUSIBLE, Format, Guess, ReadOptions, share_of
from motet.datasets.formats.numbers import is_number
from motet.datasets.formats.tables.cells import NumberTable
from motet.datasets.formats.tables.columns import (
    INDEX_NAMES,
    Columns,
    choose_columns,
    distinct_names,
)
from motet.datasets.formats.tables.decimal_commas import NOTE
from motet.datasets.formats.tables.layout import COMMENT_MARKS, CellLayout, layout_of
from motet.datasets.formats.tables.separator import Separator
from motet.datasets.formats.tables.target_column import read_target
from motet.datasets.kinds import LabelledMatrix

_SUFFIXES = (".csv", ".tsv")
_MISSING_REMEDY = (
    "fill it in, or leave out columns with missing values (--drop missing) or such rows "
    "(--drop missing-rows)"
)
# Besides empty cells and nan; they are no class either.
_MISSING_TOKENS = ("NA", "N/A", "#N/A", "NULL", "null")


class CsvFormat(Format):
    """A table of numbers, one row per line."""

    name = "csv"
    summary = "a table of numbers, separated by commas, tabs, ; or blanks (--target, --drop, --na)"
    kinds = (LabelledMatrix,)
    aliases = ("tsv", "table")
    has_columns = True

    def sniff(self, head: Head) -> Guess:
        """Most lines have as many cells as the first, and half of the cells are numbers."""
        if head.name.endswith(_SUFFIXES):
            return Guess(NAMED, "by its name")
        lines = [line for line in head.lines if not line.startswith(COMMENT_MARKS)]
        if not lines:
            return Guess(0.0, "has no lines of text")
        separator = Separator.in_line(lines[-1])
        widths = [len(separator.split(line)) for line in lines]
        width = max(widths, key=widths.count)
        share = share_of(lines, lambda line: _is_row(separator.split(line), width))
        return Guess(
            PLAUSIBLE * share, f"{share:.0%} of its first lines are {width} cells of numbers"
        )

    def check(self, file: InputFile, options: ReadOptions) -> None:
        """Raise `BadInput` for columns that the header lacks."""
        _layout_and_columns(file, options)

    def read(self, file: InputFile, options: ReadOptions) -> LabelledMatrix:
        """A dense matrix; columns without a header are named by their index."""
        na = (*_MISSING_TOKENS, *options.na)
        layout, columns = _layout_and_columns(file, options)
        target, classes = read_target(layout, columns, na)
        read, kept = _features(layout, columns, na)
        left_out = len(columns.features) - len(kept)
        features, kept, index_notes = _without_index(layout, read, kept)
        whole = _whole_rows(layout, columns, features, target)
        lost = len(features) - int(np.count_nonzero(whole))
        names = distinct_names(layout.names or ())
        return LabelledMatrix(
            features=features[whole] if lost else features,
            target=target[whole] if target is not None and lost else target,
            feature_names=tuple(names[at] if names else str(at) for at in kept),
            classes=classes,
            kept=whole if lost else None,
            source=str(file),
            notes=(
                *file.notes,
                *([NOTE] if layout.commas else []),
                *_repeated_names(layout.names or ()),
                *index_notes,
                *([f"columns left out because values are missing: {left_out}"] if left_out else []),
                *([f"rows left out because values are missing: {lost:,}"] if lost else []),
            ),
        )


def _layout_and_columns(file: InputFile, options: ReadOptions) -> tuple[CellLayout, Columns]:
    na = (*_MISSING_TOKENS, *options.na)
    layout = layout_of(file, na, _words_given(options), reads_commas=True)
    columns = choose_columns(
        file, layout.names, layout.column_count, options.target, options.drop, options.only
    )
    return layout, columns


def _without_index(
    layout: CellLayout, features: NDArray[np.float64], columns: tuple[int, ...]
) -> tuple[NDArray[np.float64], tuple[int, ...], list[str]]:
    """Leave out the row numbers that pandas writes as a first column without a name."""
    is_first = columns[0] == 0 and len(columns) > 1
    if not is_first or layout.names is None or layout.names[0] not in INDEX_NAMES:
        return features, columns, []
    numbers = features[:, 0]
    if (numbers != np.floor(numbers)).any() or len(np.unique(numbers)) < len(numbers):
        return features, columns, []
    note = f"column 0 ({layout.names[0] or 'without a name'}) numbers the rows: left out as index"
    remedy = "name it in the header to make it a feature"
    return np.ascontiguousarray(features[:, 1:]), columns[1:], [f"{note}; {remedy}"]


def _is_row(cells: list[str], width: int) -> bool:
    return len(cells) == width and 2 * sum(map(is_number, cells)) >= width


def _repeated_names(names: tuple[str, ...]) -> list[str]:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if not repeated:
        return []
    called = list(zip(names, distinct_names(names), strict=True))
    shown = ", ".join(repr(new) for old, new in called if old in repeated)
    return [f"columns with the same name are called {shown}"]


def _words_given(options: ReadOptions) -> tuple[str, ...]:
    """The names of columns in `--target` and `--drop`."""
    dropped = [part.strip() for text in options.drop for part in (text, *text.split(","))]
    return (*dropped, *options.only, *([options.target.strip()] if options.target else []))


def _features(
    layout: CellLayout, columns: Columns, na: tuple[str, ...]
) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Return the matrix and the columns of the file that it holds; nan only if rows are dropped."""
    table = NumberTable.read(layout, columns.features, na)
    is_missing = np.isnan(table.values)
    if not is_missing.any() or (columns.drops_rows and not columns.drops_missing):
        return table.values, columns.features
    if not columns.drops_missing:
        raise table.complaint_about_first(is_missing, "a missing value", _MISSING_REMEDY)
    complete = np.flatnonzero(~is_missing.any(axis=0))
    if not len(complete):
        raise layout.file.complaint("every column has missing values", "fill or remove rows")
    kept = tuple(columns.features[position] for position in complete)
    return np.ascontiguousarray(table.values[:, complete]), kept


def _whole_rows(
    layout: CellLayout,
    columns: Columns,
    features: NDArray[np.float64],
    target: NDArray[np.float64] | None,
) -> NDArray[np.bool_]:
    """(rows,) Whether neither a feature nor the target is missing. Raises BadInput for none."""
    if not columns.drops_rows:
        return np.ones(len(features), dtype=np.bool_)
    whole = ~np.asarray(np.isnan(features).any(axis=1))
    if target is not None:
        whole = whole & ~np.isnan(target)
    if not whole.any():
        raise layout.file.complaint("every row has missing values", "fill or drop columns")
    return whole
