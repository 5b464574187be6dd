"""An executor's worker: mini-batch after mini-batch, from one change of its work to the next."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.runtime.client.remote_model import RemoteModel
from motet.runtime.client.table_client import StaleGeneration
from motet.runtime.core.batch_costs import CostKeeper
from motet.runtime.core.subtask import Kind as SubtaskKind
from motet.runtime.core.subtask import SubtaskLog, monotonic_us
from motet.runtime.executor.generation_context import Tenure
from motet.runtime.server.accumulator import Place
from motet.runtime.stealing.batch_runner import Teamwork
from motet.runtime.stealing.thief import Helper
from motet.runtime.wire.assignment import CONTROLLER
from motet.runtime.wire.messages import Kind, decode_json, encode_json
from motet.runtime.worker.step_gate import WorkChange
from motet.runtime.worker.worker import Share, Worker
from motet.transport import Call

Array = NDArray[Any]

_PROGRESS_EVERY_US = 200_000
# Many workers report more rarely, so that the controller hears some 80 reports a second at most.
_USUAL_WORKERS = 16


class Relieved(Exception):
    """This executor is no worker any more."""


class Trainer:
    """Trains until the controller says "stop", or until other workers take over."""

    def __init__(self, tenure: Tenure, first_clock: int) -> None:
        """A worker that joins later learns its place with the change that makes it one."""
        assignment = tenure.assignment
        self._tenure = tenure
        self._first_clock = first_clock
        self._batch_count = assignment.schedule.batch_count
        workers = assignment.sync.workers
        is_first = tenure.executor in workers
        place = _place(tenure.executor, workers) if is_first else Place(0, 1)
        self._model = RemoteModel(tenure.client, tenure.executor, place, first_clock)
        self._workers = workers
        self._reporter = _Reporter(tenure, self._model)
        self._worker = Worker(
            assignment.app,
            assignment.schedule,
            self._share_at,
            self._model,
            monotonic_us,
            self._reporter.batch_done,
            self._teamwork().run_batch if assignment.helps else None,
        )

    def run(self) -> bool:
        """Whether training is over (False: only here)."""
        epoch, first = divmod(self._first_clock, self._batch_count)
        try:
            while True:
                log = self._worker.run_epoch(epoch, first)
                self._model.finished_clock = (epoch + 1) * self._batch_count
                sums = self._worker.evaluate(self._tenure.data.share)
                if self._reporter.epoch_done(epoch, log, sums) == "stop":
                    return True
                epoch, first = epoch + 1, 0
        except Relieved:
            return False

    def _teamwork(self) -> Teamwork:
        tenure = self._tenure
        helper = Helper(
            tenure.number, tenure.executor, tenure.assignment.app, tenure.peers, self._model
        )
        return Teamwork(
            tenure.assignment.app, self._model, tenure.handout, helper, lambda: self._workers
        )

    def _share_at(self, clock: int) -> Share:
        change = self._tenure.turnstile.enter(clock)
        if change is not None:
            self._carry_out(change)
        return self._tenure.data.share

    def _carry_out(self, change: WorkChange) -> None:
        """Take over the prepared data and the new place among the workers."""
        began_us = monotonic_us()
        tenure = self._tenure
        if tenure.data.change(change):
            self._model.forget_batches()
        tenure.is_worker = tenure.executor in change.workers
        self._workers = change.workers
        if tenure.is_worker:
            self._model.place = _place(tenure.executor, change.workers)
        tenure.changed(change.number, {"stall_us": monotonic_us() - began_us})
        if not tenure.is_worker:
            raise Relieved


class _Reporter:
    """Tells the controller what a worker did; its answer to an epoch is the epoch barrier."""

    def __init__(self, tenure: Tenure, model: RemoteModel) -> None:
        self._controller = tenure.peers.connection(CONTROLLER)
        self._tenure = tenure
        self._model = model
        self._last_us = 0
        self._costs = CostKeeper()

    def batch_done(self, epoch: int, batch: int, log: SubtaskLog) -> None:
        """Report progress and costs a few times per second, without waiting."""
        if self._tenure.ended.is_set():
            raise StaleGeneration("the generation was ended")
        self._costs.add(log)
        now_us, place = monotonic_us(), self._model.place
        if now_us - self._last_us > _PROGRESS_EVERY_US * max(
            1.0, place.worker_count / _USUAL_WORKERS
        ):
            self._last_us = now_us
            fields = {"batch": batch, "leads": place.position == 0}
            self._send(Kind.BATCH_DONE, epoch, fields, self._costs.take())

    def epoch_done(self, epoch: int, log: SubtaskLog, sums: Array) -> str:
        """Report an epoch; returns the controller's directive, "continue" or "stop"."""
        report = {
            "first": log.first,
            "comp_us": log.busy_us[SubtaskKind.COMP],
            "comm_us": log.busy_us[SubtaskKind.PULL] + log.busy_us[SubtaskKind.PUSH],
            "wait_us": log.wait_us,
            "pulled": log.payload_bytes[SubtaskKind.PULL],
            "pushed": log.payload_bytes[SubtaskKind.PUSH],
            "sums": len(sums),
        }
        payload = np.concatenate([np.asarray(sums, np.float64), np.array(log.batch_us, np.float64)])
        call = self._send(Kind.EPOCH_DONE, epoch, report, payload)
        return str(decode_json(call.wait().meta))

    def _send(self, kind: Kind, epoch: int, fields: dict[str, Any], payload: Array) -> Call:
        head = {
            "generation": self._tenure.number,
            "rank": self._tenure.executor,
            "epoch": epoch,
            **fields,
        }
        return self._controller.submit(kind, encode_json(head), [payload])


def _place(executor: int, workers: tuple[int, ...]) -> Place:
    return Place(workers.index(executor), len(workers))
