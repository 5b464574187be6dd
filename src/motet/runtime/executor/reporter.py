"""A worker's reports to the controller of its job."""

from __future__ import annotations

from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.client.remote_model import RemoteModel
from motet.runtime.core.batch_costs import CostKeeper
from motet.runtime.core.subtask import SubtaskKind, SubtaskLog, monotonic_us
from motet.runtime.executor.generation_context import GenerationContext
from motet.runtime.wire.assignment import CONTROLLER
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.messages import RequestKind, decode_json, encode_json
from motet.transport import Call

_PROGRESS_EVERY_US = 200_000


# Many workers report more rarely, so that the controller hears some 80 reports a second at most.
_USUAL_WORKERS = 16


class Reporter:
    """Tells the controller what a worker did; its answer to an epoch is the epoch barrier."""

    def __init__(self, context: GenerationContext, model: RemoteModel) -> None:
        self._controller = context.peers.connection(CONTROLLER)
        self._context = context
        self._model = model
        self._last_us = 0
        self._costs = CostKeeper()

    def batch_done(self, epoch: int, batch: int, log: SubtaskLog) -> None:
        """Report progress and costs a few times per second, without waiting."""
        if self._context.ended.is_set():
            raise StaleGeneration("the generation was ended")
        self._costs.add(log)
        now_us, place = monotonic_us(), self._model.place
        if now_us - self._last_us > _PROGRESS_EVERY_US * max(
            1.0, place.worker_count / _USUAL_WORKERS
        ):
            self._last_us = now_us
            fields = {"batch": batch, "leads": place.position == 0}
            self._send(RequestKind.BATCH_DONE, epoch, fields, self._costs.take())

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
        call = self._send(RequestKind.EPOCH_DONE, epoch, report, payload)
        return str(decode_json(call.wait().meta))

    def _send(self, kind: RequestKind, epoch: int, fields: dict[str, Any], payload: Array) -> Call:
        head = {
            "generation": self._context.number,
            "rank": self._context.executor,
            "epoch": epoch,
            **fields,
        }
        return self._controller.submit(kind, encode_json(head), [payload])
