"""The worker loop: PULL -> COMP -> PUSH for every mini-batch of an epoch.

The loop uses a `ModelPort`, so it trains in one process (`local_training.py`) and over parameter
servers (`client/remote_model.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.application import Application, Step
from motet.runtime.core.schedule import Schedule
from motet.runtime.core.subtask import Clock, SubtaskKind, SubtaskLog
from motet.runtime.worker.batch_subtasks import BatchSubtasks
from motet.runtime.worker.checked_compute import evaluated_sums
from motet.runtime.worker.model_port import ModelPort
from motet.runtime.worker.runners.batch_runner import BatchRunner
from motet.runtime.worker.share import DataShare
from motet.runtime.worker.subtask_gate import OPEN_GATE, SubtaskGate, admitted


class Worker:
    """Runs the mini-batches of one worker's share of the data."""

    def __init__(
        self,
        app: Application,
        schedule: Schedule,
        share_at: Callable[[int], DataShare],
        model: ModelPort,
        runner: BatchRunner,
        now_us: Clock,
        on_batch: Callable[[int, int, SubtaskLog], None] | None = None,
        gate: SubtaskGate = OPEN_GATE,
    ) -> None:
        """`share_at`: the worker's data in the mini-batch of a clock, called before it begins.

        `on_batch` gets the epoch, the position in it of the mini-batch that is done, and the
        epoch's log so far; `gate` admits the subtasks.
        """
        self._app = app
        self._schedule = schedule
        self._share_at = share_at
        self._model = model
        self._runner = runner
        self._now_us = now_us
        self._on_batch = on_batch
        self._gate = gate
        self._comm_times = SubtaskLog().comm_times

    def run_epoch(self, epoch: int, first: int = 0) -> SubtaskLog:
        """Train one epoch from mini-batch `first` on; the times and bytes of its subtasks."""
        log = SubtaskLog(first, comm_times=self._comm_times)
        order = self._schedule.order(epoch)
        told: DataShare | None = None
        for position, number in enumerate(order[first:], start=first):
            began = self._now_us()
            step = self._step(epoch, position, number)
            share = self._share_at(step.clock)
            if share is not told:
                share.will_run(order[position:], self._schedule.order(epoch + 1))
                told = share
            subtasks = BatchSubtasks(step, log, self._gate, self._now_us)
            before_us = share.room_us
            self._runner.run_batch(share, int(number), subtasks)
            log.room_us += share.room_us - before_us
            log.batch_us.append(self._now_us() - began)
            if self._on_batch is not None:
                self._on_batch(epoch, position, log)
        return log

    def evaluate(self, share: DataShare, log: SubtaskLog) -> Array:
        """The application's evaluation sums over these instances; empty for none. Its PULL and COMP
        pass the gate like those of a mini-batch.

        `log`: of the epoch.
        """
        if not share.instances:
            return np.empty(0)
        began_us = self._now_us()
        if not self._gate.is_free:
            self._model.await_finished()
            self._gate.begin()
        model = self._admitted(SubtaskKind.PULL, log, self._model.pull_all)
        sums = [
            self._admitted(SubtaskKind.COMP, log, partial(evaluated_sums, self._app, rows, model))
            for rows in share.sections()
            if len(rows)
        ]
        log.evaluation_us += self._now_us() - began_us
        total: Array = np.sum(sums, axis=0)
        return total

    def _admitted(self, kind: SubtaskKind, log: SubtaskLog, work: Callable[[], Array]) -> Array:
        with admitted(self._gate, kind, log, self._now_us):
            began_us = self._now_us()
            result = work()
            log.evaluation_busy_us[kind] += self._now_us() - began_us
        return result

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
