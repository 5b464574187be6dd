"""The process of one executor: answers the controller's calls until the controller is gone."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from motet.runtime.backends.local.template_messages import ExecutorStart
from motet.runtime.executor.application_fault import one_line
from motet.runtime.executor.executor import Executor
from motet.runtime.executor.shared_machine import resources_beside_others

NumberedCall = tuple[int, str, bytes]
"""The number of a call, the name of a method, and its pickled arguments."""
NumberedAnswer = tuple[int, bool, Any]
"""The number of a call, whether it succeeded, and what it returned or one line on its failure."""
READY = 0
"""The number of the answer that an executor sends by itself: where it listens."""


def run_executor(descriptor: int, start: ExecutorStart) -> None:
    """Serve calls that arrive at a socket until its other end is closed; does not return."""
    connection = Connection(descriptor)
    try:
        resources = resources_beside_others(start.shared)
        executor = Executor(start.number, start.secret, start.host, resources)
    except Exception as error:
        connection.send((READY, False, one_line(error)))
        os._exit(1)
    try:
        _Calls(connection, executor).serve()
    except (EOFError, OSError):  # The controller has ended or has closed the connection.
        os._exit(0)


class _Calls:
    """Runs every call on a thread of its own: an abort ends a run."""

    def __init__(self, connection: Connection, executor: Executor) -> None:
        self._connection = connection
        self._executor = executor
        self._answering = threading.Lock()
        self._methods: dict[str, Callable[..., Any]] = {
            "warm_up": executor.warm_up,
            "configure": executor.configure,
            "run": executor.run,
            "abort": executor.abort,
        }

    def serve(self) -> None:
        """Raises EOFError, OSError."""
        self._answer((READY, True, self._executor.endpoint))
        while True:
            call: NumberedCall = self._connection.recv()
            threading.Thread(target=self._carry_out, args=call, name=call[1], daemon=True).start()

    def _carry_out(self, number: int, method: str, arguments: bytes) -> None:
        try:
            answer = (number, True, self._methods[method](*pickle.loads(arguments)))
        except BaseException as error:  # An application may call sys.exit.
            answer = (number, False, one_line(error))
        self._answer(answer)

    def _answer(self, answer: NumberedAnswer) -> None:
        with self._answering:
            self._connection.send(answer)
