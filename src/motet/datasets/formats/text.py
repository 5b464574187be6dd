"""Plain text: a folder with one file per document, or one file.

In one file, documents are paragraphs separated by blank lines; without blank lines, every line is
a document. Words become lower case; stop words and words in only one document or in more than half
of them are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from motet.datasets.files import Head, InputFile
from motet.datasets.formats.format import (
    PLAUSIBLE,
    UNLIKELY,
    Format,
    Guess,
    ReadOptions,
)
from motet.datasets.kinds import Corpus
from motet.datasets.words import VocabularyRule, corpus_from_texts

_SUFFIXES = (".txt", ".md", ".rst", ".text")
_TABLES = (".csv", ".tsv")
_TABLE_NOTE = (
    "read as text, a document per line: the header and the words of all columns count; give a file "
    "with the texts alone to leave them out"
)
_LETTERS_SHARE = 0.6
_PARAGRAPHS = re.compile(r"\n[ \t\r]*\n")


class TextFormat(Format):
    """Documents of plain text."""

    name = "text"
    summary = "a folder of text files, or a file of paragraphs or lines"
    kinds = (Corpus,)
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
        texts = list(_folder_texts(file) if file.path.is_dir() else _file_texts(file))
        if not texts:
            wanted = " ".join(_SUFFIXES)
            raise file.complaint("holds no documents", f"a folder needs files of {wanted}")
        rule, source = VocabularyRule(), str(file)
        if options.only:  # Every text is a document then, also without any of these words.
            return corpus_from_texts(
                texts, rule, source=source, min_words=0, vocabulary=options.only
            )
        corpus = corpus_from_texts(texts, rule, source=source)
        left_out = len(texts) - corpus.document_count
        if left_out and corpus.token_count:
            said = f"{left_out} of {len(texts)} documents have no word that counts: left out"
            corpus = replace(corpus, notes=(*corpus.notes, said))
        if file.plain_name.endswith(_TABLES):
            corpus = replace(corpus, notes=(*corpus.notes, _TABLE_NOTE))
        if not corpus.token_count:
            problem = f"its {len(texts)} documents have no word in common"
            if len(texts) == 1:
                problem = "holds one document only"
            raise file.complaint(problem, "words count that occur in two documents or more")
        return corpus


def _file_texts(file: InputFile) -> list[str]:
    text = _decoded(file)
    parts = _PARAGRAPHS.split(text)
    filled = [part for part in parts if part.strip()]
    return filled if len(filled) > 1 else [line for line in text.splitlines() if line.strip()]


def _folder_texts(folder: InputFile) -> Iterator[str]:
    """Yield the files of a folder and its subfolders by path, except hidden ones."""
    for path in sorted(folder.path.rglob("*")):
        file = InputFile(path)
        hidden = any(part.startswith(".") for part in path.relative_to(folder.path).parts)
        if path.is_file() and not hidden and file.plain_name.endswith(_SUFFIXES):
            yield _decoded(file) if path.stat().st_size else ""


def _decoded(file: InputFile) -> str:
    data = file.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise file.complaint("is not UTF-8 text", "convert it: iconv -t UTF-8", line) from None
    if "\0" in text:
        raise file.complaint("is binary, not text", "give a text file")
    return text
