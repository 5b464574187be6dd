"""Serves pMaster's requests to the launcher."""

from __future__ import annotations

import threading
from collections.abc import Callable

from motet.aggregation.master.processes.launcher_messages import (
    AggregatorLauncherRequest,
    LaunchedAggregator,
    MachineOfAggregator,
    NumberedAggregator,
    RunningAggregators,
)
from motet.aggregation.master.service.ports import AggregatorLauncher
from motet.domain.errors import MotetError
from motet.runtime.wire.codec import decode
from motet.runtime.wire.errors import BadMessage
from motet.runtime.wire.exchange import answer
from motet.transport import Request


class LauncherRequests:
    """A transport handler; each request runs on a thread of its own, since some wait."""

    def __init__(self, launcher: AggregatorLauncher) -> None:
        self._launcher = launcher
        self._handlers: dict[int, Callable[[Request, int], None]] = {
            AggregatorLauncherRequest.START: self._start,
            AggregatorLauncherRequest.STOP: self._stop,
            AggregatorLauncherRequest.KILL: self._kill,
            AggregatorLauncherRequest.AWAIT_END: self._await_end,
            AggregatorLauncherRequest.RUNNING: self._running,
            AggregatorLauncherRequest.MACHINE: self._machine,
        }

    def handle(self, request: Request) -> None:
        """Raises BadMessage."""
        if request.kind not in self._handlers:
            raise BadMessage(f"the launcher: request kind {request.kind} is unknown")
        number = decode(NumberedAggregator, request.meta).number
        threading.Thread(target=self._run, args=(request, number), daemon=True).start()

    def _run(self, request: Request, number: int) -> None:
        try:
            self._handlers[request.kind](request, number)
        except MotetError as error:
            request.fail(error)

    def _start(self, request: Request, number: int) -> None:
        answer(request, LaunchedAggregator(self._launcher.start(number)))

    def _stop(self, request: Request, number: int) -> None:
        self._launcher.stop(number)
        request.reply()

    def _kill(self, request: Request, number: int) -> None:
        self._launcher.kill(number)
        request.reply()

    def _await_end(self, request: Request, number: int) -> None:
        self._launcher.await_end(number)
        request.reply()

    def _machine(self, request: Request, number: int) -> None:
        answer(request, MachineOfAggregator(self._launcher.machine_of(number)))

    def _running(self, request: Request, number: int) -> None:
        del number
        answer(request, RunningAggregators(self._launcher.running()))
