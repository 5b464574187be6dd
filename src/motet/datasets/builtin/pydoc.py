"""The documentation of Python's standard library as a corpus, available on every machine.

Documents are the sections of `pydoc_data.topics` (the language reference that `help()` shows) and
the docstrings of the library's modules, classes and functions. Sources are parsed, never imported.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import platform
import re
import sysconfig
import textwrap
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from motet.datasets.kinds import Corpus
from motet.datasets.words import STOP_WORDS, VocabularyRule, corpus_from_texts

_SKIPPED = """
__pycache__ dist-packages encodings ensurepip idle_test idlelib lib2to3 pydoc_data site-packages
test tests turtledemo
"""
_SKIPPED_FOLDERS = frozenset(_SKIPPED.split())
_JARGON = "argument arguments code example false new note python return returns self true"
_MIN_DOCSTRING_WORDS = 20
_SECTION_WORDS = 120
_DOCUMENT_LIMIT = 2_400
_SOURCE_LIMIT_BYTES = 8_000_000

# Excludes parts of identifiers, paths, markup and code.
_WORD = re.compile(r"(?<![\w.`@\\/-])[A-Za-z][a-z]{2,19}(?![\w`(=@\\/])(?!\.\w)")
_RULE = VocabularyRule(
    min_documents=5,
    max_share=0.2,
    max_words=4_000,
    stop_words=STOP_WORDS | frozenset(_JARGON.split()),
    word=_WORD,
)
_DOCTEST = re.compile(r"^\s*(>>>|\.\.\. ).*$", re.MULTILINE)


def load_pydoc() -> Corpus:
    """Load about 2,000 short documents: the same, in the same order, for one Python version."""
    texts = islice(_texts(), _DOCUMENT_LIMIT)
    source = f"pydoc (Python {platform.python_version()})"
    return corpus_from_texts(texts, _RULE, source=source, min_words=8)


def _texts() -> Iterator[str]:
    yield from _topic_sections()
    read_bytes = 0
    for path in _library_files():
        source = path.read_bytes()
        read_bytes += len(source)
        if read_bytes > _SOURCE_LIMIT_BYTES:
            return
        yield from _docstrings(source)


def _topic_sections() -> Iterator[str]:
    """Yield sections of the help topics, or nothing if the distribution lacks `pydoc_data`."""
    if importlib.util.find_spec("pydoc_data") is None:
        return
    from pydoc_data.topics import topics

    for name in sorted(topics):
        yield from _sections(topics[name])


def _sections(text: str) -> Iterator[str]:
    """Yield whole paragraphs, joined until a section has enough words for a document."""
    section: list[str] = []
    word_count = 0
    for paragraph in text.split("\n\n"):
        section.append(paragraph)
        word_count += len(paragraph.split())
        if word_count >= _SECTION_WORDS:
            yield "\n\n".join(section)
            section, word_count = [], 0
    if section:
        yield "\n\n".join(section)


def _library_files() -> list[Path]:
    """Return the source files of the standard library in a fixed order that mixes its parts."""
    root = Path(sysconfig.get_path("stdlib"))
    found = []
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = [name for name in subfolders if name not in _SKIPPED_FOLDERS]
        found += [Path(folder, name) for name in files if name.endswith(".py")]
    return sorted(
        found, key=lambda path: (zlib.crc32(path.relative_to(root).as_posix().encode()), path)
    )


def _docstrings(source: bytes) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in _documented(tree):
        text = ast.get_docstring(node, clean=False) or ""
        if len(text.split()) >= _MIN_DOCSTRING_WORDS:
            yield _DOCTEST.sub("", textwrap.dedent(text))


def _documented(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the module, its classes and functions, and their methods; nothing inside functions."""
    yield node
    if isinstance(node, ast.Module | ast.ClassDef):
        for child in node.body:
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _documented(child)
