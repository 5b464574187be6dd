"""svmlight / libsvm: `label index:value index:value ...`, columns counted from 1.

scikit-learn writes columns from 0 by default; such files are the format `svmlight0`. Guessing
between the two (as scikit-learn's reader does) shifts all columns of a test file whose first column
happens to be empty, so the user has to name the format.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from motet.datasets.files import Head, InputFile
from motet.datasets.formats.format import (
    NAMED,
    POSSIBLE,
    SHAPED,
    Format,
    Guess,
    ReadOptions,
    share_of,
)
from motet.datasets.formats.sparse.ldac import looks_like_ldac
from motet.datasets.formats.sparse.pairs import PairLines, read_pair_lines, strip_line
from motet.datasets.kinds import LabelledMatrix

_SUFFIXES = (".svm", ".libsvm", ".svmlight")
_LINE = re.compile(r"[-+.\deE]+(\s+\d+:\S+)*")
_MOST_COLUMNS = 2**31 - 1


class SvmlightFormat(Format):
    """One label and its index:value pairs per line."""

    name = "svmlight"
    summary = "label index:value ..., columns from 1 (libsvm)"
    kinds = (LabelledMatrix,)
    aliases = ("libsvm",)

    def sniff(self, head: Head) -> Guess:
        """Lines of a number and index:value pairs, unless all of them fit lda-c too."""
        if head.name.endswith(_SUFFIXES):
            return Guess(NAMED, "by its name")
        lines = [stripped for line in head.lines if (stripped := strip_line(line))]
        if not any(":" in line for line in lines):
            return Guess(0.0, "no index:value pairs")
        share = share_of(head.lines, lambda line: _LINE.fullmatch(strip_line(line)) is not None)
        if all(map(looks_like_ldac, lines)):
            return Guess(POSSIBLE * share, "every label is the number of pairs, as in lda-c")
        return Guess(SHAPED * share, f"{share:.0%} of its first lines are a label and pairs")

    def read(self, file: InputFile, options: ReadOptions) -> LabelledMatrix:
        """A CSR matrix with a target; columns are counted from 1 in the file."""
        return _matrix(read_pair_lines(file), first_column=1)


class SvmlightFromZeroFormat(Format):
    """The same with columns counted from 0. Never guessed: `--format` has to name it."""

    name = "svmlight0"
    summary = "the same with columns from 0"
    kinds = (LabelledMatrix,)

    def sniff(self, head: Head) -> Guess:
        """Never recognised."""
        return Guess(0.0, "")

    def read(self, file: InputFile, options: ReadOptions) -> LabelledMatrix:
        """A CSR matrix with a target; columns are counted from 0 in the file."""
        return _matrix(read_pair_lines(file), first_column=0)


def _matrix(lines: PairLines, first_column: int) -> LabelledMatrix:
    from scipy.sparse import csr_matrix

    _check(lines, first_column)
    if not len(lines.indices):
        raise lines.file.complaint("no line has an index:value pair", "give a file with features")
    columns = lines.indices - first_column
    width = int(columns.max()) + 1
    features = csr_matrix(
        (lines.values, columns.astype(np.int32), lines.offsets), shape=(lines.line_count, width)
    )
    features.sort_indices()
    _refuse_repeats(lines, features.indices, first_column)
    return LabelledMatrix(features, lines.heads, source=str(lines.file))


def _check(lines: PairLines, first_column: int) -> None:
    for row in np.flatnonzero(~np.isfinite(lines.heads))[:1]:
        problem = f"the label is {lines.heads[row]}"
        raise lines.complaint_about_line(row, problem, "labels must be finite numbers")
    for pair in np.flatnonzero(~np.isfinite(lines.values))[:1]:
        problem = f"the value of column {lines.indices[pair]} is {lines.values[pair]}"
        raise lines.complaint_about_pair(pair, problem, "values must be finite numbers")
    for pair in np.flatnonzero(lines.indices < first_column)[:1]:
        problem = f"column {lines.indices[pair]} is below {first_column}"
        remedy = "columns count from 1; give --format svmlight0 if the file counts from 0"
        raise lines.complaint_about_pair(pair, problem, remedy)
    for pair in np.flatnonzero(lines.indices > _MOST_COLUMNS)[:1]:
        problem = f"column {lines.indices[pair]} is above {_MOST_COLUMNS}"
        raise lines.complaint_about_pair(pair, problem, "number the columns without gaps")


def _refuse_repeats(lines: PairLines, sorted_columns: NDArray[np.int32], first_column: int) -> None:
    """A column given twice in a line has no meaning."""
    repeats = np.flatnonzero(np.diff(sorted_columns) == 0) + 1
    inside_a_line = repeats[~np.isin(repeats, lines.offsets)]
    for pair in inside_a_line[:1]:
        problem = f"column {sorted_columns[pair] + first_column} is given twice"
        raise lines.complaint_about_pair(pair, problem, "give each column once per line")
