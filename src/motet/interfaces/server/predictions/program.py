"""The program that simulates for the server, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from motet.domain.errors import BadInput, ExitCode, MotetError, NotFound

LONGEST_S = 600.0
_COMMAND = (sys.executable, "-P", "-m", "motet.interfaces.forecasts")
_ERRORS: Mapping[int, type[MotetError]] = {
    ExitCode.BAD_INPUT: BadInput,
    ExitCode.NOT_FOUND: NotFound,
}


class ForecastProgram:
    """One process per question, one at a time: it reads the journal and simulates at low priority,
    so that neither the master nor the answers to others wait for it."""

    def __init__(self, journal: str) -> None:
        """`journal`: a database URL, or the path of a SQLite file."""
        self._journal = journal
        self._turn = asyncio.Semaphore(1)

    async def ask(self, kind: str, values: Mapping[str, Any]) -> bytes:
        """The answer, a JSON document. `values`: of the question of this kind.

        Raises BadInput, NotFound, MotetError.
        """
        question = {"kind": kind, "values": dict(values)}
        asked = {"journal": self._journal, "question": question, "parent": os.getpid()}
        async with self._turn:
            status, answer = await _run(json.dumps(asked).encode())
        if status:
            raise _ERRORS.get(status, MotetError)(_detail(status, answer))
        return answer


async def _run(asked: bytes) -> tuple[int, bytes]:
    """Exit status and output; the process ends with this task."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*_COMMAND, stdin=pipe, stdout=pipe)
    try:
        answer, _ = await asyncio.wait_for(process.communicate(asked), LONGEST_S)
        assert process.returncode is not None
        return process.returncode, answer
    except TimeoutError:
        raise MotetError(
            f"the simulation takes more than {LONGEST_S:.0f} s; give a later --since, or run it on "
            "a copy of the journal: motet whatif --journal FILE"
        ) from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _detail(status: int, answer: bytes) -> str:
    try:
        return str(json.loads(answer)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the simulation ended with status {status}; see the server's standard error"
