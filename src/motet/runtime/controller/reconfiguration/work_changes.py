"""Changes of the workers and of their data blocks, at one mini-batch for all workers.

controller                         every worker, old and new
 │ PrepareWork ──────────────────▶ sends copies of leaving blocks ahead, builds its new share
 │ Hold ─────────────────────────▶ answers with the first mini-batch h that it will not begin
 │   clock = the latest h
 │ SetWorkers (to servers)
 │ ChangeWork at clock ──────────▶ runs up to there, then takes its new share and place
 │ SetWorkers (without the workers that left)
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeAlias

from motet.domain.errors import BadInput
from motet.runtime.controller.generation.generation import Generation
from motet.runtime.controller.reconfiguration.cost import Cost
from motet.runtime.controller.reconfiguration.shared_layout import Edit, SharedLayout
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.wire.control_messages import (
    ChangeWork,
    Held,
    Hold,
    PauseWork,
    PrepareWork,
    WorkChanged,
    WorkPrepared,
)
from motet.runtime.wire.exchange import answer_of
from motet.runtime.wire.ownership import WorkChange

_HOLD_TIMEOUT_S = 60.0
# Links may be slow and mini-batches long; the loss of an executor ends these waits at once.
_CHANGE_TIMEOUT_S = 4 * 3600.0

_Requested: TypeAlias = tuple[Edit, "Future[Cost]"]


class WorkChanges:
    """May be used from several threads; changes requested at the same time happen together."""

    def __init__(self, generation: Generation, layout: SharedLayout) -> None:
        self._generation = generation
        self._layout = layout
        self._lock = threading.Lock()
        self._changing = threading.Lock()
        self._requested: list[_Requested] = []
        self._number = 0

    def change(self, edit: Edit) -> Cost:
        """Change workers and data, from the next mini-batch that no worker has begun.

        Of changes that happen together the bytes count for the first.
        """
        mine: Future[Cost] = Future()
        with self._lock:
            self._requested.append((edit, mine))
        with self._changing:
            with self._lock:
                together, self._requested = self._requested, []
            if together:
                self._change_together(together)
        return mine.result()

    def pause(self) -> None:
        """Have all workers stop at the next mini-batch that none of them has begun."""
        with self._changing:
            self._number += 1
            workers = self._layout.now.workers
            message = PauseWork(self._generation.number, self._number, self._hold(workers))
            calls = [self._generation.ask(one, message) for one in workers]
            for call in calls:
                call.wait(_HOLD_TIMEOUT_S)

    def _change_together(self, together: list[_Requested]) -> None:
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

    def _change(self, together: list[_Requested]) -> Cost:
        self._number += 1
        before = self._layout.now
        for edit, future in together:
            try:
                self._layout.edit(edit)
            except BadInput as error:
                future.set_exception(error)
        after = self._layout.now
        return self._carry_out(before, after)

    def _carry_out(self, before: JobLayout, after: JobLayout) -> Cost:
        workers = sorted({*before.workers, *after.workers})
        moved_bytes = 0 if before.data is after.data else self._prepare(workers, after)
        clock = self._hold(before.workers)
        self._generation.members.set_workers(after.workers, clock)
        self._generation.announce_workers(workers, clock)
        stall_s = self._switch(workers, WorkChange(self._number, clock, after.workers, after.data))
        self._generation.announce_workers(after.workers, clock)
        return Cost(moved_bytes, stall_s)

    def _prepare(self, workers: Iterable[int], after: JobLayout) -> int:
        """Have data blocks sent ahead to their new owners; the bytes."""
        message = PrepareWork(self._generation.number, self._number, after.data)
        calls = [self._generation.ask(one, message) for one in workers]
        return sum(answer_of(call, WorkPrepared, _CHANGE_TIMEOUT_S).sent_bytes for call in calls)

    def _hold(self, workers: Iterable[int]) -> int:
        """A mini-batch that no worker begins before the change is sent to it."""
        message = Hold(self._generation.number, self._number)
        calls = [self._generation.ask(one, message) for one in workers]
        return max(answer_of(call, Held, _HOLD_TIMEOUT_S).clock for call in calls)

    def _switch(self, workers: Iterable[int], change: WorkChange) -> float:
        """Have the change carried out; how long a worker stood still for it at most."""
        message = ChangeWork(self._generation.number, change)
        calls = [self._generation.ask(one, message) for one in workers]
        answers = [answer_of(call, WorkChanged, _CHANGE_TIMEOUT_S) for call in calls]
        return max(changed.stall_us for changed in answers) / 1e6
