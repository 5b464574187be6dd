"""Lines of `head index:value index:value ...`, as in svmlight and lda-c files.

scikit-learn's reader for svmlight requires sorted indices (lda-c has any order), reports no line
numbers, and takes most of a second to import.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motet.datasets.files import InputFile
from motet.datasets.formats.numbers import is_number, is_whole
from motet.domain.errors import BadInput

_COMMENT = re.compile(rb"#[^\n]*")
_QUERY_ID = re.compile(rb"(?<=\s)qid:\d+(?!\S)")
_SPACE, _COLON, _NEWLINE = 32, 58, 10
_COLON_TO_SPACE = bytes.maketrans(b":", b" ")
_BEYOND_ANY_LIMIT = 2.0**53
_REMEDY = "write: number index:value index:value ..."


@dataclass(frozen=True)
class PairLines:
    """The lines of a file as arrays, without blank and comment lines.

    `heads`: (lines,) float64. `offsets`: (lines + 1,) int64; line r owns the pairs
    `offsets[r]:offsets[r + 1]` of `indices` (int64) and `values` (float64).
    """

    file: InputFile
    heads: NDArray[np.float64]
    offsets: NDArray[np.int64]
    indices: NDArray[np.int64]
    values: NDArray[np.float64]

    @property
    def line_count(self) -> int:
        """Number of lines with data."""
        return len(self.heads)

    def complaint_about_line(self, row: int, problem: str, remedy: str) -> BadInput:
        """Return the error for data line `row` (from 0), with its line number in the file."""
        return self.file.complaint(problem, remedy, _line_number(self.file, row))

    def complaint_about_pair(self, pair: int, problem: str, remedy: str) -> BadInput:
        """Return the error for the line that contains a pair."""
        row = int(np.searchsorted(self.offsets, pair, side="right")) - 1
        return self.complaint_about_line(row, problem, remedy)


def read_pair_lines(file: InputFile) -> PairLines:
    """Read a whole file. Raises `BadInput` with the first malformed line."""
    parts = [part for block in file.blocks() if len((part := _parse(file, block))[0])]
    if not parts:
        raise file.complaint("no line holds data", _REMEDY)
    heads, counts, indices, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return PairLines(
        file=file,
        heads=heads,
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        indices=indices,
        values=values,
    )


def strip_line(line: str) -> str:
    """Return a line without its comment and query id; empty if it has nothing else."""
    return re.sub(r"(?<=\s)qid:\d+(?!\S)", "", line.partition("#")[0]).strip()


_Parsed = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def _parse(file: InputFile, block: bytes) -> _Parsed:
    """(heads, pairs per line, indices, values) of a block of whole lines."""
    if b"#" in block:
        block = _COMMENT.sub(b"", block)
    if b"qid:" in block:
        block = _QUERY_ID.sub(b"", block)
    tokens = _Tokens.of(block)
    if not tokens.number_count:
        nothing = np.empty(0)
        return nothing, nothing.astype(np.int64), nothing.astype(np.int64), nothing
    numbers = _numbers(block.translate(_COLON_TO_SPACE))
    if not tokens.are_pairs or len(numbers) != tokens.number_count:
        raise _first_fault(file)
    head_tokens = np.flatnonzero(tokens.is_head)
    heads_at = 2 * head_tokens - np.arange(len(head_tokens))
    pairs = np.delete(numbers, heads_at).reshape(-1, 2)
    if not np.array_equal(pairs[:, 0], np.floor(pairs[:, 0])):
        raise _first_fault(file)
    pair_counts = np.diff(np.append(head_tokens, len(tokens.is_head))) - 1
    indices = np.clip(pairs[:, 0], -_BEYOND_ANY_LIMIT, _BEYOND_ANY_LIMIT).astype(np.int64)
    return numbers[heads_at], pair_counts, indices, pairs[:, 1].copy()


@dataclass(frozen=True)
class _Tokens:
    """Positions in a block's bytes: starts of tokens, tokens that start a line, and colons."""

    starts: NDArray[np.intp]
    is_head: NDArray[np.bool_]
    colons: NDArray[np.intp]
    ends_on_colon: bool

    @classmethod
    def of(cls, block: bytes) -> _Tokens:
        text = np.frombuffer(block + b"\n", dtype=np.uint8)
        is_blank = text <= _SPACE
        starts = np.flatnonzero(~is_blank[1:] & is_blank[:-1]) + 1
        if not is_blank[0]:
            starts = np.concatenate([[0], starts])
        line_of_start = np.searchsorted(np.flatnonzero(text == _NEWLINE), starts)
        is_head = np.diff(line_of_start, prepend=-1) > 0
        colons = np.flatnonzero(text == _COLON)
        return cls(starts, is_head, colons, bool(np.any(is_blank[colons + 1])))

    @property
    def are_pairs(self) -> bool:
        """Whether every token except heads contains one inner colon, and heads contain none."""
        pairs, colons = self.starts[~self.is_head], self.colons
        return (
            len(pairs) == len(colons)
            and not self.ends_on_colon
            and bool(np.all(pairs < colons) and np.all(colons[:-1] < pairs[1:]))
        )

    @property
    def number_count(self) -> int:
        """Number of numbers in all tokens."""
        return len(self.starts) + len(self.colons)


def _numbers(text: bytes) -> NDArray[np.float64]:
    """Parse all numbers up to the first text that is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return np.fromstring(text, dtype=np.float64, sep=" ")
        except ValueError:
            return np.empty(0)


def _data_lines(file: InputFile) -> Iterator[tuple[int, str]]:
    for number, line in file.lines():
        stripped = strip_line(line)
        if stripped:
            yield number, stripped


def _line_number(file: InputFile, row: int) -> int:
    for index, (number, _) in enumerate(_data_lines(file)):
        if index == row:
            return number
    raise IndexError(row)


def _first_fault(file: InputFile) -> BadInput:
    for number, line in _data_lines(file):
        problem = _fault_of(line)
        if problem:
            return file.complaint(problem, _REMEDY, number)
    return file.complaint("holds a line that cannot be read", _REMEDY)


def _fault_of(line: str) -> str | None:
    head, *pairs = line.split()
    if not is_number(head):
        return f"the line starts with {head!r}, which is not a number"
    for pair in pairs:
        index, colon, value = pair.partition(":")
        if not colon:
            return f"{pair!r} is not an index:value pair"
        if not is_whole(index):
            return f"the index in {pair!r} is not a whole number"
        if not is_number(value):
            return f"the value in {pair!r} is not a number"
    return None
