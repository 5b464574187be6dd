"""UCI bag of words: three header lines (documents, words, pairs), then `document word count`.

Documents and words are counted from 1. The words themselves are in `vocab.NAME.txt` in the same
folder as `docword.NAME.txt`, if that file exists.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motet.datasets.files import Head, InputFile
from motet.datasets.formats.format import CERTAIN, NAMED, Format, Guess, ReadOptions
from motet.datasets.formats.numbers import is_whole
from motet.datasets.formats.sparse.vocabulary import read_vocabulary
from motet.datasets.kinds import Corpus
from motet.domain.errors import BadInput

_HEADER = ("documents", "words", "pairs")
_HEADER_REMEDY = "the first three lines are the numbers of documents, words and pairs"
_LINE_REMEDY = "write three whole numbers: document word count"
_MOST = 2**31 - 1
_PLAUSIBLE_DOCUMENTS = 1_000_000


@dataclass(frozen=True)
class _Header:
    documents: int
    words: int
    pairs: int


class DocwordFormat(Format):
    """A UCI bag of words."""

    name = "docword"
    summary = "documents, words, pairs, then document word count (UCI bag of words)"
    kinds = (Corpus,)
    aliases = ("uci",)

    def sniff(self, head: Head) -> Guess:
        """Three single whole numbers, then lines of three."""
        if head.name.startswith("docword."):
            return Guess(NAMED, "by its name")
        single = sum(len(line.split()) == 1 for line in head.lines[:3])
        body = head.lines[3:]
        triples = sum(len(line.split()) == 3 and all(map(is_whole, line.split())) for line in body)
        share = triples / max(1, len(body))
        if single < 3:
            return Guess(0.0, "does not start with three counts")
        return Guess(CERTAIN * share, f"three counts, then {share:.0%} of lines are triples")

    def read(self, file: InputFile, options: ReadOptions) -> Corpus:
        """A corpus with as many documents and words as the header says."""
        header = _read_header(file)
        triples = _read_triples(file)
        _check(file, header, triples)
        stem = file.plain_name.removeprefix("docword.")
        return Corpus.from_pairs(
            triples[:, 0] - 1,
            triples[:, 1] - 1,
            triples[:, 2],
            (header.documents, header.words),
            source=str(file),
            vocabulary=read_vocabulary(
                file, (f"vocab.{stem}", "vocab.txt"), header.words, header.words
            ),
        )


def _read_header(file: InputFile) -> _Header:
    counts = []
    for (number, line), what in zip(file.lines(), _HEADER, strict=False):
        if not is_whole(line) or not 0 <= int(line) <= _MOST:
            problem = f"the number of {what} is {line.strip()!r}"
            raise file.complaint(problem, _HEADER_REMEDY, number)
        counts.append(int(line))
    if len(counts) < len(_HEADER):
        raise file.complaint("ends inside its header", _HEADER_REMEDY, len(counts) or None)
    return _Header(*counts)


def _read_triples(file: InputFile) -> NDArray[np.int64]:
    """(pairs, 3): document, word, count, all from 1."""
    with file.opened() as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # loadtxt warns if nothing follows
        for _ in _HEADER:
            stream.readline()
        try:
            triples = np.loadtxt(stream, np.int64, comments=None, ndmin=2)
        except (ValueError, OverflowError) as error:
            raise _first_fault(file) or file.complaint(str(error), _LINE_REMEDY) from None
    if not triples.size:
        raise file.complaint("no pairs follow the header", _LINE_REMEDY, len(_HEADER))
    if triples.shape[1] != 3:
        raise _first_fault(file) or file.complaint("not three columns", _LINE_REMEDY)
    return triples


def _first_fault(file: InputFile) -> BadInput | None:
    for number, line in file.lines():
        cells = line.split()
        if number <= len(_HEADER) or not cells:
            continue
        if len(cells) != 3:
            return file.complaint(f"{len(cells)} columns, not 3", _LINE_REMEDY, number)
        for cell in cells:
            if not is_whole(cell) or abs(int(cell)) > _MOST:
                return file.complaint(f"{cell!r} is not a whole number", _LINE_REMEDY, number)
    return None


def _check(file: InputFile, header: _Header, triples: NDArray[np.int64]) -> None:
    if header.documents > max(_PLAUSIBLE_DOCUMENTS, 100 * len(triples)):
        problem = f"the header announces {header.documents:,} documents for {len(triples):,} pairs"
        raise file.complaint(problem, "correct line 1", 1)
    limits = (("document", 0, header.documents), ("word", 1, header.words), ("count", 2, _MOST))
    for what, column, most in limits:
        values = triples[:, column]
        for row in np.flatnonzero((values < 1) | (values > most))[:1]:
            problem = f"{what} {values[row]} is outside 1..{most}"
            raise file.complaint(problem, _remedy(what), _line_number(file, int(row)))
    if len(triples) != header.pairs:
        problem = f"the header announces {header.pairs:,} pairs, the file has {len(triples):,}"
        raise file.complaint(problem, "the file was cut short, or correct line 3", 3)


def _remedy(what: str) -> str:
    if what == "count":
        return "counts must be whole numbers from 1"
    return f"{what}s are counted from 1; the header gives how many there are"


def _line_number(file: InputFile, row: int) -> int:
    filled = (number for number, line in file.lines() if number > 3 and line.strip())
    return next(number for index, number in enumerate(filled) if index == row)
