"""An idle worker's side of stealing: it asks late ones for instances and computes them.

It does so before it contributes its own part of the mini-batch. So the mini-batch cannot end
meanwhile, the values of its start are still there to be pulled, and what it computes for others
goes into its own contribution: only the instances' state has to travel back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import uuid4

from motet.domain.arrays import Array, Indices
from motet.runtime.client.partial_updates import PartialUpdate, rows_at
from motet.runtime.client.remote_model import RemoteModel
from motet.runtime.core.application import Application, Batch, Step
from motet.runtime.core.rows import Rows
from motet.runtime.core.subtask import Subtask, SubtaskKind, SubtaskLog, monotonic_us
from motet.runtime.stealing.late_detector import Suspicion
from motet.runtime.stealing.victim import Answer, Handout
from motet.runtime.wire.exchange import answer, answer_of, require_ok, submit
from motet.runtime.wire.peers import ExecutorPeers
from motet.runtime.wire.stealing_messages import (
    AskWork,
    OfferedRows,
    OfferedWork,
    Question,
    ReturnState,
)
from motet.transport import Call, Request

_MEMORY = 0.5
_FADING = 0.9


@dataclass
class Haul:
    """What a helper has computed in one mini-batch for others."""

    parts: list[PartialUpdate] = field(default_factory=list)
    instances: int = 0
    returns: list[Call] = field(default_factory=list)

    def finish(self) -> None:
        """Wait until all state is back where it belongs."""
        for call in self.returns:
            require_ok(call.wait())


@dataclass(frozen=True, eq=False)
class Pulled:
    """The values that a worker has at a mini-batch's start, and for which keys."""

    keys: Indices | None
    values: Array


@dataclass(frozen=True, eq=False)
class _Lot:
    """Instances from `low` on of somebody's part of a mini-batch; `has_more`: there were others."""

    owner: int
    low: int
    rows: Rows
    has_more: bool


class Helper:
    """One worker's."""

    def __init__(
        self,
        generation: int,
        executor: int,
        app: Application,
        peers: ExecutorPeers,
        model: RemoteModel,
    ) -> None:
        self._generation = generation
        self._executor = executor
        self._app = app
        self._peers = peers
        self._model = model
        self._suspicion = Suspicion(executor)
        self._calls: dict[int, Call] = {}
        self._session = uuid4().hex
        self._asked = 0
        self._all_in_us: dict[int, float] = {}

    def waited(self, wait_us: int, work_us: int) -> None:
        """How long this worker waited for the others, and worked before."""
        self._suspicion.waited(wait_us, work_us)

    def prepare(self, workers: Sequence[int], step: Step, own_us: float, instances: int) -> None:
        """Before this worker's own instances are computed: ask who is known to be late.

        The way from there takes no time then.
        """
        if own_us:
            self._calls = {
                owner: self._submit(owner, step, own_us, own_us * instances)
                for owner in self._suspicion.known_late(workers)
            }

    def help(
        self, workers: Sequence[int], pulled: Pulled, step: Step, own_us: float, log: SubtaskLog
    ) -> Haul:
        """Ask those who may be late for instances, one after another, until nobody has any.

        `own_us`: what an instance takes here.
        """
        haul = Haul()
        asked = self._suspicion.whom(workers)
        for owner in asked:
            is_late = self._help_one(owner, pulled, step, own_us, haul, log)
            self._suspicion.heard(owner, is_late)
        if asked:
            self._suspicion.asked_around()
        return haul

    def _help_one(
        self, owner: int, pulled: Pulled, step: Step, own_us: float, haul: Haul, log: SubtaskLog
    ) -> bool:
        """Until it has nothing to give; whether it was late. The next lot comes meanwhile."""
        began_us = monotonic_us()
        call = self._calls.pop(owner, None) or self._submit(owner, step, own_us, 0.0)
        told, lot = _answer_of(call, owner)
        if lot is None and owner in self._all_in_us:
            # Perhaps it was refused for what this took once: try again some day.
            self._all_in_us[owner] *= _FADING
        while lot is not None:
            more = None
            if lot.has_more:
                more = self._submit(owner, step, own_us, own_us * len(lot.rows))
            self._compute(lot, pulled, step, haul, log)
            self._note(owner, (monotonic_us() - began_us) / len(lot.rows))
            began_us = monotonic_us()
            lot = None if more is None else _answer_of(more, owner)[1]
        return told.is_late

    def _submit(self, owner: int, step: Step, own_us: float, ready_us: float) -> Call:
        self._asked += 1
        all_in_us = self._all_in_us.get(owner)
        question = Question(
            self._executor,
            self._session,
            self._asked,
            step.clock,
            own_us,
            all_in_us,
            ready_us,
        )
        return submit(self._peers.connection(owner), AskWork(self._generation, question))

    def _compute(self, lot: _Lot, pulled: Pulled, step: Step, haul: Haul, log: SubtaskLog) -> None:
        batch = self._app.make_batch(lot.rows)
        values = self._values(batch, pulled, step, log)
        start_us = monotonic_us()
        update = self._app.compute(batch, values, step)
        log.add(Subtask(SubtaskKind.COMP, step.clock, start_us, monotonic_us()))
        haul.parts.append(PartialUpdate(batch.keys, update))
        haul.instances += len(lot.rows)
        if self._app.state_columns:
            haul.returns.append(self._give_back(lot, step))

    def _values(self, batch: Batch, pulled: Pulled, step: Step, log: SubtaskLog) -> Array:
        """The model at these instances' keys: what is here already is not pulled again."""
        found = rows_at(pulled.values, pulled.keys, batch.keys)
        if found is not None:
            return found
        values, transfer = self._model.fetch(batch.keys, step)
        log.add(transfer.subtask(SubtaskKind.PULL, step.clock))
        return values

    def _give_back(self, lot: _Lot, step: Step) -> Call:
        state = lot.rows.select(self._app.state_columns)
        message = ReturnState(self._generation, step.clock, lot.low, state)
        return submit(self._peers.connection(lot.owner), message)

    def _note(self, owner: int, all_in_us: float) -> None:
        """What an instance of this one's took, asking and the way included."""
        before = self._all_in_us.get(owner, all_in_us)
        self._all_in_us[owner] = _MEMORY * before + (1 - _MEMORY) * all_in_us


def answer_question(handout: Handout, question: Question, request: Request) -> None:
    """Reply to ASK_WORK. Instances are sent without a copy: nobody changes them meanwhile."""
    handout.ask(question, partial(_reply, request))


def _reply(request: Request, found: Answer) -> None:
    grant = found.grant
    offer = None if grant is None else OfferedRows(grant.low, grant.rows, grant.has_more)
    answer(request, OfferedWork(found.is_late, offer))


def _answer_of(call: Call, owner: int) -> tuple[Answer, _Lot | None]:
    told = answer_of(call, OfferedWork)
    lot = None if told.offer is None else _lot(owner, told.offer)
    return Answer(told.is_late), lot


def _lot(owner: int, offer: OfferedRows) -> _Lot:
    return _Lot(owner, offer.low, offer.rows, offer.has_more)
