"""The interface of trace formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from motet.sim.traces.problems import Problems
from motet.sim.traces.source import Source
from motet.sim.traces.trace import Jobs


class TraceFormat(ABC):
    """`name`: for `--format`; `described`: for messages.

    `columns`: those that a header must have, empty for formats without a header. `marks`: further
    columns that distinguish the format from similar ones. `takes_columns`: whether the user may
    state which columns of the file have which of Motet's columns.
    """

    name: ClassVar[str]
    described: ClassVar[str]
    columns: ClassVar[tuple[str, ...]] = ()
    marks: ClassVar[tuple[str, ...]] = ()
    takes_columns: ClassVar[bool] = False

    @abstractmethod
    def read(self, source: Source, problems: Problems) -> Jobs:
        """Read all jobs and add what is wrong with their rows to `problems`. Raises BadInput."""

    def recognises(self, source: Source) -> bool:
        """Whether a file is in this format: by default, whether its header has all columns."""
        return set(self.columns + self.marks) <= set(source.header)

    def nearness(self, source: Source) -> float:
        """Return the share of the format's columns that the header has, 0..1."""
        if not self.columns:
            return 0.0
        return len(set(self.columns) & set(source.header)) / len(self.columns)
