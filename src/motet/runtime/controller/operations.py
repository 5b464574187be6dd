"""Operations on the executors of one generation, while they train.

Every operation makes the layout so: asked for again after it was cut off, it does what is left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from motet.domain.errors import BadInput, JobFailed
from motet.domain.reconfiguration import Add, Delete, Move, Operation, Role
from motet.runtime.controller.executor_group import Generation
from motet.runtime.controller.ports import ExecutorHandle, ExecutorLost
from motet.runtime.elastic.layout import Layout
from motet.runtime.elastic.plan_effects import require_another
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.messages import ReplyStatus, RequestKind, decode_json
from motet.transport import Call

Edit: TypeAlias = Callable[[Layout], Layout]

_HOLD_TIMEOUT_S = 60.0
# Links may be slow and mini-batches long; the loss of an executor ends these waits at once.
_CHANGE_TIMEOUT_S = 4 * 3600.0
_MOVE_TIMEOUT_S = 4 * 3600.0


class CannotLaunch(Exception):
    """An executor could not be started; nothing has changed."""


@dataclass(frozen=True)
class Cost:
    """What an operation took: bytes moved, and how long a worker stood still for it at most."""

    moved_bytes: int = 0
    stall_s: float = 0.0


class Operations:
    """Safe to use from several threads: operations that do not touch each other run at once."""

    def __init__(
        self,
        generation: Generation,
        layout: Layout,
        launch: Callable[[int], ExecutorHandle],
        retire: Callable[[ExecutorHandle], None],
    ) -> None:
        """`launch` starts an executor, `retire` ends its process."""
        self._generation = generation
        self._layout = layout
        self._launch = launch
        self._retire = retire
        self._lock = threading.Lock()
        self._working = threading.Lock()
        self._emptying = threading.Lock()
        self._edits: list[tuple[Edit, Future[Cost]]] = []
        self._change_number = 0

    @property
    def layout(self) -> Layout:
        """Who does what now."""
        return self._layout

    def carry_out(self, operation: Operation) -> Cost:
        """Do one operation; returns when it is done everywhere."""
        if isinstance(operation, Move):
            return self._move(operation)
        executor = operation.executor
        if isinstance(operation, Add):
            return self._take_on(executor, operation.role)
        if isinstance(operation, Delete):
            roles = self._layout.roles_of(executor)
            given_up = [role for role in roles if operation.role in (None, role)]
            return _total(self._give_up(executor, role) for role in given_up)
        taken = self._take_on(executor, operation.role)
        given_up = [r for r in self._layout.roles_of(executor) if r != operation.role]
        return _total([taken, *(self._give_up(executor, role) for role in given_up)])

    # -- roles -----------------------------------------------------------------------------------

    def _take_on(self, executor: int, role: Role) -> Cost:
        if executor not in self._generation.executors:
            self._start(executor)
        if executor in self._layout.holders(role):
            return Cost()
        if role == "worker":
            return self._change_work(lambda now: now.with_role(executor, "worker"))
        self._edit(lambda now: now.with_role(executor, "server"))
        return Cost()

    def _start(self, executor: int) -> None:
        try:
            handle = self._launch(executor)
        except (JobFailed, ExecutorLost) as error:
            raise CannotLaunch(f"executor {executor} did not start: {error}") from error
        try:
            self._generation.admit(handle, self._layout.model)
        except ExecutorLost as error:
            self._retire(handle)
            raise CannotLaunch(f"executor {executor} did not stay: {error}") from error
        # Blocks may have moved since it was told.
        self._generation.teach(self._layout.model)

    def _give_up(self, executor: int, role: Role) -> Cost:
        if role == "worker":
            cost = self._change_work(partial(_without_worker, executor))
        else:
            # One after another: nobody may hand blocks to a server that is leaving, too.
            with self._emptying:
                cost = self._empty_server(executor)
        if not self._layout.roles_of(executor):
            # Once everybody has begun another mini-batch, nobody asks by an older table.
            self._change_work(lambda now: now)
            self._retire(self._generation.dismiss(executor))
        return cost

    def _empty_server(self, executor: int) -> Cost:
        self._edit(partial(_without_server, executor))
        costs = []
        while blocks := self._layout.model.blocks_of(executor):
            target = self._layout.repaired().model
            calls = [
                self._start_move(
                    [block for block in blocks if target.owners[block] == destination],
                    executor,
                    destination,
                )
                for destination in np.unique(target.owners[blocks]).tolist()
            ]
            costs += [self._finish_move(*started) for started in calls]
        return _total(costs)

    # -- blocks ----------------------------------------------------------------------------------

    def _move(self, move: Move) -> Cost:
        owners = self._layout.owners(move.table).owners
        blocks = [block for block in move.blocks if int(owners[block]) == move.source]
        if not blocks:
            return Cost()
        if move.table == "model":
            return self._finish_move(*self._start_move(blocks, move.source, move.destination))
        return self._change_work(partial(_with_data_at, move.destination, blocks))

    def _start_move(self, blocks: list[int], source: int, destination: int) -> tuple[Call, int]:
        owners = self._edit(partial(_with_model_at, destination, blocks)).model
        fields = {"blocks": blocks, "destination": destination}
        call = self._generation.ask(source, RequestKind.MOVE_BLOCKS, fields, owners.encode())
        return call, destination

    def _finish_move(self, call: Call, destination: int) -> Cost:
        report = _answer(call, _MOVE_TIMEOUT_S)
        self._generation.teach(self._layout.model)
        _answer(self._generation.ask(destination, RequestKind.SETTLE, {}), _MOVE_TIMEOUT_S)
        return Cost(report["bytes"], report["us"] / 1e6)

    # -- work ------------------------------------------------------------------------------------

    def _change_work(self, edit: Edit) -> Cost:
        """Change workers and data, from the next mini-batch that nobody has begun.

        Changes that are asked for at the same time happen together; the bytes count for the first.
        """
        mine: Future[Cost] = Future()
        with self._lock:
            self._edits.append((edit, mine))
        with self._working:
            with self._lock:
                together, self._edits = self._edits, []
            if together:
                self._change_together(together)
        return mine.result()

    def _change_together(self, together: list[tuple[Edit, Future[Cost]]]) -> None:
        try:
            cost = self._change(together)
        except BaseException as error:
            for _, future in together:
                if not future.done():
                    future.set_exception(error)
        else:
            for _, future in together:
                if not future.done():
                    future.set_result(cost)
                    cost = replace(cost, moved_bytes=0)

    def _change(self, together: list[tuple[Edit, Future[Cost]]]) -> Cost:
        self._change_number += 1
        number, before = self._change_number, self._layout
        for edit, future in together:
            try:
                self._edit(edit)
            except BadInput as error:
                future.set_exception(error)
        after = self._layout
        everybody = sorted({*before.workers, *after.workers})
        moved_bytes = self._prepare(everybody, number, before, after)
        clock = self._hold(before.workers, number)
        self._generation.set_workers(after.workers, clock)
        self._generation.tell_workers(everybody, clock)
        fields = {"number": number, "clock": clock, "workers": after.workers}
        data = after.data.encode()
        calls = [
            self._generation.ask(one, RequestKind.CHANGE_WORK, fields, data) for one in everybody
        ]
        reports = [_answer(call, _CHANGE_TIMEOUT_S) for call in calls]
        self._generation.tell_workers(after.workers, clock)
        stall_s = max(float(report.get("stall_us", 0)) for report in reports) / 1e6
        return Cost(moved_bytes, stall_s)

    def _prepare(self, everybody: Iterable[int], number: int, before: Layout, after: Layout) -> int:
        """Have data blocks sent ahead to those who will own them; the bytes."""
        if before.data is after.data:
            return 0
        fields, data = {"number": number}, after.data.encode()
        calls = [
            self._generation.ask(one, RequestKind.PREPARE_WORK, fields, data) for one in everybody
        ]
        return sum(_answer(call, _MOVE_TIMEOUT_S)["bytes"] for call in calls)

    def _hold(self, workers: Iterable[int], number: int) -> int:
        """A mini-batch that no worker begins before it is told what changes there."""
        calls = [self._generation.ask(one, RequestKind.HOLD, {"number": number}) for one in workers]
        clocks: list[int] = [_answer(call, _HOLD_TIMEOUT_S) for call in calls]
        return max(clocks)

    def _edit(self, edit: Edit) -> Layout:
        with self._lock:
            self._layout = edit(self._layout)
            return self._layout


def _without_worker(executor: int, now: Layout) -> Layout:
    # A plan that a recovery cut off may find others gone that it counted on.
    require_another(now, executor, "worker")
    return now.without_role(executor, "worker")


def _without_server(executor: int, now: Layout) -> Layout:
    require_another(now, executor, "server")
    return now.retired(executor)


def _with_model_at(destination: int, blocks: list[int], now: Layout) -> Layout:
    if destination not in now.servers:
        raise BadInput(f"executor {destination} is no server any more")
    return now.moved("model", blocks, destination)


def _with_data_at(destination: int, blocks: list[int], now: Layout) -> Layout:
    if destination not in now.workers:
        raise BadInput(f"executor {destination} is no worker any more")
    return now.moved("data", blocks, destination)


def _answer(call: Call, timeout_s: float) -> Any:
    reply = call.wait(timeout_s)
    if reply.status != ReplyStatus.OK:
        raise StaleGeneration("the job was reset while it was reconfigured")
    return decode_json(reply.meta)


def _total(costs: Iterable[Cost]) -> Cost:
    listed = list(costs)
    stall_s = max((cost.stall_s for cost in listed), default=0.0)
    return Cost(sum(cost.moved_bytes for cost in listed), stall_s)
