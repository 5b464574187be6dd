"""Joint copies: every worker of a job receives the bytes of one of them. Pure.

Usually that is rank 0, which sends them without being asked. After its death, the first of the
others is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import TypeAlias

AnswerBytes: TypeAlias = "Callable[[bytes | Missing], None]"
"""Answers with the bytes, or says what is missing."""
CopyNumber: TypeAlias = "tuple[int, int]"


class Missing(Enum):
    """ELSEWHERE: the worker has to ask another Aggregator. SOURCE: it has to send its own bytes."""

    ELSEWHERE = 1
    SOURCE = 2


@dataclass(eq=False)
class _Open:
    """A joint copy that some workers have not asked for yet."""

    responds: dict[int, AnswerBytes] = field(default_factory=dict)
    payload: bytes | None = None


class Broadcasts:
    """The joint copies of a job. The last complete one is kept for workers that ask again."""

    def __init__(self) -> None:
        self.last_number: CopyNumber = (0, 0)
        self.last_payload = b""
        self._open: dict[CopyNumber, _Open] = {}

    def ask(
        self,
        rank: int,
        number: CopyNumber,
        payload: bytes | None,
        respond: AnswerBytes,
        ranks: Sequence[int],
    ) -> list[Callable[[], None]]:
        """A worker takes part; returns the calls that answer, once all `ranks` do."""
        if number == self.last_number:
            return [lambda: respond(self.last_payload)]
        found = self._open.setdefault(number, _Open())
        found.responds[rank] = respond
        if payload is not None:
            found.payload = payload
        return self._answers(number, ranks)

    def progress(self, ranks_in: Callable[[int], Sequence[int]]) -> list[Callable[[], None]]:
        """Other workers take part from now on; `ranks_in`: after so many steps."""
        return [
            call
            for number in list(self._open)
            for call in self._answers(number, ranks_in(number[0]))
        ]

    def _answers(self, number: CopyNumber, ranks: Sequence[int]) -> list[Callable[[], None]]:
        found = self._open[number]
        if not ranks or not found.responds.keys() >= set(ranks):
            return []
        if found.payload is None:
            return [partial(found.responds.pop(min(ranks)), Missing.SOURCE)]
        del self._open[number]
        self.keep(number, found.payload)
        return [partial(each, found.payload) for each in found.responds.values()]

    def keep(self, number: CopyNumber, payload: bytes) -> None:
        """A complete joint copy, which another Aggregator answered."""
        self.last_number, self.last_payload = number, payload

    def take_waiting(self) -> list[AnswerBytes]:
        """Forget what is not complete; returns how to answer those who wait."""
        responds = [each for one in self._open.values() for each in one.responds.values()]
        self._open.clear()
        return responds
