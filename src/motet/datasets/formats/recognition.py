"""The choice of a file's format: the one the user names, or the one that fits best."""

from __future__ import annotations

from dataclasses import replace

from motet.datasets.files import InputFile
from motet.datasets.formats.binary.arrays import NpyFormat, NpzFormat
from motet.datasets.formats.binary.idx import IdxFormat
from motet.datasets.formats.foreign import refusal_of_json
from motet.datasets.formats.format import NAMED, PLAUSIBLE, RECOGNISED, Format, Guess
from motet.datasets.formats.sparse.docword import DocwordFormat
from motet.datasets.formats.sparse.ldac import LdacFormat
from motet.datasets.formats.sparse.svmlight import SvmlightFormat, SvmlightFromZeroFormat
from motet.datasets.formats.tables.delimited import CsvFormat
from motet.datasets.formats.tables.ratings import RatingsFormat
from motet.datasets.formats.texts.text import TextFormat
from motet.datasets.formats.texts.text_table import TextTableFormat
from motet.datasets.kinds import Dataset
from motet.domain.errors import BadInput, UnknownName

_TEXT = TextFormat()
FORMATS: tuple[Format, ...] = (
    SvmlightFormat(),
    SvmlightFromZeroFormat(),
    RatingsFormat(),
    DocwordFormat(),
    LdacFormat(),
    NpzFormat(),
    NpyFormat(),
    IdxFormat(),
    CsvFormat(),
    TextTableFormat(),
    _TEXT,
)
_AMBIGUOUS_WITHIN = 0.02
_SNIFFED_LINES = 1000
"""The beginning of a file with short lines has thousands, and every format looks at each."""


def format_called(name: str) -> Format:
    """Return the format of that name or alias. Raises `UnknownName`."""
    for entry in FORMATS:
        if name.lower() in (entry.name, *entry.aliases):
            return entry
    known = [word for entry in FORMATS for word in (entry.name, *entry.aliases)]
    raise UnknownName("format", name, known)


def recognise(file: InputFile, kind: type[Dataset] | None) -> Format:
    """Return the format that fits the file's name and beginning and can become that kind of data.

    Raises `BadInput` with the reasons if no format fits or two fit equally well.
    """
    if file.path.is_dir():
        return _for_folder(file, kind)
    beginning = replace(file.head, lines=file.head.lines[:_SNIFFED_LINES])
    guesses = [(entry, entry.sniff(beginning)) for entry in FORMATS]
    fitting = _best_first([guess for guess in guesses if guess[0].can_become(kind)])
    if not fitting or _contradicts(_best_first(guesses)[0][1], fitting[0][1]):
        raise _unrecognised(file, kind, guesses)
    if len(fitting) > 1 and _is_tie(fitting[0][1], fitting[1][1]):
        names = [entry.name for entry, _ in fitting[:2]]
        problem = f"could be {names[0]} ({fitting[0][1].why}) or {names[1]} ({fitting[1][1].why})"
        raise file.complaint(problem, f"give --format {names[0]} or --format {names[1]}")
    return fitting[0][0]


_Guesses = list[tuple[Format, Guess]]


def _for_folder(folder: InputFile, kind: type[Dataset] | None) -> Format:
    if not _TEXT.can_become(kind):
        problem = "is a folder, which only a text corpus can be"
        raise folder.complaint(problem, "give a file in it")
    return _TEXT


def _best_first(guesses: _Guesses) -> _Guesses:
    likely = [guess for guess in guesses if guess[1].confidence >= RECOGNISED]
    return sorted(likely, key=lambda guess: -guess[1].confidence)


def _is_tie(first: Guess, second: Guess) -> bool:
    return first.confidence - second.confidence < _AMBIGUOUS_WITHIN


def _contradicts(best: Guess, fitting: Guess) -> bool:
    """Whether a format of another kind is nearly certain and the best of this kind is uncertain."""
    return best.confidence > NAMED and fitting.confidence < PLAUSIBLE


def _unrecognised(file: InputFile, kind: type[Dataset] | None, guesses: _Guesses) -> BadInput:
    possible = [guess for guess in guesses if guess[0].can_become(kind)]
    described = "data" if kind is None else kind.described
    for entry, guess in _best_first(guesses)[:1]:
        problem = f"looks like {entry.name} ({guess.why}), which cannot become {described}"
        formats = ", ".join(own.name for own, _ in possible)
        return file.complaint(problem, f"give data for this application ({formats})")
    json = refusal_of_json(file, file.head)
    if json is not None:
        return json
    reasons = ", ".join(f"{entry.name} ({guess.why})" for entry, guess in possible if guess.why)
    return file.complaint(f"format not recognised: {reasons}", "give --format NAME")
