"""Answers that take a while: lines of JSON tell what is being done, the last one has the result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from motet.domain.errors import BadInput, MotetError, NotFound, Unreachable

TOLD_LINES = "application/x-ndjson"
"""For clients that accept it: `{"phase": TEXT}` any number of times, then `{"answer": RESULT}` or
`{"status": CODE, "detail": TEXT}`."""
_STATUS: Mapping[type[MotetError], int] = {
    BadInput: 422,
    NotFound: 404,
    Unreachable: 503,
}

Asked: TypeAlias = Callable[[Callable[[str], None]], Awaitable[bytes]]
"""Gets the receiver of phases; its result is a JSON document."""


async def told_answer(ask: Asked) -> AsyncGenerator[bytes, None]:
    """The lines. The work ends when the client has closed the connection."""
    phases: asyncio.Queue[str | None] = asyncio.Queue()
    task = asyncio.ensure_future(ask(phases.put_nowait))
    task.add_done_callback(lambda _: phases.put_nowait(None))
    try:
        while (phase := await phases.get()) is not None:
            yield _line({"phase": phase})
        yield _line({"answer": json.loads(task.result())})
    except MotetError as error:
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
        yield _line({"status": status, "detail": str(error)})
    finally:
        task.cancel()


def _line(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document).encode() + b"\n"
