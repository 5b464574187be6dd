"""lda-c: one document per line, `pairs word:count word:count ...`, words counted from 0.

David Blei's format; the words themselves may be in another file of the same folder (`.tokens`,
`.vocab`), one per line.
"""

from __future__ import annotations

import re

import numpy as np

from motet.datasets.files import Head, InputFile
from motet.datasets.formats.format import NAMED, SHAPED, Format, Guess, ReadOptions, share_of
from motet.datasets.formats.sparse.pairs import PairLines, read_pair_lines
from motet.datasets.formats.sparse.vocabulary import read_vocabulary
from motet.datasets.kinds import Corpus

_SUFFIXES = (".ldac", ".lda-c")
_LINE = re.compile(r"(\d+)((?:\s+\d+:\d+)*)\s*")
_MOST = 2**31 - 1


def looks_like_ldac(line: str) -> bool:
    """Whether the line starts with the number of its word:count pairs."""
    match = _LINE.fullmatch(line)
    return match is not None and int(match[1]) == match[2].count(":")


class LdacFormat(Format):
    """One document of word:count pairs per line."""

    name = "ldac"
    summary = "pairs word:count ..., one document per line (lda-c)"
    kinds = (Corpus,)
    aliases = ("lda-c",)

    def sniff(self, head: Head) -> Guess:
        """Every line starts with the number of pairs that follow."""
        if head.name.endswith(_SUFFIXES):
            return Guess(NAMED, "by its name")
        if not any(":" in line for line in head.lines):
            return Guess(0.0, "no word:count pairs")
        share = share_of(head.lines, looks_like_ldac)
        return Guess(
            SHAPED * share**2, f"{share:.0%} of its first lines start with their pair count"
        )

    def read(self, file: InputFile, options: ReadOptions) -> Corpus:
        """A corpus; the word list or else the largest word determines the vocabulary's size."""
        lines = read_pair_lines(file)
        _check(lines)
        used = int(lines.indices.max(initial=-1)) + 1
        stem = file.plain_name.rpartition(".")[0] or file.plain_name
        vocabulary = read_vocabulary(file, (f"{stem}.tokens", f"{stem}.vocab", "vocab.txt"), used)
        return Corpus.from_pairs(
            np.repeat(np.arange(lines.line_count), np.diff(lines.offsets)),
            lines.indices,
            lines.values.astype(np.int64),
            (lines.line_count, used if vocabulary is None else len(vocabulary)),
            source=str(file),
            vocabulary=vocabulary,
        )


def _check(lines: PairLines) -> None:
    pair_counts = np.diff(lines.offsets)
    for row in np.flatnonzero(lines.heads != pair_counts)[:1]:
        problem = f"the line announces {lines.heads[row]:g} pairs and has {pair_counts[row]}"
        raise lines.complaint_about_line(row, problem, "the first number must be how many follow")
    counts = lines.values
    for pair in np.flatnonzero(~((counts >= 1) & (counts <= _MOST) & (counts == np.floor(counts))))[
        :1
    ]:
        problem = f"word {lines.indices[pair]} has count {counts[pair]:g}"
        raise lines.complaint_about_pair(pair, problem, "counts must be whole numbers from 1")
    for pair in np.flatnonzero((lines.indices < 0) | (lines.indices > _MOST))[:1]:
        problem = f"word number {lines.indices[pair]} is outside 0..{_MOST}"
        raise lines.complaint_about_pair(pair, problem, "number the words from 0")
