"""One executor process as seen from the controller."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from multiprocessing.connection import wait
from typing import Any

from motet.domain.errors import JobFailed
from motet.runtime.backends.local.executor_process import READY, NumberedAnswer, NumberedCall
from motet.runtime.backends.local.template_client import ExecutorProcess
from motet.runtime.controller.ports import ExecutorLost
from motet.runtime.core.application import Application
from motet.runtime.executor.pickling import pickled
from motet.runtime.executor.process_control import kill
from motet.runtime.wire.assignment import Assignment, RunOutcome
from motet.transport import Endpoint

_CALL_TIMEOUT_S = 60.0


class LocalExecutor:
    """`ExecutorHandle` over a process. A thread receives its answers and notices its death."""

    def __init__(self, number: int, process: ExecutorProcess) -> None:
        self.number = number
        self._process = process
        self._numbers = itertools.count(READY + 1)
        self._sending = threading.Lock()
        self._lock = threading.Lock()
        self._is_dead = False
        self._ready: Future[Any] = Future()
        self._unanswered: dict[int, Future[Any]] = {READY: self._ready}
        threading.Thread(target=self._receive, name=f"executor-{number}", daemon=True).start()

    @property
    def process_id(self) -> int:
        """The operating system's number of this executor's process."""
        return self._process.process_id

    def endpoint(self) -> Endpoint:
        """Where it listens. Raises JobFailed, ExecutorLost."""
        endpoint: Endpoint = self._result(self._ready)
        return endpoint

    def warm_up(self, app: Application) -> Future[None]:
        """Begin to compile the application's kernels."""
        return self._begin("warm_up", app)

    def configure(self, assignment: Assignment) -> None:
        """See ExecutorHandle."""
        self._call("configure", assignment)

    def run(self, on_end: Callable[[int, RunOutcome | None], None]) -> None:
        """See ExecutorHandle."""

        def ended(run: Future[RunOutcome]) -> None:
            on_end(self.number, None if run.exception() is not None else run.result())

        self._begin("run").add_done_callback(ended)

    def abort(self) -> None:
        """See ExecutorHandle."""
        self._call("abort")

    def kill(self) -> None:
        """See ExecutorHandle. Returns before the process has ended."""
        with self._lock:
            if not self._is_dead:
                kill(self._process.pidfd)

    def cpu_s(self) -> float | None:
        """See ExecutorHandle."""
        import psutil  # Short trainings end before anybody asks.

        try:
            times = psutil.Process(self.process_id).cpu_times()
        except psutil.Error:
            return None
        return float(times.user + times.system)

    def _call(self, method: str, *arguments: object) -> None:
        self._result(self._begin(method, *arguments))

    def _result(self, answer: Future[Any]) -> Any:
        try:
            return answer.result(_CALL_TIMEOUT_S)
        except TimeoutError as error:
            raise ExecutorLost(f"executor {self.number} did not answer in time") from error

    def _begin(self, method: str, *arguments: object) -> Future[Any]:
        """Send a call; its future raises JobFailed or ExecutorLost."""
        answer: Future[Any] = Future()
        call: NumberedCall = (next(self._numbers), method, pickled(arguments))
        with self._sending:
            if self._is_dead:
                answer.set_exception(self._lost())
                return answer
            self._unanswered[call[0]] = answer
            try:
                self._process.connection.send(call)
            except BlockingIOError:  # The process reads nothing: part of a call may be sent.
                self.kill()
            except OSError:  # The receiving thread notices it, too.
                pass
        return answer

    def _receive(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while self._process.connection in wait([self._process.connection, self._process.pidfd]):
                self._answered(self._process.connection.recv())
        with self._lock:
            self._is_dead = True
            kill(self._process.pidfd)
            os.close(self._process.pidfd)
        with self._sending:
            self._process.connection.close()
        while self._unanswered:
            _, answer = self._unanswered.popitem()
            answer.set_exception(self._lost())

    def _answered(self, answer: NumberedAnswer) -> None:
        number, is_success, value = answer
        future = self._unanswered.pop(number)
        if is_success:
            future.set_result(value)
        else:
            future.set_exception(JobFailed(f"executor {self.number}: {value}"))

    def _lost(self) -> ExecutorLost:
        return ExecutorLost(f"executor {self.number} has ended")
