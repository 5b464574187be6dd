"""An idle worker's side of stealing: it requests instances from late workers and computes them.

It does so before it pushes its own part of the mini-batch. So the mini-batch cannot end meanwhile,
the values of its start can still be pulled, and the deltas of stolen instances go into the thief's
own contribution: only the instances' state travels back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from motet.domain.arrays import Array, Indices
from motet.runtime.core.application import Application, Batch, Step
from motet.runtime.core.partial_updates import PartialUpdate, rows_at
from motet.runtime.core.subtask import monotonic_us
from motet.runtime.stealing.late_detector import LateDetector
from motet.runtime.stealing.messages import (
    PendingAnswer,
    StealMessenger,
    StolenPart,
    await_returns,
)
from motet.runtime.stealing.model_port import StealingModel
from motet.runtime.wire.stealing_messages import StealRequest
from motet.runtime.worker.batch_subtasks import BatchSubtasks
from motet.runtime.worker.checked_compute import computed_update
from motet.transport import Call

_MEMORY = 0.5
_FADING = 0.9


@dataclass
class StolenWork:
    """What a thief has computed in one mini-batch for others."""

    parts: list[PartialUpdate] = field(default_factory=list)
    returns: list[Call] = field(default_factory=list)

    def await_returns(self) -> None:
        """Wait until the victims have the state of their instances."""
        await_returns(self.returns)


@dataclass(frozen=True, eq=False)
class PulledValues:
    """The values that a worker has pulled at a mini-batch's start, by sorted keys (None: all)."""

    keys: Indices | None
    values: Array


class Thief:
    """One worker's thief; for the worker's thread."""

    def __init__(
        self, executor: int, app: Application, model: StealingModel, messenger: StealMessenger
    ) -> None:
        self._executor = executor
        self._app = app
        self._model = model
        self._messenger = messenger
        self._detector = LateDetector(executor)
        self._early: dict[int, PendingAnswer] = {}
        self._session = uuid4().hex
        self._request_count = 0
        self._all_in_us: dict[int, float] = {}

    def note_wait(self, wait_us: int, work_us: int) -> None:
        """The wait for the mini-batch to begin, and the work of the previous one."""
        self._detector.note_wait(wait_us, work_us)

    def request_early(
        self, workers: Sequence[int], step: Step, own_us: float, ready_us: float
    ) -> None:
        """Send requests to workers known to be late before the thief's own part is computed.

        So the transfer overlaps with computing. `own_us`: the thief's time per instance, 0 before
        the first measurement; `ready_us`: of its own part.
        """
        if own_us:
            self._early = {
                victim: self._request(victim, step, own_us, ready_us)
                for victim in self._detector.known_late(workers)
            }

    def steal(
        self,
        workers: Sequence[int],
        pulled: PulledValues,
        own_us: float,
        subtasks: BatchSubtasks,
    ) -> StolenWork:
        """Request and compute instances of one candidate after another until none has any left."""
        stolen = StolenWork()
        candidates = self._detector.candidates(workers)
        for victim in candidates:
            is_late = self._steal_from(victim, pulled, own_us, subtasks, stolen)
            self._detector.note_answer(victim, is_late)
        if candidates:
            self._detector.end_round()
        return stolen

    def _steal_from(
        self,
        victim: int,
        pulled: PulledValues,
        own_us: float,
        subtasks: BatchSubtasks,
        stolen: StolenWork,
    ) -> bool:
        """All that it gives away; whether it was late. The next part is requested ahead."""
        began_us, step = monotonic_us(), subtasks.step
        pending = self._early.pop(victim, None) or self._request(victim, step, own_us, 0.0)
        is_late, part = pending.wait()
        if part is None and victim in self._all_in_us:
            # The refusal may be due to one slow transfer: let the measurement fade.
            self._all_in_us[victim] *= _FADING
        while part is not None:
            ahead = None
            if part.has_more:
                ahead = self._request(victim, step, own_us, own_us * len(part.rows))
            self._compute(part, pulled, subtasks, stolen)
            self._measure(victim, (monotonic_us() - began_us) / len(part.rows))
            began_us = monotonic_us()
            part = None if ahead is None else ahead.wait()[1]
        return is_late

    def _request(self, victim: int, step: Step, own_us: float, ready_us: float) -> PendingAnswer:
        self._request_count += 1
        request = StealRequest(
            self._executor,
            self._session,
            self._request_count,
            step.clock,
            own_us,
            self._all_in_us.get(victim),
            ready_us,
        )
        return self._messenger.request(victim, request)

    def _compute(
        self, part: StolenPart, pulled: PulledValues, subtasks: BatchSubtasks, stolen: StolenWork
    ) -> None:
        batch, step = self._app.make_batch(part.rows), subtasks.step
        values = self._values(batch, pulled, subtasks)
        update, _ = subtasks.compute(
            lambda: computed_update(self._app, batch, values, step), len(part.rows)
        )
        subtasks.log.add_help(part.victim, step.clock, len(part.rows))
        stolen.parts.append(PartialUpdate(batch.keys, update))
        columns = self._app.state_columns
        if columns:
            stolen.returns.append(self._messenger.return_state(part, step.clock, columns))

    def _values(self, batch: Batch, pulled: PulledValues, subtasks: BatchSubtasks) -> Array:
        """The model at these instances' keys; pulled only if the thief does not have them all."""
        found = rows_at(pulled.values, pulled.keys, batch.keys)
        if found is not None:
            return found
        return subtasks.fetch(lambda: self._model.fetch(batch.keys, subtasks.step))[0]

    def _measure(self, victim: int, all_in_us: float) -> None:
        """Average the time per instance of this victim, request and transfer included."""
        before = self._all_in_us.get(victim, all_in_us)
        self._all_in_us[victim] = _MEMORY * before + (1 - _MEMORY) * all_in_us
