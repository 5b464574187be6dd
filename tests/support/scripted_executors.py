"""Executors that record what they are asked and answer at once, over real sockets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from motet.runtime.controller.ports import ExecutorLost
from motet.runtime.executor.control_handlers import CONTROL_HANDLERS
from motet.runtime.wire.assignment import Assignment, RunOutcome
from motet.runtime.wire.codec import decode
from motet.runtime.wire.control_messages import (
    BlocksMoved,
    ChangeWork,
    ControlRequest,
    Held,
    Hold,
    MoveBlocks,
    PrepareWork,
    WorkChanged,
    WorkPrepared,
)
from motet.runtime.wire.exchange import answer
from motet.runtime.wire.messages import RequestKind
from motet.transport import Endpoint, Request, Server

SECRET = b"s" * 32
Answers = Mapping[type, Callable[[Any], Any]]

ANSWERS: Answers = {
    PrepareWork: lambda message: WorkPrepared(0),
    Hold: lambda message: Held(0),
    ChangeWork: lambda message: WorkChanged(),
    MoveBlocks: lambda message: BlocksMoved(0, 0),
}


class ScriptedExecutor:
    """`asked`: control requests in the order of arrival, and "configure" for an assignment."""

    def __init__(self, number: int, answers: Answers | None = None) -> None:
        """`answers`: by type of request; requests without an entry are answered by OK alone."""
        self.number = number
        self.asked: list[ControlRequest | str] = []
        self.table_requests: list[RequestKind] = []
        self.assignments: list[Assignment] = []
        self.on_end: Callable[[int, RunOutcome | None], None] | None = None
        self.is_dead = False
        self._answers = {**ANSWERS, **(answers or {})}
        self._lock = threading.Lock()
        self._server = Server(self._handle, SECRET)

    def endpoint(self) -> Endpoint:
        return self._server.endpoint

    def configure(self, assignment: Assignment) -> None:
        self.asked.append("configure")
        self.assignments.append(assignment)

    def run(self, on_end: Callable[[int, RunOutcome | None], None]) -> None:
        self.on_end = on_end

    def abort(self) -> None:
        if self.is_dead:
            raise ExecutorLost(f"executor {self.number} is dead")

    def kill(self) -> None:
        self.is_dead = True
        self._server.close()

    def cpu_s(self) -> None:
        """It computes nothing."""

    def _handle(self, request: Request) -> None:
        handler = CONTROL_HANDLERS.get(request.kind)
        if handler is None:
            with self._lock:
                self.table_requests.append(RequestKind(request.kind))
            request.reply()
            return
        message = decode(handler.message, request.meta, request.payload)
        with self._lock:
            self.asked.append(message)
        made = self._answers.get(handler.message)
        if made is None:
            request.reply()
        else:
            answer(request, made(message))
