"""Runs replays that users ask for, while the pages of the server go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from motet.domain.errors import MotetError
from motet.interfaces.server.predictions.program import WAITS_FOR_TURN, ForecastProgram
from motet.interfaces.server.what_if.replay_store import ReplayState, ReplayStore, WantedReplay

LARGEST_RESULT_BYTES = 1 << 20


class ReplayRuns:
    """Tasks of the server's event loop; the simulations are processes of the program."""

    def __init__(
        self, program: ForecastProgram, store: ReplayStore, on_change: Callable[[], None]
    ) -> None:
        """`on_change`: called when a replay has come further."""
        self._program, self._store, self._on_change = program, store, on_change
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._phases: dict[int, str] = {}

    async def start(self, user: str, wanted: WantedReplay) -> int:
        """The number of the replay, which runs from now on. Raises ReplayUnderWay."""
        number = await asyncio.to_thread(self._store.add, user, wanted, _now_us())
        self._phases[number] = WAITS_FOR_TURN
        self._tasks[number] = asyncio.create_task(self._run(number, wanted))
        return number

    def phase(self, number: int) -> str:
        """What a replay is doing; empty: it has ended."""
        return self._phases.get(number, "")

    async def stop(self, number: int) -> None:
        """End its process; one that has ended stays as it is."""
        await self._end(number, ReplayState.STOPPED)
        if task := self._tasks.get(number):
            task.cancel()

    async def _run(self, number: int, wanted: WantedReplay) -> None:
        values = {
            "policy": wanted.policy,
            "settings": dict(wanted.settings),
            "since_us": wanted.since_us,
            "until_us": _now_us(),
        }
        try:
            answer = await self._program.ask(
                "what_if_summary", values, lambda phase: self._tell(number, phase)
            )
            if len(answer) > LARGEST_RESULT_BYTES:
                raise MotetError(f"the result has more than {LARGEST_RESULT_BYTES} bytes")
            await self._end(number, ReplayState.DONE, result=answer.decode())
        except MotetError as error:
            await self._end(number, ReplayState.FAILED, str(error))
        finally:
            del self._tasks[number], self._phases[number]
            self._on_change()

    def _tell(self, number: int, phase: str) -> None:
        self._phases[number] = phase
        self._on_change()

    async def _end(
        self, number: int, state: ReplayState, message: str = "", result: str = ""
    ) -> None:
        await asyncio.to_thread(self._store.end, number, state, _now_us(), message, result)


def _now_us() -> int:
    return time.time_ns() // 1000
