"""The end of a line while it is in use: its port may be that of another lender by then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from motet.live.lent_memory import lender_line
from motet.live.lent_memory.lender_line import LenderLine
from motet.remote_memory.wire.memory_views import LenderView, LendingTerms
from motet.transport import Connection, Request, Server
from remote_memory_parts import SECRET, SLAB_BYTES

VIEW = LenderView("127.0.0.1:7400", SLAB_BYTES, 100, 50, 10, 0, 0, 0, 0, 0)
TERMS = LendingTerms({}, ("a",))


class Lender:
    """Answers. `told`: jobs."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []
        self.server = Server(self._handle, SECRET)

    def _handle(self, request: Request) -> None:
        self.told.append(LendingTerms.decode(request.meta).jobs)
        request.reply(0, VIEW.encode())


@pytest.fixture
def lender() -> Iterator[Lender]:
    found = Lender()
    yield found
    found.server.close()


def test_a_line_that_has_ended_tells_nothing(lender: Lender) -> None:
    line = LenderLine(lender.server.endpoint, SECRET)
    line.end()
    line.tell(TERMS)
    assert line.view is None
    assert lender.told == []


def test_a_line_that_ends_while_it_connects_tells_nothing(
    lender: Lender, monkeypatch: pytest.MonkeyPatch
) -> None:
    dials, has_ended = threading.Event(), threading.Event()

    def dial(*arguments: Any, **options: Any) -> Connection:
        dials.set()
        has_ended.wait()
        return Connection(*arguments, **options)

    monkeypatch.setattr(lender_line, "Connection", dial)
    line = LenderLine(lender.server.endpoint, SECRET)
    with ThreadPoolExecutor(1) as threads:
        telling = threads.submit(line.tell, TERMS)
        dials.wait()
        line.end()
        has_ended.set()
        telling.result()
    assert line.view is None
    assert lender.told == []
