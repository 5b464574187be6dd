"""A worker's reports to the controller of its job."""

from __future__ import annotations

import time

import numpy as np

from motet.domain.arrays import Array, Floats
from motet.runtime.client.remote_model import RemoteModel
from motet.runtime.core.reporting.batch_costs import CostKeeper
from motet.runtime.core.subtask import SubtaskKind, SubtaskLog, monotonic_us
from motet.runtime.executor.generation_context import GenerationContext
from motet.runtime.wire.assignment import CONTROLLER
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.exchange import answer_of, submit
from motet.runtime.wire.worker_reports import (
    BatchDone,
    Directive,
    EpochAnswer,
    EpochDone,
    WorkIsPaused,
)

_PROGRESS_EVERY_US = 200_000
# More workers report more rarely, so that the controller gets some 80 reports a second at most.
_USUAL_WORKERS = 16


class Reporter:
    """Reports a worker's mini-batches and epochs; the answer to an epoch is the epoch barrier."""

    def __init__(self, context: GenerationContext, model: RemoteModel) -> None:
        self._controller = context.peers.connection(CONTROLLER)
        self._context = context
        self._model = model
        self._last_us = 0
        self._costs = CostKeeper()
        self._cpu_us = _process_cpu_us()

    def batch_done(self, epoch: int, batch: int, log: SubtaskLog) -> None:
        """Report progress and costs a few times per second, without waiting."""
        if self._context.ended.is_set():
            raise StaleGeneration("the generation was ended")
        self._costs.add(log)
        now_us, place = monotonic_us(), self._model.place
        crowd = max(1.0, place.worker_count / _USUAL_WORKERS)
        if now_us - self._last_us > _PROGRESS_EVERY_US * crowd:
            self._last_us = now_us
            leads, costs = place.position == 0, self._costs.take()
            context = self._context
            submit(
                self._controller,
                BatchDone(context.number, context.executor, epoch, batch, leads, costs),
            )

    def paused(self, clock: int) -> None:
        """Report that no mini-batch from `clock` on will begin, without waiting."""
        context = self._context
        submit(self._controller, WorkIsPaused(context.number, context.executor, clock))

    def epoch_done(self, epoch: int, log: SubtaskLog, sums: Array) -> Directive:
        """Report an epoch; returns the controller's directive."""
        busy_us, moved = log.busy_us, log.payload_bytes
        before_us, self._cpu_us = self._cpu_us, _process_cpu_us()
        report = EpochDone(
            generation=self._context.number,
            rank=self._context.executor,
            epoch=epoch,
            first=log.first,
            comp_us=busy_us[SubtaskKind.COMP],
            comm_us=busy_us[SubtaskKind.PULL] + busy_us[SubtaskKind.PUSH],
            wait_us=log.wait_us,
            load_us=log.load_us,
            pulled_bytes=moved[SubtaskKind.PULL],
            pushed_bytes=moved[SubtaskKind.PUSH],
            sums=np.asarray(sums, np.float64),
            batch_us=np.array(log.batch_us, np.float64),
            helped=_helped(log),
            memory_bytes=self._context.resources.memory_bytes(),
            room_us=log.room_us,
            evaluation_us=np.array(
                [
                    log.evaluation_busy_us[SubtaskKind.COMP],
                    log.evaluation_busy_us[SubtaskKind.PULL],
                    log.evaluation_us,
                ],
                np.float64,
            ),
            cpu_us=self._cpu_us - before_us,
            gate_us=log.gate_us,
        )
        return answer_of(submit(self._controller, report), EpochAnswer).directive


def _process_cpu_us() -> int:
    """Of all threads: the worker, the server, and those that send and receive."""
    return time.process_time_ns() // 1000


def _helped(log: SubtaskLog) -> Floats:
    rows = [(worker, each.batches, each.instances) for worker, each in log.helped.items()]
    return np.array(rows, np.float64).reshape(-1, 3).T.copy()
