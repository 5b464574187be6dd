"""The state of training that a job needs to continue, besides its data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from motet.domain.arrays import Array
from motet.runtime.core.reporting.reports import EpochReport
from motet.runtime.core.rows import Rows


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Training after `epoch_count` epochs, and `batches` mini-batches of the next one.

    `state`: all instances' state columns; `spent_s`: seconds of the run until it was written.
    """

    epoch_count: int
    model: Array
    state: Rows
    reports: tuple[EpochReport, ...] = ()
    spent_s: float = 0.0
    batches: int = 0

    def read(self) -> Checkpoint:
        """Itself."""
        return self

    def to_return_to(self) -> Checkpoint:
        """Itself."""
        return self


class KeptCheckpoint(Protocol):
    """The checkpoint that a job returns to: in memory, on disk only, or made again."""

    @property
    def epoch_count(self) -> int:
        """Number of epochs before it."""

    @property
    def batches(self) -> int:
        """Mini-batches of the next epoch before it."""

    @property
    def reports(self) -> tuple[EpochReport, ...]:
        """Of those epochs."""

    def read(self) -> Checkpoint:
        """The newest whole checkpoint.

        Raises BadInput if there is none, JobFailed if it cannot be made again.
        """

    def to_return_to(self) -> KeptCheckpoint:
        """The checkpoint that `read` returns, found out now. Raises BadInput if there is none."""


def merged_state(parts: Sequence[Rows]) -> Rows:
    """The state columns of all workers as one, ordered by instance id."""
    return Rows.concatenate(parts).ordered_by_id()
