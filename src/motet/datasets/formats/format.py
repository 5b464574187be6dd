"""The interface of file formats: a name, recognition and reading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from motet.datasets.files import Head, InputFile
from motet.datasets.kinds import Dataset
from motet.datasets.rating_frames import RatingColumns

CERTAIN = 1.0
NAMED = 0.9
"""Recognised by the file's name: the reader then reports what is wrong with the content."""
SHAPED = 0.8
"""All lines fit the format; multiplied by the share of lines that do."""
PLAUSIBLE = 0.6
POSSIBLE = 0.4
UNLIKELY = 0.3
RECOGNISED = 0.25
"""Guesses below this are ignored."""


@dataclass(frozen=True)
class Guess:
    """How confident a format is (0..1) that a file has this format, and why."""

    confidence: float
    why: str


@dataclass(frozen=True)
class ReadOptions:
    """How the user wants a file to be read.

    `kind`: the class of data set, None for any that the file can become. `target`, `drop`, `na`:
    for tables, see `columns`. `labels`: the labels of idx images that are in another folder.
    `only`: the features to read of a table with a header, which must name them (empty: all); of
    rating files `ratings.PAIR`, users and items without ratings; of texts the words that count.
    `stop_words`: a file of words of texts that do not count. `columns`: the columns of rating
    files that are not found by their names.
    """

    kind: type[Dataset] | None = None
    target: str | None = None
    drop: tuple[str, ...] = ()
    na: tuple[str, ...] = ()
    labels: InputFile | None = None
    only: tuple[str, ...] = ()
    stop_words: InputFile | None = None
    columns: RatingColumns = field(default_factory=RatingColumns)


class Format(ABC):
    """One file format.

    `kinds`: the data sets it can become, the natural one first. `has_columns`: whether the options
    `target`, `drop` and `na` apply to it; `has_labels`, `has_ratings`, `has_words`: the same for
    `labels`, `columns` and `stop_words`. `holds_target`: whether a file may hold the target
    without `target`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    kinds: ClassVar[tuple[type[Dataset], ...]]
    aliases: ClassVar[tuple[str, ...]] = ()
    has_columns: ClassVar[bool] = False
    has_labels: ClassVar[bool] = False
    has_ratings: ClassVar[bool] = False
    has_words: ClassVar[bool] = False
    holds_target: ClassVar[bool] = False

    @abstractmethod
    def sniff(self, head: Head) -> Guess:
        """Guess from its name and beginning whether a file has this format."""

    @abstractmethod
    def read(self, file: InputFile, options: ReadOptions) -> Dataset:
        """Read a file. Raises `BadInput` with the line that is wrong."""

    def check(self, file: InputFile, options: ReadOptions) -> None:  # noqa: B027
        """Raise `BadInput` for columns that the header lacks; formats without columns: nothing."""

    def can_become(self, kind: type[Dataset] | None) -> bool:
        """Whether the format can hold that kind of data (None: any)."""
        return kind is None or kind in self.kinds


def share_of(lines: Sequence[str], fits: Callable[[str], bool]) -> float:
    """Return the share of the lines that fit; 0 if there are none."""
    return sum(map(fits, lines)) / max(1, len(lines))
