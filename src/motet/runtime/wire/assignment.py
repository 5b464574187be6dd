"""An executor's part of one generation of a job, and how its run ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from motet.runtime.core.application import Application
from motet.runtime.core.consistency import Synchronisation
from motet.runtime.core.options import SpillOptions
from motet.runtime.core.schedule import Schedule
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.wire.ownership import Ownership
from motet.transport import Endpoint

CONTROLLER = -1


@dataclass(frozen=True)
class Assignment:
    """An executor's part of one generation of a job.

    A generation ends when an executor is lost; its messages are refused in the next generation.
    The executors in `sync.workers` begin as workers. `first_batch`: of the first epoch; the
    mini-batches before it were done by an earlier run. `helps`: idle workers help late ones.
    `spill`: input that is kept on disk; None: none is.
    """

    generation: int
    app: Application
    schedule: Schedule
    table: TableSpec
    sync: Synchronisation
    ownership: Ownership
    endpoints: Mapping[int, Endpoint]
    first_epoch: int
    helps: bool = False
    spill: SpillOptions | None = None
    first_batch: int = 0

    @property
    def first_clock(self) -> int:
        """The clock of the first mini-batch to train."""
        return self.first_epoch * self.schedule.batch_count + self.first_batch


@dataclass(frozen=True)
class RunOutcome:
    """How `Executor.run` ended; `detail` (one line) explains everything but "finished"."""

    kind: Literal["finished", "aborted", "failed"]
    detail: str = ""
    trace: str = ""
