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
from motet.runtime.executor.application_fault import describe_fault
from motet.runtime.executor.generation_context import GenerationContext
from motet.runtime.executor.train_loop import TrainLoop
from motet.runtime.server.block_migration import BlockMove
from motet.runtime.server.block_transfer import BlockTransfer
from motet.runtime.stealing.thief import answer_question
from motet.runtime.wire.assignment import Assignment, RunOutcome
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

Control = Callable[[GenerationContext, dict[str, Any], Request], None]


class Executor:
    """Hosts a worker and/or a server of one job."""

    def __init__(self, number: int, secret: bytes, host: str = "127.0.0.1") -> None:
        use_short_switch_interval()
        self.number = number
        self._secret = secret
        self._arena = Arena()
        self._context: GenerationContext | None = None
        self._server = Server(self._handle, secret, host=host)

    @property
    def endpoint(self) -> Endpoint:
        """Where this executor listens."""
        return self._server.endpoint

    # -- life-cycle ------------------------------------------------------------------------------

    def configure(self, assignment: Assignment) -> None:
        """Take part in a generation of the job; ends the one before."""
        self.abort()
        self._context = GenerationContext(self.number, assignment, self._secret, self._arena)

    def warm_up(self, app: Application) -> None:
        """Compile the application's kernels before the clock starts."""
        app.warm_up()

    def run(self) -> RunOutcome:
        """Train as the assignment's worker, or serve, until the job ends this generation."""
        context = self._context
        if context is None:
            raise JobFailed(f"executor {self.number} has no assignment yet")
        try:
            self._train(context)
        except (Unreachable, StaleGeneration) as lost:
            return RunOutcome("aborted", str(lost))
        except MotetError as error:
            return RunOutcome("failed", str(error))
        except Exception as error:
            detail = describe_fault(error, context.assignment.app)
            return RunOutcome("failed", detail, traceback.format_exc())
        return RunOutcome("finished")

    def abort(self) -> None:
        """End the present generation: its worker stops, its requests are refused."""
        if self._context is not None:
            self._context.end()

    def close(self) -> None:
        """Stop serving and free everything."""
        self.abort()
        self._server.close()
        self._arena.close()

    def _train(self, context: GenerationContext) -> None:
        """Compute for as long as this executor is a worker, and whenever it becomes one."""
        clock: int | None = context.assignment.first_clock
        context.data.begin()
        if not context.is_worker:
            clock = context.turnstile.wait_for_work()
        while clock is not None:
            context.is_worker = True
            if TrainLoop(context, clock).run():
                return
            clock = context.turnstile.wait_for_work()

    # -- requests --------------------------------------------------------------------------------

    def _handle(self, request: Request) -> None:
        context = self._context
        if request.kind <= RequestKind.PUT:
            self._handle_table(request, context)
        elif request.kind == RequestKind.LEARN_OWNERS:
            generation, ownership = decode_owners(request.meta)
            if context is None or generation != context.number:
                request.reply(ReplyStatus.STALE)
                return
            context.learn(ownership)
            request.reply(ReplyStatus.OK)
        else:
            self._handle_control(request, context)

    def _handle_table(self, request: Request, context: GenerationContext | None) -> None:
        target, offset = Target.decode(request.meta)
        if context is None or target.generation != context.number:
            request.reply(ReplyStatus.STALE)
            return
        if target.table != MODEL_TABLE:
            raise JobFailed(f"executor {self.number} has no table {target.table}")
        try:
            context.shard.handle(request, target, offset)
        except MotetError:
            raise
        except Exception as error:
            raise JobFailed(describe_fault(error, context.assignment.app)) from error

    def _handle_control(self, request: Request, context: GenerationContext | None) -> None:
        control = _CONTROLS.get(request.kind)
        if control is None:
            raise JobFailed(f"executor {self.number} does not know request kind {request.kind}")
        head = decode_json(request.meta)
        if context is None or head["generation"] != context.number:
            request.reply(ReplyStatus.STALE)
            return
        control(context, head, request)


def _load_rows(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    context.data.put(head["block"], head["occasion"], decode_rows(head["arrays"], request.payload))
    request.reply(ReplyStatus.OK)


def _read_state(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    del head
    rows = context.data.share.rows
    columns = context.assignment.app.state_columns if len(rows) else ()
    described, arrays = encode_rows(rows.select(columns))
    request.reply(ReplyStatus.OK, encode_json(described), arrays)


def _meet(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    context.meet({number: Endpoint.decode(text) for number, text in head["endpoints"]})
    request.reply(ReplyStatus.OK)


def _move_blocks(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    ownership = Ownership.decode(request.payload)
    move = BlockMove(context.number, head["blocks"], head["destination"], ownership)
    context.move(move, request)


def _take_block(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    del head
    block = BlockTransfer.decode(request.meta, request.payload)
    context.shard.take_in(block.number, block.state, block.version, block.worker_clocks)
    request.reply(ReplyStatus.OK)


def _settle(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    del head
    context.shard.settle()
    request.reply(ReplyStatus.OK, encode_json(None))


def _hold(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    request.reply(ReplyStatus.OK, encode_json(context.turnstile.hold(head["number"])))


def _prepare_work(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    context.prepare(head["number"], Ownership.decode(request.payload), request)


def _change_work(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    data = Ownership.decode(request.payload)
    change = WorkChange(head["number"], head["clock"], tuple(head["workers"]), data)
    context.change(change, request)


def _set_workers(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    context.shard.set_workers(head["workers"], head["clock"])
    request.reply(ReplyStatus.OK)


def _ask_work(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    answer_question(context.handout, head, request)


def _return_state(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    state = decode_rows(head["arrays"], request.payload)
    context.handout.take_back(head["clock"], head["low"], state)
    request.reply(ReplyStatus.OK)


def _dismiss(context: GenerationContext, head: dict[str, Any], request: Request) -> None:
    del head
    request.reply(ReplyStatus.OK)
    context.turnstile.end()


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
