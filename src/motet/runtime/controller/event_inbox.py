"""The controller's server on the data plane: requests and ends of executors become events.

All events go through one queue to the job's own thread, which needs no locks for them. The answer
to EpochDone is the epoch barrier.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from motet.runtime.core.reporting.batch_costs import BatchCost
from motet.runtime.wire.assignment import RunOutcome
from motet.runtime.wire.codec import decode
from motet.runtime.wire.errors import BadMessage
from motet.runtime.wire.exchange import answer
from motet.runtime.wire.messages import ReplyStatus
from motet.runtime.wire.worker_reports import (
    BatchDone,
    Directive,
    EpochAnswer,
    EpochDone,
    WorkIsPaused,
)
from motet.transport import Endpoint, Request, Server


@dataclass(frozen=True, eq=False)
class WorkerReport:
    """A worker finished an epoch and waits for the answer to its request."""

    done: EpochDone
    request: Request

    @property
    def generation(self) -> int:
        """The worker's."""
        return self.done.generation

    def answer(self, directive: Directive) -> None:
        """Let the worker go on ("continue") or end ("stop")."""
        answer(self.request, EpochAnswer(directive))


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
class WorkerPaused:
    """A worker begins no mini-batch from `clock` on."""

    generation: int
    rank: int
    clock: int


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
class CancelRequested:
    """`Job.cancel` was called."""


@dataclass(frozen=True)
class SuspensionRequested:
    """`Job.suspend` was called."""


@dataclass(frozen=True)
class ObserverFailed:
    """An observer raised this on another thread than the job's."""

    error: Exception


ControllerEvent: TypeAlias = (
    WorkerReport
    | BatchProgress
    | WorkerPaused
    | ExecutorEnded
    | CancelRequested
    | SuspensionRequested
    | ObserverFailed
)


class EventInbox:
    """A queue of events, and the server whose requests become events."""

    def __init__(self, secret: bytes, host: str, port: int) -> None:
        self.events: queue.SimpleQueue[ControllerEvent] = queue.SimpleQueue()
        self._handlers: dict[int, Callable[[Request], None]] = {
            BatchDone.kind: self._batch_done,
            EpochDone.kind: self._epoch_done,
            WorkIsPaused.kind: self._paused,
        }
        self._server = Server(self._handle, secret, host=host, port=port)

    @property
    def endpoint(self) -> Endpoint:
        """Where workers report to."""
        return self._server.endpoint

    def close(self) -> None:
        """Stop listening."""
        self._server.close()

    def _handle(self, request: Request) -> None:
        handler = self._handlers.get(request.kind)
        if handler is None:
            raise BadMessage(f"the controller: request kind {request.kind} is unknown")
        handler(request)

    def _batch_done(self, request: Request) -> None:
        done = decode(BatchDone, request.meta, request.payload)
        costs = _costs(done)
        self.events.put(
            BatchProgress(done.generation, done.rank, done.epoch, done.batch, done.leads, costs)
        )
        request.reply(ReplyStatus.OK)

    def _paused(self, request: Request) -> None:
        paused = decode(WorkIsPaused, request.meta, request.payload)
        self.events.put(WorkerPaused(paused.generation, paused.rank, paused.clock))
        request.reply(ReplyStatus.OK)

    def _epoch_done(self, request: Request) -> None:
        done = decode(EpochDone, request.meta, request.payload)
        self.events.put(WorkerReport(done, request))


def _costs(done: BatchDone) -> tuple[BatchCost, ...]:
    try:
        return BatchCost.decoded(done.costs)
    except ValueError as error:
        raise BadMessage(f"BatchDone.costs of executor {done.rank}: {error}") from error
