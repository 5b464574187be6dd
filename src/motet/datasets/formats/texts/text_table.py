"""Texts in a column of a table: a document per row.

`--target` names the column. Without it, the only column of texts is read: one whose cells mostly
hold several words. Of several such columns one that is called "text", "review" or similarly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from motet.datasets.files import Head, InputFile
from motet.datasets.formats.format import NAMED, Format, Guess, ReadOptions, share_of
from motet.datasets.formats.tables.columns import choose_columns
from motet.datasets.formats.tables.layout import CellLayout, layout_of
from motet.datasets.formats.tables.separator import Separator
from motet.datasets.formats.texts.corpus_of_texts import read_corpus
from motet.datasets.kinds import Corpus
from motet.domain.errors import BadInput

_SUFFIXES = (".csv", ".tsv")
_BELOW_NUMBERS = 0.05
_ROWS_LOOKED_AT = 200
_LEAST_WORDS = 3
_MOST_SHOWN = 8
_WORDS = re.compile(r"[^\W\d_]{2,}")
_USUAL_NAMES = (
    *("text", "texts", "document", "content", "contents", "body", "abstract", "review"),
    *("reviewtext", "message", "tweet", "article", "comment", "description", "fulltext"),
)


class TextTableFormat(Format):
    """A table with a column of texts."""

    name = "text-table"
    summary = "a table with a column of texts, a document per row (--target names it)"
    kinds = (Corpus,)
    has_words = True
    aliases = ("text-csv",)
    has_columns = True

    def sniff(self, head: Head) -> Guess:
        """A table by its name, and lines with words; below a table of numbers."""
        share = share_of(head.lines, lambda line: len(_WORDS.findall(line)) >= 2)
        is_named = bool(head.lines) and _has_usual_name(Separator(",").split(head.lines[0]))
        if not head.name.endswith(_SUFFIXES) or not (share or is_named):
            return Guess(0.0, "is no table of texts by its name")
        return Guess(NAMED - _BELOW_NUMBERS, f"by its name, {share:.0%} of its first lines words")

    def check(self, file: InputFile, options: ReadOptions) -> None:
        """Raise `BadInput` unless the column of texts is clear."""
        _layout_and_column(file, options)

    def read(self, file: InputFile, options: ReadOptions) -> Corpus:
        """A corpus with its vocabulary in alphabetical order."""
        for flag, given in (("--drop", options.drop), ("--na", options.na)):
            if given:
                raise BadInput(f"{file}: {flag} does not apply to texts; leave it out")
        layout, column = _layout_and_column(file, options)
        note = f"a document per row, the text of {layout.column_name(column)}"
        return read_corpus(file, _cells(layout, column), options, *file.notes, note)


def _layout_and_column(file: InputFile, options: ReadOptions) -> tuple[CellLayout, int]:
    wanted = (options.target.strip(),) if options.target else ()
    layout = layout_of(file, wanted=wanted, otherwise=Separator(","))
    return _text_column(layout, options.target)


def _text_column(layout: CellLayout, target: str | None) -> tuple[CellLayout, int]:
    """The column of texts, and the layout with its header. Raises BadInput if none is clear."""
    first, *rows = [cells for _, cells in islice(layout.data_lines(), _ROWS_LOOKED_AT)]
    if layout.names is None and rows and _is_header(first):
        start = next(islice(layout.data_lines(), 1, None))[0]
        layout = replace(layout, names=tuple(first), first_line=start)
    if target is not None:
        return layout, _named_column(layout, target)
    return layout, _clear_column(layout, rows or [first])


def _is_header(cells: list[str]) -> bool:
    """Whether every cell is another short name: headers of tables without a column of numbers."""
    names = [_plain(cell) for cell in cells]
    is_usual = _has_usual_name(cells)
    is_short = all(len(_WORDS.findall(cell)) in (1, 2) for cell in cells)
    return len(set(names)) == len(names) and (is_usual or is_short)


def _has_usual_name(cells: list[str]) -> bool:
    return any(_plain(cell) in _USUAL_NAMES for cell in cells)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _named_column(layout: CellLayout, target: str) -> int:
    chosen = choose_columns(layout.file, layout.names, layout.column_count, target, ())
    return chosen.target or 0


def _clear_column(layout: CellLayout, rows: list[list[str]]) -> int:
    names = [_plain(name) for name in layout.names or ()]
    columns = range(layout.column_count)
    of_texts = [column for column in columns if _mean_words(rows, column) >= _LEAST_WORDS]
    usual = [column for column in of_texts or columns if names and names[column] in _USUAL_NAMES]
    for clear in (columns, usual, of_texts):
        if len(clear) == 1:
            return clear[0]
    raise layout.file.complaint(
        "several columns hold texts" if of_texts else "no column holds texts of several words",
        f"name the column with --target ({', '.join(_shown(layout, of_texts or columns))}), or "
        "read every line as a document with --format text",
    )


def _shown(layout: CellLayout, columns: Sequence[int]) -> list[str]:
    return [layout.names[at] if layout.names else str(at) for at in columns][:_MOST_SHOWN]


def _mean_words(rows: list[list[str]], column: int) -> float:
    """Mean number of words of the cells that are not empty."""
    cells = [cells[column] for cells in rows if len(cells) > column and cells[column]]
    return sum(len(_WORDS.findall(cell)) for cell in cells) / max(1, len(cells))


def _cells(layout: CellLayout, column: int) -> list[str]:
    texts = []
    for number, cells in layout.data_lines():
        if len(cells) != layout.column_count:
            raise layout.uneven(number, len(cells))
        texts.append(cells[column])
    return texts
