"""Plain text: a folder with one file per document, or one file.

In one file, documents are paragraphs separated by blank lines; without blank lines, every line is
a document. Words become lower case; stop words and words in only one document or in more than half
of them are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from motet.datasets.files import Head, InputFile
from motet.datasets.formats.format import (
    PLAUSIBLE,
    UNLIKELY,
    Format,
    Guess,
    ReadOptions,
)
from motet.datasets.formats.texts.corpus_of_texts import read_corpus
from motet.datasets.kinds import Corpus

_SUFFIXES = (".txt", ".md", ".rst", ".text")
_TABLES = (".csv", ".tsv")
_TABLE_NOTE = (
    "read as text, a document per line: the header and the words of all columns count; "
    "--format text-table reads one column"
)
_LETTERS_SHARE = 0.6
_PARAGRAPHS = re.compile(r"\n[ \t\r]*\n")


class TextFormat(Format):
    """Documents of plain text."""

    name = "text"
    summary = "a folder of text files, or a file of paragraphs or lines"
    kinds = (Corpus,)
    has_words = True
    aliases = ("txt",)

    def sniff(self, head: Head) -> Guess:
        """Mostly letters and blanks."""
        text = " ".join(head.lines)
        letters = sum(letter.isalpha() or letter.isspace() for letter in text)
        share = letters / max(1, len(text))
        why = f"{share:.0%} of its characters are letters or blanks"
        if share < _LETTERS_SHARE:
            return Guess(0.0, why)
        return Guess(PLAUSIBLE if head.name.endswith(_SUFFIXES) else UNLIKELY, why)

    def read(self, file: InputFile, options: ReadOptions) -> Corpus:
        """A corpus with its vocabulary in alphabetical order."""
        is_folder = file.path.is_dir()
        files = _files_in(file) if is_folder else [file]
        texts = list(map(_decoded, files)) if is_folder else _file_texts(file)
        if not texts:
            wanted = " ".join(_SUFFIXES)
            raise file.complaint("holds no documents", f"a folder needs files of {wanted}")
        notes = _encoding_notes(files)
        if file.plain_name.endswith(_TABLES):
            notes = (*notes, _TABLE_NOTE)
        return read_corpus(file, texts, options, *notes)


def _file_texts(file: InputFile) -> list[str]:
    text = _decoded(file)
    parts = _PARAGRAPHS.split(text)
    filled = [part for part in parts if part.strip()]
    return filled if len(filled) > 1 else [line for line in text.splitlines() if line.strip()]


def _files_in(folder: InputFile) -> list[InputFile]:
    """The files of a folder and its subfolders by path, except hidden ones."""
    found = (InputFile(path) for path in sorted(folder.path.rglob("*")))
    return [file for file in found if _is_document(file, folder)]


def _is_document(file: InputFile, folder: InputFile) -> bool:
    hidden = any(part.startswith(".") for part in file.path.relative_to(folder.path).parts)
    return file.path.is_file() and not hidden and file.plain_name.endswith(_SUFFIXES)


def _encoding_notes(files: Sequence[InputFile]) -> tuple[str, ...]:
    wrong = [file for file in files if not (file.is_empty or file.is_utf8)]
    if len(files) == 1 or not wrong:
        return wrong[0].notes if wrong else ()
    name, note = wrong[0].path.name, wrong[0].notes[0]
    return (f"{len(wrong)} of {len(files)} files, such as {name}: {note}",)


def _decoded(file: InputFile) -> str:
    text = "" if file.is_empty else file.text()
    if "\0" in text:
        raise file.complaint("is binary, not text", "give a text file")
    return text
