"""The worker loop: PULL -> COMP -> PUSH for every mini-batch of an epoch.

The loop knows a `ModelPort`, not a network: the same loop trains in-process (`local.py`) and over
parameter servers (`table_client.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motet.runtime.core.application import Application, Batch, Step, Update
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import Schedule
from motet.runtime.core.subtask import Clock, Kind, Subtask, SubtaskLog

Array = NDArray[Any]
Indices = NDArray[np.int64]


class Transfer(NamedTuple):
    """What a COMM subtask moved, and when; messages are made and taken apart outside it.

    `wait_us`: how long a server made it wait for other workers.
    """

    payload_bytes: int = 0
    start_us: int = 0
    end_us: int = 0
    wait_us: int = 0

    def subtask(self, kind: Kind, clock: int) -> Subtask:
        """The subtask that this was."""
        return Subtask(kind, clock, self.start_us, self.end_us, self.wait_us, self.payload_bytes)


class ModelPort(Protocol):
    """A worker's view of the model."""

    def pull(self, batch: Batch, step: Step) -> tuple[Array, Transfer]:
        """The values of `batch.keys` as of the mini-batch's start."""
        ...

    def push(self, batch: Batch, update: Update | None, step: Step) -> Transfer:
        """Contribute to the mini-batch (None: nothing); this worker's part of it is then done."""
        ...

    def pull_all(self) -> Array:
        """The whole model as committed by now."""
        ...


class Share:
    """The instances that one worker holds, ordered so that a mini-batch is a contiguous slice."""

    def __init__(self, app: Application, schedule: Schedule, blocks: Mapping[int, Rows]) -> None:
        """`blocks`: data blocks by number (maybe none), each with its instances in dealt order."""
        self._app = app
        self.block_numbers = sorted(blocks)
        positions = [schedule.block_positions(number) for number in self.block_numbers]
        batches = schedule.batch_of(np.concatenate([_NO_POSITIONS, *positions]))
        order = np.argsort(batches, kind="stable")
        self._places = np.empty_like(order)
        self._places[order] = np.arange(len(order))
        ends = pairwise(np.cumsum([0, *map(len, positions)]).tolist())
        self._bounds_of = dict(zip(self.block_numbers, ends, strict=True))
        self.rows = _joined([blocks[number] for number in self.block_numbers]).take(order)
        bounds = np.searchsorted(batches[order], np.arange(schedule.batch_count + 1))
        self._bounds = [int(bound) for bound in bounds]
        self._batches: dict[int, Batch] = {}
        self._pieces: dict[tuple[int, int, int], Batch] = {}

    def batch(self, number: int) -> Batch:
        """This worker's part of a mini-batch; made once."""
        if number not in self._batches:
            low, high = self._bounds[number], self._bounds[number + 1]
            rows = self.rows.slice(low, high)
            self._batches[number] = self._app.make_batch(rows) if high > low else _empty(rows)
        return self._batches[number]

    def sizes(self, number: int) -> list[int]:
        """Instances of each data block in a mini-batch; so they follow each other there."""
        low, high = self._bounds[number], self._bounds[number + 1]
        ends = [np.searchsorted(self._where(one), (low, high)) for one in self.block_numbers]
        return [int(end - start) for start, end in ends if end > start]

    def piece(self, number: int, low: int, high: int) -> Batch:
        """Instances low..high-1 of this worker's part of a mini-batch; made once."""
        key = number, low, high
        if key not in self._pieces:
            # Divisions vary with measured speeds: without a limit they would pile up.
            if len(self._pieces) >= _MOST_PIECES:
                self._pieces.clear()
            start = self._bounds[number]
            self._pieces[key] = self._app.make_batch(self.rows.slice(start + low, start + high))
        return self._pieces[key]

    def blocks(
        self, numbers: Iterable[int], columns: Iterable[str] | None = None
    ) -> dict[int, Rows]:
        """Some of the data blocks as they are now, by number (copies); None: all columns."""
        wanted = sorted(numbers)
        rows = self.rows if columns is None or not wanted else self.rows.select(columns)
        return {number: rows.take(self._where(number)) for number in wanted}

    def overwrite(self, number: int, rows: Rows) -> None:
        """Replace columns of a data block, its instances in dealt order."""
        self.rows.put(self._where(number), rows)

    def _where(self, number: int) -> Indices:
        """Where the instances of a data block stand, in dealt order."""
        low, high = self._bounds_of[number]
        return self._places[low:high]


RunBatch: TypeAlias = Callable[[Share, int, Step, SubtaskLog], None]


class Alone:
    """Runs a mini-batch without anybody's help."""

    def __init__(self, app: Application, model: ModelPort, now_us: Clock) -> None:
        self._app = app
        self._model = model
        self._now_us = now_us

    def run_batch(self, share: Share, number: int, step: Step, log: SubtaskLog) -> None:
        """PULL, COMP, PUSH of the worker's part of mini-batch `number`."""
        batch = share.batch(number)
        model, pulled = self._model.pull(batch, step)
        log.add(pulled.subtask(Kind.PULL, step.clock))
        start_us = self._now_us()
        update = self._app.compute(batch, model, step) if len(batch.rows) else None
        log.add(Subtask(Kind.COMP, step.clock, start_us, self._now_us()))
        log.instances += len(batch.rows)
        pushed = self._model.push(batch, update, step)
        log.add(pushed.subtask(Kind.PUSH, step.clock))


class Worker:
    """Runs the mini-batches of one job's share of the data."""

    def __init__(
        self,
        app: Application,
        schedule: Schedule,
        share_at: Callable[[int], Share],
        model: ModelPort,
        now_us: Clock,
        on_batch: Callable[[int, int, SubtaskLog], None] | None = None,
        run_batch: RunBatch | None = None,
    ) -> None:
        """`share_at`: asked before each mini-batch, by its clock, what there is to compute.

        `on_batch` hears the epoch, the mini-batch that is done, and the epoch's log so far;
        `run_batch` runs one (by default `Alone`).
        """
        self._app = app
        self._schedule = schedule
        self._share_at = share_at
        self._model = model
        self._now_us = now_us
        self._on_batch = on_batch
        self._run_batch = run_batch or Alone(app, model, now_us).run_batch

    def run_epoch(self, epoch: int, first: int = 0) -> SubtaskLog:
        """Train one epoch from mini-batch `first` on; the times and bytes of its subtasks."""
        log = SubtaskLog(first)
        for position, number in enumerate(self._schedule.order(epoch)[first:], start=first):
            began = self._now_us()
            step = self._step(epoch, position, number)
            share = self._share_at(step.clock)
            self._run_batch(share, int(number), step, log)
            log.batch_us.append(self._now_us() - began)
            if self._on_batch is not None:
                self._on_batch(epoch, position, log)
        return log

    def evaluate(self, share: Share) -> Array:
        """The application's evaluation sums over these instances; nothing for none."""
        if not len(share.rows):
            return np.empty(0)
        return self._app.evaluate(share.rows, self._model.pull_all())

    def _step(self, epoch: int, position: int, number: int) -> Step:
        schedule = self._schedule
        return Step(
            epoch=epoch,
            batch=position,
            batch_count=schedule.batch_count,
            clock=epoch * schedule.batch_count + position,
            instances=schedule.batch_instances(int(number)),
            instance_count=schedule.instance_count,
            seed=schedule.seed,
        )


_MOST_PIECES = 256
_NO_POSITIONS = np.empty(0, dtype=np.int64)


def _joined(parts: Sequence[Rows]) -> Rows:
    return Rows.concatenate(parts) if parts else Rows(np.empty(0, dtype=np.int64), {})


def _empty(rows: Rows) -> Batch:
    return Batch(rows, keys=np.empty(0, dtype=np.int64))
