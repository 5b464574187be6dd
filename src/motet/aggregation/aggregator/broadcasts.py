"""Joint copies: every worker of a job receives the bytes of rank 0. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

AnswerBytes: TypeAlias = "Callable[[bytes | None], None]"
"""Answers with the bytes; None: ask again elsewhere."""
CopyNumber: TypeAlias = "tuple[int, int]"


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
        """A worker takes part; returns the calls that answer, once all `ranks` do.

        `payload`: of the first of `ranks`.
        """
        if number == self.last_number:
            return [lambda: respond(self.last_payload)]
        found = self._open.setdefault(number, _Open())
        found.responds[rank] = respond
        if payload is not None:
            found.payload = payload
        if found.payload is None or not found.responds.keys() >= set(ranks):
            return []
        del self._open[number]
        data = found.payload
        self.keep(number, data)
        return [_call(each, data) for each in found.responds.values()]

    def keep(self, number: CopyNumber, payload: bytes) -> None:
        """A complete joint copy, which another Aggregator answered."""
        self.last_number, self.last_payload = number, payload

    def take_waiting(self) -> list[AnswerBytes]:
        """Forget what is not complete; returns how to answer those who wait."""
        responds = [each for one in self._open.values() for each in one.responds.values()]
        self._open.clear()
        return responds


def _call(respond: AnswerBytes, data: bytes) -> Callable[[], None]:
    return lambda: respond(data)
