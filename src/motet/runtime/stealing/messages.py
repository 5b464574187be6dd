"""Both sides of the messages of stealing: a thief's requests, and a victim's answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from motet.runtime.core.rows import Rows
from motet.runtime.stealing.victim import StealAnswer, Victim
from motet.runtime.wire.exchange import answer, answer_of, require_ok, submit
from motet.runtime.wire.peers import ExecutorPeers
from motet.runtime.wire.stealing_messages import (
    AskWork,
    OfferedRows,
    OfferedWork,
    ReturnState,
    StealRequest,
)
from motet.transport import Call, Request


@dataclass(frozen=True, eq=False)
class StolenPart:
    """Instances from `low` on of the victim's part of a mini-batch; `has_more`: others are left."""

    victim: int
    low: int
    rows: Rows
    has_more: bool


@dataclass(frozen=True, eq=False)
class PendingAnswer:
    """A request for work that a victim has not yet answered."""

    victim: int
    call: Call

    def wait(self) -> tuple[bool, StolenPart | None]:
        """Whether the victim is late, and the instances that it gives away (None: none)."""
        found = answer_of(self.call, OfferedWork)
        offer = found.offer
        if offer is None:
            return found.is_late, None
        return found.is_late, StolenPart(self.victim, offer.low, offer.rows, offer.has_more)


class StealMessenger:
    """Sends a thief's messages to victims."""

    def __init__(self, generation: int, peers: ExecutorPeers) -> None:
        self._generation = generation
        self._peers = peers

    def request(self, victim: int, request: StealRequest) -> PendingAnswer:
        """Request work."""
        message = AskWork(self._generation, request)
        return PendingAnswer(victim, submit(self._peers.connection(victim), message))

    def return_state(self, part: StolenPart, clock: int, columns: Iterable[str]) -> Call:
        """Return the state columns of stolen instances."""
        state = part.rows.select(columns)
        message = ReturnState(self._generation, clock, part.low, state)
        return submit(self._peers.connection(part.victim), message)


def await_returns(calls: Iterable[Call]) -> None:
    """Wait until the victims have the state. Raises StaleGeneration when the job was reset."""
    for call in calls:
        require_ok(call.wait())


def answer_steal_request(victim: Victim, steal_request: StealRequest, request: Request) -> None:
    """Reply to ASK_WORK; instances are sent without a copy, as nothing changes them meanwhile."""
    victim.request(steal_request, partial(_reply, request))


def _reply(request: Request, found: StealAnswer) -> None:
    grant = found.stolen
    offer = None if grant is None else OfferedRows(grant.low, grant.rows, grant.has_more)
    answer(request, OfferedWork(found.is_late, offer))
