"""Which format a file has: the one the user names, or the one that fits best."""

from __future__ import annotations

from motet.datasets.files import InputFile
from motet.datasets.formats import (
    arrays,
    delimited,
    docword,
    idx,
    ldac,
    ratings,
    svmlight,
    text,
)
from motet.datasets.formats.format import NAMED, PLAUSIBLE, RECOGNISED, Format, Guess
from motet.datasets.kinds import Dataset
from motet.domain.errors import BadInput, UnknownName

FORMATS: tuple[Format, ...] = (
    svmlight.FORMAT,
    svmlight.FROM_ZERO,
    ratings.FORMAT,
    docword.FORMAT,
    ldac.FORMAT,
    arrays.NPZ,
    arrays.NPY,
    idx.FORMAT,
    delimited.FORMAT,
    text.FORMAT,
)
_AMBIGUOUS_WITHIN = 0.02


def format_called(name: str) -> Format:
    """The format of that name or alias; raises `UnknownName`."""
    for entry in FORMATS:
        if name.lower() in (entry.name, *entry.aliases):
            return entry
    known = [word for entry in FORMATS for word in (entry.name, *entry.aliases)]
    raise UnknownName("format", name, known)


def recognise(file: InputFile, kind: type[Dataset] | None) -> Format:
    """The format that fits the file's name and beginning and can become that kind of data.

    Raises `BadInput` when none fits or two fit equally well, with what spoke for and against.
    """
    if file.path.is_dir():
        return _for_folder(file, kind)
    guesses = [(entry, entry.sniff(file.head)) for entry in FORMATS]
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
    if not text.FORMAT.can_become(kind):
        problem = "is a folder, which only a text corpus can be"
        raise folder.complaint(problem, "give a file in it")
    return text.FORMAT


def _best_first(guesses: _Guesses) -> _Guesses:
    likely = [guess for guess in guesses if guess[1].confidence >= RECOGNISED]
    return sorted(likely, key=lambda guess: -guess[1].confidence)


def _is_tie(first: Guess, second: Guess) -> bool:
    return first.confidence - second.confidence < _AMBIGUOUS_WITHIN


def _contradicts(best: Guess, fitting: Guess) -> bool:
    """Whether a format of another kind is nearly certain where this kind's best is a mere maybe."""
    return best.confidence > NAMED and fitting.confidence < PLAUSIBLE


def _unrecognised(file: InputFile, kind: type[Dataset] | None, guesses: _Guesses) -> BadInput:
    possible = [guess for guess in guesses if guess[0].can_become(kind)]
    described = "data" if kind is None else kind.described
    for entry, guess in _best_first(guesses)[:1]:
        problem = f"looks like {entry.name} ({guess.why}), which cannot become {described}"
        formats = ", ".join(own.name for own, _ in possible)
        return file.complaint(problem, f"give data for this application ({formats})")
    reasons = ", ".join(f"{entry.name} ({guess.why})" for entry, guess in possible if guess.why)
    return file.complaint(f"format not recognised: {reasons}", "give --format NAME")
