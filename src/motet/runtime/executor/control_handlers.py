"""What an executor does with each control request: one handler per kind, found in a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from motet.runtime.executor.generation_context import GenerationContext
from motet.runtime.server.block_transfer import BlockTransfer
from motet.runtime.stealing.messages import answer_steal_request
from motet.runtime.wire.codec import decode
from motet.runtime.wire.control_messages import (
    ChangeWork,
    ControlRequest,
    Dismiss,
    Held,
    Hold,
    InstanceState,
    LearnOwners,
    LoadRows,
    Meet,
    MoveBlocks,
    PauseWork,
    Ping,
    PrepareWork,
    ReadState,
    ReviewSpill,
    Settle,
    SetWorkers,
)
from motet.runtime.wire.exchange import answer
from motet.runtime.wire.messages import ReplyStatus
from motet.runtime.wire.stealing_messages import AskWork, ReturnState
from motet.transport import Request

M = TypeVar("M", bound=ControlRequest)


@dataclass(frozen=True)
class ControlHandler(Generic[M]):
    """How one kind of control request is decoded and carried out.

    `carry_out(context, message, request)` answers the request, now or later.
    """

    message: type[M]
    carry_out: Callable[[GenerationContext, M, Request], None]

    def handle(self, context: GenerationContext | None, request: Request) -> None:
        """Carry a request out in its own generation; STALE in another one. Raises BadMessage."""
        message = decode(self.message, request.meta, request.payload)
        if context is None or message.generation != context.number:
            request.reply(ReplyStatus.STALE)
        else:
            self.carry_out(context, message, request)


def _ping(context: GenerationContext, message: Ping, request: Request) -> None:
    del context, message
    request.reply(ReplyStatus.OK)


def _load_rows(context: GenerationContext, message: LoadRows, request: Request) -> None:
    context.data.put(message.block, message.occasion, message.rows)
    request.reply(ReplyStatus.OK)


def _read_state(context: GenerationContext, message: ReadState, request: Request) -> None:
    del message
    answer(request, InstanceState(context.data.select(context.assignment.app.state_columns)))


def _meet(context: GenerationContext, message: Meet, request: Request) -> None:
    context.meet(message.endpoints)
    request.reply(ReplyStatus.OK)


def _learn_owners(context: GenerationContext, message: LearnOwners, request: Request) -> None:
    context.learn(message.table, message.ownership)
    request.reply(ReplyStatus.OK)


def _take_block(context: GenerationContext, message: BlockTransfer, request: Request) -> None:
    shard = context.tables[message.table]
    shard.take_in(message.number, message.state, message.version, message.worker_clocks)
    request.reply(ReplyStatus.OK)


def _settle(context: GenerationContext, message: Settle, request: Request) -> None:
    context.tables[message.table].settle()
    request.reply(ReplyStatus.OK)


def _review_spill(context: GenerationContext, message: ReviewSpill, request: Request) -> None:
    del message
    context.review_spill(request)


def _hold(context: GenerationContext, message: Hold, request: Request) -> None:
    answer(request, Held(context.step_gate.hold(message.number)))


def _pause_work(context: GenerationContext, message: PauseWork, request: Request) -> None:
    context.step_gate.pause(message.number, message.clock)
    request.reply(ReplyStatus.OK)


def _change_work(context: GenerationContext, message: ChangeWork, request: Request) -> None:
    context.change(message.change, request)


def _set_workers(context: GenerationContext, message: SetWorkers, request: Request) -> None:
    context.tables.set_workers(message.workers, message.clock)
    request.reply(ReplyStatus.OK)


def _ask_work(context: GenerationContext, message: AskWork, request: Request) -> None:
    answer_steal_request(context.victim, message.request, request)


def _return_state(context: GenerationContext, message: ReturnState, request: Request) -> None:
    context.victim.return_state(message.clock, message.low, message.state)
    request.reply(ReplyStatus.OK)


def _dismiss(context: GenerationContext, message: Dismiss, request: Request) -> None:
    del message
    request.reply(ReplyStatus.OK)
    context.step_gate.end()


_HANDLERS: tuple[ControlHandler[Any], ...] = (
    ControlHandler(Ping, _ping),
    ControlHandler(LoadRows, _load_rows),
    ControlHandler(ReadState, _read_state),
    ControlHandler(Meet, _meet),
    ControlHandler(LearnOwners, _learn_owners),
    ControlHandler(MoveBlocks, GenerationContext.move),
    ControlHandler(BlockTransfer, _take_block),
    ControlHandler(Settle, _settle),
    ControlHandler(ReviewSpill, _review_spill),
    ControlHandler(Hold, _hold),
    ControlHandler(PrepareWork, GenerationContext.prepare),
    ControlHandler(PauseWork, _pause_work),
    ControlHandler(ChangeWork, _change_work),
    ControlHandler(SetWorkers, _set_workers),
    ControlHandler(Dismiss, _dismiss),
    ControlHandler(AskWork, _ask_work),
    ControlHandler(ReturnState, _return_state),
)

CONTROL_HANDLERS: Mapping[int, ControlHandler[Any]] = {
    handler.message.kind: handler for handler in _HANDLERS
}
