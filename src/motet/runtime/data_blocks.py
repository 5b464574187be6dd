"""The data blocks of one executor: those that it computes with, and those on their way to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from motet.domain.errors import JobFailed
from motet.runtime.application import Application
from motet.runtime.rows import Rows
from motet.runtime.schedule import Schedule
from motet.runtime.table_client import StaleGeneration
from motet.runtime.worker import Share

ARRIVE_TIMEOUT_S = 600.0

FROM_THE_START = -1


class DataBlocks:
    """Data blocks arrive on other threads; the worker's thread takes them into its share."""

    def __init__(self, app: Application, schedule: Schedule) -> None:
        self._app = app
        self._schedule = schedule
        self._arrived: dict[tuple[int, int], Rows] = {}
        self._changed = threading.Condition()
        self._has_ended = False
        self.share = Share(app, schedule, {})

    def put(self, number: int, clock: int, rows: Rows) -> None:
        """A block has come, to be computed from mini-batch `clock` on (or FROM_THE_START)."""
        with self._changed:
            self._arrived[number, clock] = rows
            self._changed.notify_all()

    def begin(self) -> None:
        """Make a share of what has come before the first mini-batch."""
        with self._changed:
            blocks = {number: rows for (number, _), rows in self._arrived.items()}
            self._arrived.clear()
        self.share = Share(self._app, self._schedule, blocks)

    def change(self, kept: dict[int, Rows], incoming: Sequence[int], clock: int) -> None:
        """From now on compute `kept` and `incoming`, which is waited for."""
        if not incoming and len(kept) == len(self.share.block_numbers):
            return
        blocks = kept | {number: self._await(number, clock) for number in incoming}
        self.share = Share(self._app, self._schedule, blocks)

    def end(self) -> None:
        """Wake who waits for a block."""
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _await(self, number: int, clock: int) -> Rows:
        deadline_s = time.monotonic() + ARRIVE_TIMEOUT_S
        with self._changed:
            self._changed.wait_for(
                lambda: self._has_ended or (number, clock) in self._arrived,
                deadline_s - time.monotonic(),
            )
            if self._has_ended:
                raise StaleGeneration("the generation was ended")
            if (number, clock) not in self._arrived:
                raise JobFailed(
                    f"data block {number} did not arrive within {ARRIVE_TIMEOUT_S:.0f} s"
                )
            return self._arrived.pop((number, clock))
