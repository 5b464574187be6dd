"""The executor: one process of one job on one machine, hosting a worker, a server or both.

It answers the data plane from the first moment; `configure` gives it its part of the job, `run`
trains. Nothing here knows Ray: `ray_cluster.py` puts an `Executor` into an actor.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from motet.domain.errors import JobFailed, MotetError, Unreachable
from motet.runtime.core.application import Application
from motet.runtime.core.table_spec import MODEL_TABLE
from motet.runtime.executor.app_fault import described
from motet.runtime.executor.generation_context import Tenure
from motet.runtime.executor.train_loop import Trainer
from motet.runtime.server.block_migration import BlockMove
from motet.runtime.server.block_transfer import BlockTransfer
from motet.runtime.stealing.thief import answer_question
from motet.runtime.wire.assignment import Assignment, Outcome
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.messages import (
    ReplyStatus,
    RequestKind,
    decode_json,
    decode_owners,
    decode_rows,
    encode_json,
    encode_rows,
)
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import Target
from motet.runtime.wire.work_change import WorkChange
from motet.transport import Arena, Endpoint, Request, Server, use_short_switch_interval

Control = Callable[[Tenure, dict[str, Any], Request], None]


class Executor:
    """Hosts a worker and/or a server of one job."""

    def __init__(self, number: int, secret: bytes, host: str = "127.0.0.1") -> None:
        use_short_switch_interval()
        self.number = number
        self._secret = secret
        self._arena = Arena()
        self._tenure: Tenure | None = None
        self._server = Server(self._handle, secret, host=host)

    @property
    def endpoint(self) -> Endpoint:
        """Where this executor listens."""
        return self._server.endpoint

    # -- life-cycle ------------------------------------------------------------------------------

    def configure(self, assignment: Assignment) -> None:
        """Take part in a generation of the job; ends the one before."""
        self.abort()
        self._tenure = Tenure(self.number, assignment, self._secret, self._arena)

    def warm_up(self, app: Application) -> None:
        """Compile the application's kernels before the clock starts."""
        app.warm_up()

    def run(self) -> Outcome:
        """Train as the assignment's worker, or serve, until the job ends this generation."""
        tenure = self._tenure
        if tenure is None:
            raise JobFailed(f"executor {self.number} has no assignment yet")
        try:
            self._train(tenure)
        except (Unreachable, StaleGeneration) as lost:
            return Outcome("aborted", str(lost))
        except MotetError as error:
            return Outcome("failed", str(error))
        except Exception as error:
            detail = described(error, tenure.assignment.app)
            return Outcome("failed", detail, traceback.format_exc())
        return Outcome("finished")

    def abort(self) -> None:
        """End the present generation: its worker stops, its requests are refused."""
        if self._tenure is not None:
            self._tenure.end()

    def close(self) -> None:
        """Stop serving and free everything."""
        self.abort()
        self._server.close()
        self._arena.close()

    def _train(self, tenure: Tenure) -> None:
        """Compute for as long as this executor is a worker, and whenever it becomes one."""
        clock: int | None = tenure.assignment.first_clock
        tenure.data.begin()
        if not tenure.is_worker:
            clock = tenure.turnstile.wait_for_work()
        while clock is not None:
            tenure.is_worker = True
            if Trainer(tenure, clock).run():
                return
            clock = tenure.turnstile.wait_for_work()

    # -- requests --------------------------------------------------------------------------------

    def _handle(self, request: Request) -> None:
        tenure = self._tenure
        if request.kind <= RequestKind.PUT:
            self._handle_table(request, tenure)
        elif request.kind == RequestKind.LEARN_OWNERS:
            generation, ownership = decode_owners(request.meta)
            if tenure is None or generation != tenure.number:
                request.reply(ReplyStatus.STALE)
                return
            tenure.learn(ownership)
            request.reply(ReplyStatus.OK)
        else:
            self._handle_control(request, tenure)

    def _handle_table(self, request: Request, tenure: Tenure | None) -> None:
        target, offset = Target.decode(request.meta)
        if tenure is None or target.generation != tenure.number:
            request.reply(ReplyStatus.STALE)
            return
        if target.table != MODEL_TABLE:
            raise JobFailed(f"executor {self.number} has no table {target.table}")
        try:
            tenure.shard.handle(request, target, offset)
        except MotetError:
            raise
        except Exception as error:
            raise JobFailed(described(error, tenure.assignment.app)) from error

    def _handle_control(self, request: Request, tenure: Tenure | None) -> None:
        control = _CONTROLS.get(request.kind)
        if control is None:
            raise JobFailed(f"executor {self.number} does not know request kind {request.kind}")
        head = decode_json(request.meta)
        if tenure is None or head["generation"] != tenure.number:
            request.reply(ReplyStatus.STALE)
            return
        control(tenure, head, request)


def _load_rows(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    tenure.data.put(head["block"], head["occasion"], decode_rows(head["arrays"], request.payload))
    request.reply(ReplyStatus.OK)


def _read_state(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    del head
    rows = tenure.data.share.rows
    columns = tenure.assignment.app.state_columns if len(rows) else ()
    described, arrays = encode_rows(rows.select(columns))
    request.reply(ReplyStatus.OK, encode_json(described), arrays)


def _meet(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    tenure.meet({number: Endpoint.decode(text) for number, text in head["endpoints"]})
    request.reply(ReplyStatus.OK)


def _move_blocks(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    ownership = Ownership.decode(request.payload)
    move = BlockMove(tenure.number, head["blocks"], head["destination"], ownership)
    tenure.move(move, request)


def _take_block(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    del head
    block = BlockTransfer.decode(request.meta, request.payload)
    tenure.shard.take_in(block.number, block.state, block.version, block.worker_clocks)
    request.reply(ReplyStatus.OK)


def _settle(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    del head
    tenure.shard.settle()
    request.reply(ReplyStatus.OK, encode_json(None))


def _hold(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    request.reply(ReplyStatus.OK, encode_json(tenure.turnstile.hold(head["number"])))


def _prepare_work(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    tenure.prepare(head["number"], Ownership.decode(request.payload), request)


def _change_work(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    data = Ownership.decode(request.payload)
    change = WorkChange(head["number"], head["clock"], tuple(head["workers"]), data)
    tenure.change(change, request)


def _set_workers(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    tenure.shard.set_workers(head["workers"], head["clock"])
    request.reply(ReplyStatus.OK)


def _ask_work(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    answer_question(tenure.handout, head, request)


def _return_state(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    state = decode_rows(head["arrays"], request.payload)
    tenure.handout.take_back(head["clock"], head["low"], state)
    request.reply(ReplyStatus.OK)


def _dismiss(tenure: Tenure, head: dict[str, Any], request: Request) -> None:
    del head
    request.reply(ReplyStatus.OK)
    tenure.turnstile.end()


_CONTROLS: dict[int, Control] = {
    RequestKind.LOAD_ROWS: _load_rows,
    RequestKind.READ_STATE: _read_state,
    RequestKind.MEET: _meet,
    RequestKind.MOVE_BLOCKS: _move_blocks,
    RequestKind.TAKE_BLOCK: _take_block,
    RequestKind.SETTLE: _settle,
    RequestKind.HOLD: _hold,
    RequestKind.PREPARE_WORK: _prepare_work,
    RequestKind.CHANGE_WORK: _change_work,
    RequestKind.SET_WORKERS: _set_workers,
    RequestKind.DISMISS: _dismiss,
    RequestKind.ASK_WORK: _ask_work,
    RequestKind.RETURN_STATE: _return_state,
}
