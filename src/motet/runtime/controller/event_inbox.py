"""The controller's ear: collects what workers report at the end of an epoch and answers them.

The reply to EPOCH_DONE is the epoch barrier. Requests are handed to the job's own thread through
one queue, together with the ends of executors, so the job has a single loop and no locks.
"""

from __future__ import annotations

import queue
from dataclasses import dataclass
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.domain.errors import JobFailed
from motet.runtime.core.batch_costs import BatchCost
from motet.runtime.wire.assignment import RunOutcome
from motet.runtime.wire.messages import ReplyStatus, RequestKind, decode_json, encode_json
from motet.transport import Endpoint, Request, Server


@dataclass(frozen=True, eq=False)
class WorkerReport:
    """What one worker says about one epoch.

    `sums`: its evaluation sums, none for no instances. `first`: its first mini-batch of the epoch.
    """

    generation: int
    rank: int
    epoch: int
    comp_us: int
    comm_us: int
    wait_us: int
    pulled_bytes: int
    pushed_bytes: int
    sums: Array
    batch_us: Array
    request: Request
    first: int = 0

    def answer(self, directive: str) -> None:
        """Let the worker go on ("continue") or end ("stop")."""
        self.request.reply(ReplyStatus.OK, encode_json(directive))


@dataclass(frozen=True)
class BatchProgress:
    """A worker finished a mini-batch. `leads`: it is the first of them; `costs`: since its last."""

    generation: int
    rank: int
    epoch: int
    batch: int
    leads: bool
    costs: tuple[BatchCost, ...]


@dataclass(frozen=True)
class ExecutorEnded:
    """An executor's `run` ended; `outcome` None: its process died.

    `life`: how many executors of this number its generation had before it.
    """

    generation: int
    number: int
    life: int
    outcome: RunOutcome | None


@dataclass(frozen=True)
class Cancelled:
    """Somebody cancelled the job."""


@dataclass(frozen=True)
class ObserverFailed:
    """An observer raised this on another thread than the job's."""

    error: Exception


Event = WorkerReport | BatchProgress | ExecutorEnded | Cancelled | ObserverFailed


class EventInbox:
    """A server on the data plane whose requests become events."""

    def __init__(self, secret: bytes, host: str, port: int) -> None:
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._server = Server(self._handle, secret, host=host, port=port)

    @property
    def endpoint(self) -> Endpoint:
        """Where workers report to."""
        return self._server.endpoint

    def close(self) -> None:
        """Stop listening."""
        self._server.close()

    def _handle(self, request: Request) -> None:
        head = decode_json(request.meta)
        if request.kind == RequestKind.BATCH_DONE:
            self.events.put(_progress(head, request))
            request.reply(ReplyStatus.OK)
        elif request.kind == RequestKind.EPOCH_DONE:
            self.events.put(_worker_report(head, request))
        else:
            raise JobFailed(f"the controller does not know request kind {request.kind}")


def _progress(head: dict[str, Any], request: Request) -> BatchProgress:
    costs = BatchCost.decoded(np.frombuffer(request.payload, np.float64))
    return BatchProgress(
        head["generation"], head["rank"], head["epoch"], head["batch"], head["leads"], costs
    )


def _worker_report(head: dict[str, Any], request: Request) -> WorkerReport:
    values = np.frombuffer(request.payload, np.float64).copy()
    return WorkerReport(
        generation=head["generation"],
        rank=head["rank"],
        epoch=head["epoch"],
        comp_us=head["comp_us"],
        comm_us=head["comm_us"],
        wait_us=head["wait_us"],
        pulled_bytes=head["pulled"],
        pushed_bytes=head["pushed"],
        sums=values[: head["sums"]],
        batch_us=values[head["sums"] :],
        request=request,
        first=head["first"],
    )
