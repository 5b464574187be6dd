"""Control requests to the executors of one generation."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator

from motet.domain.errors import Unreachable
from motet.runtime.controller.generation.members import Members
from motet.runtime.wire.control_messages import ControlRequest
from motet.runtime.wire.exchange import submit
from motet.runtime.wire.peers import ExecutorPeers
from motet.transport import Call

CONTROL_TIMEOUT_S = 60.0


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

    def ask_each(self, executors: Iterable[int], ask: Callable[[int], Call]) -> None:
        """Send each of them something, then wait until all of them have answered."""
        calls: list[tuple[int, int, Call]] = []
        for number in executors:
            life = self._members.life_of(number)
            with self._unless_dismissed(number, life):
                calls.append((number, life, ask(number)))
        for number, life, call in calls:
            with self._unless_dismissed(number, life):
                call.wait(CONTROL_TIMEOUT_S)

    @contextlib.contextmanager
    def _unless_dismissed(self, number: int, life: int) -> Iterator[None]:
        try:
            yield
        except Unreachable:
            if not self._members.is_expected(number, life):
                raise
