"""One executor of a gang as seen from the controller."""

from __future__ import annotations

import contextlib
import pickle
import threading
from collections.abc import Callable
from typing import Any

from motet.domain.errors import MotetError, Unreachable
from motet.runtime.backends.gang.messages import GangRequest
from motet.runtime.controller.ports import ExecutorLost
from motet.runtime.core.application import Application
from motet.runtime.executor.pickling import pickled
from motet.runtime.wire.assignment import Assignment, RunOutcome
from motet.transport import Call, Connection, Endpoint

_CALL_TIMEOUT_S = 60.0


class GangExecutor:
    """`ExecutorHandle` over the process of a member."""

    def __init__(
        self, number: int, endpoint: Endpoint, secret: bytes, dismiss: Callable[[], None]
    ) -> None:
        """`endpoint`: of the process. `dismiss` makes it end. Raises ExecutorLost.

        The connection is not made anew: a request must not arrive twice.
        """
        self.number = number
        self._dismiss = dismiss
        self._endpoint: Endpoint | None = None
        try:
            self._process = Connection(endpoint, secret, retry_for_s=0.0)
        except Unreachable as error:
            raise ExecutorLost(f"executor {number} has ended: {error}") from error

    def start(self, secret: bytes, app: Application) -> Call:
        """Begin to listen on the data plane and to compile; `started` takes the call."""
        return self._submit(GangRequest.START, secret, app)

    def started(self, call: Call, timeout_s: float) -> None:
        """Wait for the start. Raises TimeoutError, JobFailed or ExecutorLost."""
        self._endpoint = self._result(call, timeout_s)

    def endpoint(self) -> Endpoint:
        """Where it listens."""
        assert self._endpoint is not None, f"executor {self.number} was not started"
        return self._endpoint

    def configure(self, assignment: Assignment) -> None:
        """See ExecutorHandle."""
        self._call(GangRequest.CONFIGURE, assignment)

    def run(self, on_end: Callable[[int, RunOutcome | None], None]) -> None:
        """See ExecutorHandle."""
        call = self._submit(GangRequest.RUN)

        def wait() -> None:
            outcome: RunOutcome | None = None
            with contextlib.suppress(MotetError, ExecutorLost):
                outcome = self._result(call, None)
            on_end(self.number, outcome)

        threading.Thread(target=wait, name=f"executor-{self.number}", daemon=True).start()

    def abort(self) -> None:
        """See ExecutorHandle."""
        self._call(GangRequest.ABORT)

    def kill(self) -> None:
        """See ExecutorHandle. Returns before the process has ended."""
        self._dismiss()
        self._process.close()

    def cpu_s(self) -> None:
        """The process may be on another machine: not known here."""

    def _call(self, kind: GangRequest, *arguments: object) -> None:
        try:
            self._result(self._submit(kind, *arguments), _CALL_TIMEOUT_S)
        except TimeoutError as error:
            raise ExecutorLost(f"executor {self.number} did not answer in time") from error

    def _submit(self, kind: GangRequest, *arguments: object) -> Call:
        try:
            return self._process.submit(kind, buffers=[pickled(arguments)])
        except Unreachable as error:
            raise ExecutorLost(f"executor {self.number} has ended: {error}") from error

    def _result(self, call: Call, timeout_s: float | None) -> Any:
        """Raises JobFailed, ExecutorLost or TimeoutError."""
        try:
            return pickle.loads(call.wait(timeout_s).payload)
        except Unreachable as error:
            raise ExecutorLost(f"executor {self.number} has ended: {error}") from error
