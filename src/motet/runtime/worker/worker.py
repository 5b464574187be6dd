"""The worker loop: PULL -> COMP -> PUSH for every mini-batch of an epoch.

The loop knows a `ModelPort`, not a network: the same loop trains in-process (`local.py`) and over
parameter servers (`table_client.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.application import Application, Batch, Step, Update
from motet.runtime.core.schedule import Schedule
from motet.runtime.core.subtask import Clock, Subtask, SubtaskKind, SubtaskLog
from motet.runtime.core.transfer import Transfer
from motet.runtime.worker.share import Share


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
        log.add(pulled.subtask(SubtaskKind.PULL, step.clock))
        start_us = self._now_us()
        update = self._app.compute(batch, model, step) if len(batch.rows) else None
        log.add(Subtask(SubtaskKind.COMP, step.clock, start_us, self._now_us()))
        log.instances += len(batch.rows)
        pushed = self._model.push(batch, update, step)
        log.add(pushed.subtask(SubtaskKind.PUSH, step.clock))


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
