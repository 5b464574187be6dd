"""What a trace format is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from motet.sim.traces.problems import Problems
from motet.sim.traces.source import Source
from motet.sim.traces.trace import Jobs


@dataclass(frozen=True)
class TraceFormat:
    """`name`: for `--format`; `described`: for people.

    `columns`: those that a header must have, empty for formats without one. `marks`: further ones
    that tell it from its relatives. `looks_like`: recognises a format without a header.
    """

    name: str
    described: str
    read: Callable[[Source, Problems], Jobs]
    columns: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    looks_like: Callable[[Source], bool] | None = None

    def recognises(self, source: Source) -> bool:
        """Whether a file is in this format."""
        if self.looks_like is not None:
            return self.looks_like(source)
        return set(self.columns + self.marks) <= set(source.header)

    def nearness(self, source: Source) -> float:
        """The share of its columns that the header has, 0..1."""
        if not self.columns:
            return 0.0
        return len(set(self.columns) & set(source.header)) / len(self.columns)
