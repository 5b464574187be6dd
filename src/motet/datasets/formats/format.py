"""What a file format is to Motet: a name, a way to recognise it and a way to read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from motet.datasets.files import Head, InputFile
from motet.datasets.kinds import Dataset

CERTAIN = 1.0
NAMED = 0.9
"""The file's name says so: its reader then tells what is wrong with the content."""
SHAPED = 0.8
"""Every line looks like it; multiplied with the share of lines that do."""
PLAUSIBLE = 0.6
POSSIBLE = 0.4
UNLIKELY = 0.3
RECOGNISED = 0.25
"""Below this a guess does not count."""


@dataclass(frozen=True)
class Guess:
    """How sure a format is (0..1) that a file is of its kind, and why it is or is not."""

    confidence: float
    why: str


@dataclass(frozen=True)
class Request:
    """How the user wants a file read.

    `kind`: the class of data set wanted, None for whatever the file holds. `target`,
    `drop`, `na`: for tables, see `columns`. `labels`: the labels of idx images, where they do
    not lie beside them.
    """

    kind: type[Dataset] | None = None
    target: str | None = None
    drop: tuple[str, ...] = ()
    na: tuple[str, ...] = ()
    labels: InputFile | None = None


@dataclass(frozen=True)
class Format:
    """One file format.

    `kinds`: the data sets it can become, the natural one first. `has_columns`: whether `target`,
    `drop` and `na` mean something to it; `has_labels`: the same for `labels`.
    """

    name: str
    summary: str
    kinds: tuple[type[Dataset], ...]
    sniff: Callable[[Head], Guess]
    read: Callable[[InputFile, Request], Dataset]
    aliases: tuple[str, ...] = ()
    has_columns: bool = False
    has_labels: bool = False

    def can_become(self, kind: type[Dataset] | None) -> bool:
        """Whether the format can hold that kind of data (None: any)."""
        return kind is None or kind in self.kinds


def share_of(lines: Sequence[str], looks_right: Callable[[str], bool]) -> float:
    """Share of the lines for which the test holds; 0 where there are none."""
    return sum(map(looks_right, lines)) / max(1, len(lines))
