"""The program that simulates for the server, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from motet.domain.errors import BadInput, ExitCode, MotetError, NotFound, Unreachable

LONGEST_S = 600.0
WAITS_FOR_TURN = "waits for its turn: one simulation runs at a time"
_PHASE = "phase: "
"""How lines begin that come before the answer and tell what the program is doing."""
_COMMAND = (sys.executable, "-P", "-m", "motet.interfaces.forecasts")
_ERRORS: Mapping[int, type[MotetError]] = {
    ExitCode.BAD_INPUT: BadInput,
    ExitCode.NOT_FOUND: NotFound,
    ExitCode.UNREACHABLE: Unreachable,
}


class ForecastProgram:
    """One process per question: it reads the journal and simulates at low priority, so that neither
    the master nor the answers to others wait for it. Dry runs, for which users wait, are answered
    one at a time, and so are all others."""

    def __init__(self, journal: str) -> None:
        """`journal`: a database URL, or the path of a SQLite file."""
        self._journal = journal
        self._turn, self._turn_of_dry_runs = asyncio.Semaphore(1), asyncio.Semaphore(1)

    async def ask(
        self, kind: str, values: Mapping[str, Any], tell: Callable[[str], None] | None = None
    ) -> bytes:
        """The answer, a JSON document. `values`: of the question of this kind. `tell`: is called
        with what the program is doing.

        Raises BadInput, NotFound, Unreachable, MotetError.
        """
        question = {"kind": kind, "values": dict(values)}
        asked = {"journal": self._journal, "question": question, "parent": os.getpid()}
        turn = self._turn_of_dry_runs if kind == "dry_run" else self._turn
        if tell is not None and turn.locked():
            tell(WAITS_FOR_TURN)
        async with turn:
            if tell is not None:
                tell("the simulator starts")
            status, answer = await _run(json.dumps({**asked, "phase": _PHASE}).encode(), tell)
        if status:
            raise _ERRORS.get(status, MotetError)(_detail(status, answer))
        return answer


async def _run(asked: bytes, tell: Callable[[str], None] | None) -> tuple[int, bytes]:
    """Exit status and output; the process ends with this task."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *_COMMAND,
        stdin=pipe,
        stdout=pipe,
        start_new_session=True,  # Ctrl-C is for the server, which ends it.
    )
    try:
        async with asyncio.timeout(LONGEST_S):
            answer = await _answer(process, asked, tell)
            return await process.wait(), answer
    except TimeoutError:
        raise MotetError(
            f"the simulation takes more than {LONGEST_S:.0f} s; give a later --since, or run it on "
            "a copy of the journal: motet whatif --journal FILE"
        ) from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _answer(
    process: asyncio.subprocess.Process, asked: bytes, tell: Callable[[str], None] | None
) -> bytes:
    """What follows the lines that name phases."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):  # It has ended; its status tells why.
        process.stdin.write(asked)
        await process.stdin.drain()
    process.stdin.close()
    while (line := await process.stdout.readline()).startswith(_PHASE.encode()):
        if tell is not None:
            tell(line.decode().removeprefix(_PHASE).strip())
    return line + await process.stdout.read()


def _detail(status: int, answer: bytes) -> str:
    try:
        return str(json.loads(answer)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the simulation ended with status {status}; see the server's standard error"
