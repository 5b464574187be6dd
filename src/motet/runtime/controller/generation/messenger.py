"""Control requests to the executors of one generation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from motet.domain.errors import Unreachable
from motet.runtime.controller.generation.members import Members
from motet.runtime.wire.control_messages import ControlRequest
from motet.runtime.wire.exchange import answer_of, submit
from motet.runtime.wire.peers import ExecutorPeers
from motet.transport import Call

CONTROL_TIMEOUT_S = 60.0

A = TypeVar("A")


class _Sent(NamedTuple):
    """A request under way to an executor; `life`: see `Members`."""

    number: int
    life: int
    call: Call


class Messenger:
    """Sends requests; a dismissed executor need not answer."""

    def __init__(self, peers: ExecutorPeers, members: Members) -> None:
        self._peers = peers
        self._members = members

    def ask(self, number: int, message: ControlRequest) -> Call:
        """Send a request to one executor. Raises Unreachable."""
        return submit(self._peers.connection(number), message)

    def ask_all(self, message: ControlRequest) -> None:
        """Send a request to all executors and wait until they have answered."""
        self.ask_each(self._members.numbers, lambda number: self.ask(number, message))

    def answers_of_all(self, message: ControlRequest, expected: type[A]) -> list[A]:
        """The answers of all executors to a request; one that is being dismissed may give none."""
        found: list[A] = []
        for call in self._sent(self._members.numbers, lambda number: self.ask(number, message)):
            with self._unless_dismissed(call.number, call.life):
                found.append(answer_of(call.call, expected, CONTROL_TIMEOUT_S))
        return found

    def ask_each(self, executors: Iterable[int], ask: Callable[[int], Call]) -> None:
        """Send each of them something, then wait until all of them have answered."""
        for call in self._sent(executors, ask):
            with self._unless_dismissed(call.number, call.life):
                call.call.wait(CONTROL_TIMEOUT_S)

    def _sent(self, executors: Iterable[int], ask: Callable[[int], Call]) -> list[_Sent]:
        calls: list[_Sent] = []
        for number in executors:
            life = self._members.life_of(number)
            with self._unless_dismissed(number, life):
                calls.append(_Sent(number, life, ask(number)))
        return calls

    @contextlib.contextmanager
    def _unless_dismissed(self, number: int, life: int) -> Iterator[None]:
        try:
            yield
        except Unreachable:
            if not self._members.is_expected(number, life):
                raise
