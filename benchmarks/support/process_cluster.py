"""Executors as plain processes of this machine: a `Cluster` without Ray, for measurements."""

from __future__ import annotations

import contextlib
import multiprocessing
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any, Self

from motet.runtime.controller.ports import ExecutorHandle, ExecutorLost, LaunchRequest
from motet.runtime.core.application import Application
from motet.runtime.core.machine import Machine
from motet.runtime.executor.executor import Executor
from motet.runtime.wire.assignment import Assignment, RunOutcome
from motet.transport import Endpoint

_FORK = multiprocessing.get_context("fork")


class ProcessExecutor:
    """An executor in a process of its own, told what to do over two pipes."""

    def __init__(self, number: int, secret: bytes) -> None:
        self.number = number
        self._pipe, theirs = _FORK.Pipe()
        self._runs, their_runs = _FORK.Pipe()
        self._process = _FORK.Process(
            target=_serve, args=(number, secret, theirs, their_runs), daemon=True
        )
        self._process.start()
        theirs.close()
        their_runs.close()
        self._endpoint: Endpoint = self._pipe.recv()

    @property
    def pid(self) -> int:
        """The process's number."""
        assert self._process.pid is not None
        return self._process.pid

    def endpoint(self) -> Endpoint:
        """Where it listens."""
        return self._endpoint

    def configure(self, assignment: Assignment) -> None:
        """See `Executor.configure`."""
        self._call("configure", assignment)

    def warm_up(self, app: Application) -> None:
        """See `Executor.warm_up`."""
        self._call("warm_up", app)

    def run(self, on_end: Callable[[int, RunOutcome | None], None]) -> None:
        """See `Executor.run`."""

        def wait() -> None:
            try:
                self._runs.send("run")
                on_end(self.number, self._runs.recv())
            except (OSError, EOFError):
                on_end(self.number, None)

        threading.Thread(target=wait, daemon=True).start()

    def abort(self) -> None:
        """See `Executor.abort`."""
        self._call("abort")

    def kill(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()

    def _call(self, name: str, *arguments: Any) -> None:
        try:
            self._pipe.send((name, arguments))
            self._pipe.recv()
        except (OSError, EOFError) as error:
            raise ExecutorLost(f"executor {self.number} is gone") from error


class ProcessCluster:
    """As many logical machines as asked for."""

    def __init__(self, machine_count: int) -> None:
        self.machine_count = machine_count
        self.host = "127.0.0.1"
        self.executors: dict[int, ProcessExecutor] = {}
        self._machines = tuple(Machine(number, f"m{number}") for number in range(machine_count))

    def machines(self) -> tuple[Machine, ...]:
        """All machines; none of them ever leaves."""
        return self._machines

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        """Start one process per machine."""
        started = {number: ProcessExecutor(number, request.secret) for number in request.machines}
        for executor in started.values():
            executor.warm_up(request.app)
        self.executors |= started
        return dict(started)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for executor in self.executors.values():
            executor.kill()


def _serve(number: int, secret: bytes, pipe: Connection, runs: Connection) -> None:
    executor = Executor(number, secret)
    pipe.send(executor.endpoint)
    threading.Thread(target=_run_when_told, args=(executor, runs), daemon=True).start()
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            name, arguments = pipe.recv()
            getattr(executor, name)(*arguments)
            pipe.send("done")


def _run_when_told(executor: Executor, runs: Connection) -> None:
    with contextlib.suppress(EOFError):
        while True:
            runs.recv()
            runs.send(executor.run())
