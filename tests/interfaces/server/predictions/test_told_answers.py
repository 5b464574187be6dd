"""Lines of an answer that takes a while."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from motet.domain.errors import BadInput, MotetError, NotFound, Unreachable
from motet.interfaces.server.predictions.told_answers import Asked, told_answer


def lines_of(ask: Asked) -> list[dict[str, Any]]:
    async def collected() -> list[dict[str, Any]]:
        return [json.loads(line) async for line in told_answer(ask)]

    return asyncio.run(collected())


def test_what_is_being_done_comes_before_the_answer() -> None:
    async def ask(tell: Callable[[str], None]) -> bytes:
        tell("one")
        await asyncio.sleep(0)
        tell("two")
        return b'{\n "a": 1\n}'

    assert lines_of(ask) == [{"phase": "one"}, {"phase": "two"}, {"answer": {"a": 1}}]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BadInput("no"), 422),
        (NotFound("no"), 404),
        (Unreachable("no"), 503),
        (MotetError("no"), 500),
    ],
)
def test_an_error_is_the_last_line(error: MotetError, status: int) -> None:
    async def ask(tell: Callable[[str], None]) -> bytes:
        tell("one")
        raise error

    assert lines_of(ask) == [{"phase": "one"}, {"status": status, "detail": "no"}]


def test_nothing_goes_on_for_a_reader_who_has_left() -> None:
    ended = list[str]()

    async def ask(tell: Callable[[str], None]) -> bytes:
        tell("one")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")
        return b""

    async def leave() -> None:
        lines = told_answer(ask)
        await anext(aiter(lines))
        await lines.aclose()
        await asyncio.sleep(0)

    asyncio.run(leave())
    assert ended == ["ended"]
