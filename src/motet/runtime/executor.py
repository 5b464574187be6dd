"""The executor: one process of one job on one machine, hosting a worker, a server or both.

It answers the data plane from the first moment; `configure` gives it its part of the job, `run`
trains. Nothing here knows Ray: `ray_cluster.py` puts an `Executor` into an actor.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from motet.domain.errors import JobFailed, MotetError, Unreachable
from motet.runtime.application import Application
from motet.runtime.blame import described
from motet.runtime.messages import (
    Kind,
    PushHead,
    Status,
    Target,
    decode_json,
    decode_rows,
    encode_json,
    encode_rows,
)
from motet.runtime.ownership import Ownership
from motet.runtime.peers import ExecutorPeers
from motet.runtime.remote_model import RemoteModel
from motet.runtime.rows import Rows
from motet.runtime.schedule import Schedule
from motet.runtime.shard import Shard, Synchronisation
from motet.runtime.subtask import Kind as SubtaskKind
from motet.runtime.subtask import SubtaskLog, monotonic_us
from motet.runtime.table import MODEL_TABLE, TableSpec
from motet.runtime.table_client import StaleGeneration, TableClient
from motet.runtime.worker import Share, Worker
from motet.transport import Arena, Endpoint, Request, Server, use_short_switch_interval

Array = NDArray[Any]

_PROGRESS_EVERY_US = 200_000
CONTROLLER = -1


@dataclass(frozen=True)
class Assignment:
    """An executor's part of one generation of a job.

    A generation ends when an executor is lost; its messages are refused in the next one.
    """

    generation: int
    app: Application
    schedule: Schedule
    table: TableSpec
    sync: Synchronisation
    ownership: Ownership
    endpoints: Mapping[int, Endpoint]
    rank: int | None
    first_epoch: int

    @property
    def first_clock(self) -> int:
        """The clock of the first mini-batch to train."""
        return self.first_epoch * self.schedule.batch_count


@dataclass(frozen=True)
class Outcome:
    """How `Executor.run` ended; `detail` (one line) explains everything but "finished"."""

    kind: Literal["finished", "aborted", "failed"]
    detail: str = ""
    trace: str = ""


class _Generation:
    """What lives as long as one assignment."""

    def __init__(self, executor: int, assignment: Assignment, secret: bytes, arena: Arena) -> None:
        self.assignment = assignment
        self.number = assignment.generation
        self.data_blocks: dict[int, Rows] = {}
        self.share: Share | None = None
        self.ended = threading.Event()
        self.peers = ExecutorPeers(assignment.endpoints, secret, arena)
        self.shard = Shard(
            assignment.table,
            assignment.app.apply,
            assignment.sync,
            assignment.ownership,
            executor,
            assignment.first_clock,
        )

    def end(self) -> None:
        """Wake everything that waits; safe to call again."""
        self.ended.set()
        self.peers.close()


class Executor:
    """Hosts a worker and/or a server of one job."""

    def __init__(self, number: int, secret: bytes, host: str = "127.0.0.1") -> None:
        use_short_switch_interval()
        self.number = number
        self._secret = secret
        self._arena = Arena()
        self._generation: _Generation | None = None
        self._server = Server(self._handle, secret, host=host)

    @property
    def endpoint(self) -> Endpoint:
        """Where this executor listens."""
        return self._server.endpoint

    # -- life-cycle ------------------------------------------------------------------------------

    def configure(self, assignment: Assignment) -> None:
        """Take part in a generation of the job; ends the one before."""
        self.abort()
        self._generation = _Generation(self.number, assignment, self._secret, self._arena)

    def warm_up(self, app: Application) -> None:
        """Compile the application's kernels before the clock starts."""
        app.warm_up()

    def run(self) -> Outcome:
        """Train as the assignment's worker, or serve, until the job ends this generation."""
        generation = self._current()
        try:
            if generation.assignment.rank is not None:
                self._train(generation)
            else:
                generation.ended.wait()
        except (Unreachable, StaleGeneration) as lost:
            return Outcome("aborted", str(lost))
        except MotetError as error:
            return Outcome("failed", str(error))
        except Exception as error:
            detail = described(error, generation.assignment.app)
            return Outcome("failed", detail, traceback.format_exc())
        return Outcome("finished")

    def abort(self) -> None:
        """End the present generation: its worker stops, its requests are refused."""
        if self._generation is not None:
            self._generation.end()

    def close(self) -> None:
        """Stop serving and free everything."""
        self.abort()
        self._server.close()
        self._arena.close()

    # -- the worker ------------------------------------------------------------------------------

    def _train(self, generation: _Generation) -> None:
        assignment = generation.assignment
        rank = assignment.rank
        assert rank is not None
        share = Share(assignment.app, assignment.schedule, generation.data_blocks)
        generation.data_blocks.clear()
        generation.share = share
        client = TableClient(
            assignment.table,
            assignment.ownership,
            generation.peers,
            assignment.generation,
            client=(assignment.generation << 32) + self.number,
        )
        model = RemoteModel(client, rank, assignment.first_clock)
        reporter = _Reporter(generation, rank)
        worker = Worker(
            assignment.app, assignment.schedule, share, model, monotonic_us, reporter.batch_done
        )
        epoch = assignment.first_epoch
        while True:
            log = worker.run_epoch(epoch)
            model.finished_clock = (epoch + 1) * assignment.schedule.batch_count
            if reporter.epoch_done(epoch, log, worker.evaluate()) == "stop":
                return
            epoch += 1

    # -- requests --------------------------------------------------------------------------------

    def _handle(self, request: Request) -> None:
        generation = self._generation
        kind = request.kind
        if kind <= Kind.PUT:
            self._handle_table(request, generation)
        elif kind == Kind.LOAD_ROWS:
            self._load_rows(request)
        elif kind == Kind.READ_STATE:
            self._read_state(request)
        else:
            raise JobFailed(f"executor {self.number} does not know request kind {kind}")

    def _handle_table(self, request: Request, generation: _Generation | None) -> None:
        target, offset = Target.decode(request.meta)
        if generation is None or target.generation != generation.number:
            request.reply(Status.STALE)
            return
        shard = generation.shard
        if target.table != MODEL_TABLE:
            raise JobFailed(f"executor {self.number} has no table {target.table}")
        try:
            _ask(shard, request, target, offset)
        except MotetError:
            raise
        except Exception as error:
            raise JobFailed(described(error, generation.assignment.app)) from error

    def _load_rows(self, request: Request) -> None:
        head = decode_json(request.meta)
        generation = self._current()
        if head["generation"] != generation.assignment.generation:
            request.reply(Status.STALE)
            return
        generation.data_blocks[head["block"]] = decode_rows(head["arrays"], request.payload)
        request.reply(Status.OK)

    def _read_state(self, request: Request) -> None:
        generation = self._current()
        share = generation.share
        if share is None:
            raise JobFailed(f"executor {self.number} hosts no worker")
        state = share.rows.select(generation.assignment.app.state_columns)
        described, arrays = encode_rows(state)
        request.reply(Status.OK, encode_json(described), arrays)

    def _current(self) -> _Generation:
        if self._generation is None:
            raise JobFailed(f"executor {self.number} has no assignment yet")
        return self._generation


class _Reporter:
    """Tells the controller what a worker did; its answer to an epoch is the epoch barrier."""

    def __init__(self, generation: _Generation, rank: int) -> None:
        self._controller = generation.peers.connection(CONTROLLER)
        self._generation = generation
        self._rank = rank
        self._last_us = 0

    def batch_done(self, epoch: int, batch: int) -> None:
        """Report progress a few times per second, from one worker, without waiting."""
        if self._generation.ended.is_set():
            raise StaleGeneration("the generation was ended")
        now_us = monotonic_us()
        if self._rank == 0 and now_us - self._last_us > _PROGRESS_EVERY_US:
            self._last_us = now_us
            self._send(Kind.BATCH_DONE, epoch, {"batch": batch}, np.empty(0))

    def epoch_done(self, epoch: int, log: SubtaskLog, sums: Array) -> str:
        """Report an epoch; returns the controller's directive, "continue" or "stop"."""
        report = {
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

    def _send(self, kind: Kind, epoch: int, fields: dict[str, Any], payload: Array) -> Any:
        head = {
            "generation": self._generation.assignment.generation,
            "rank": self._rank,
            "epoch": epoch,
            **fields,
        }
        return self._controller.submit(kind, encode_json(head), [payload])


def _ask(shard: Shard, request: Request, target: Target, offset: int) -> None:
    if request.kind == Kind.PULL:
        shard.pull(request, target)
    elif request.kind == Kind.PUSH:
        shard.push(request, target, PushHead.decode(request.meta, offset, target.clock))
    else:
        client, numbers = _sequence(request.meta, offset, target)
        apply = shard.update if request.kind == Kind.UPDATE else shard.put
        apply(request, target, client, numbers)


def _sequence(meta: bytes, offset: int, target: Target) -> tuple[int, list[int]]:
    client = int.from_bytes(meta[offset : offset + 8], "little")
    numbers: list[int] = np.frombuffer(meta, np.uint64, target.block_count, offset + 8).tolist()
    return client, numbers
