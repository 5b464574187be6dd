"""Asks a template process for executors, and starts another one after it has ended."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

from motet.domain.errors import JobFailed
from motet.runtime.backends.local.template_messages import ExecutorStart
from motet.runtime.backends.local.template_process import TemplateProcess
from motet.runtime.controller.ports import LaunchGivenUp, never

_SEND_TIMEOUT = struct.pack("@ll", 60, 0)


class ExecutorProcess(NamedTuple):
    """A process that becomes an executor: its number, its pidfd, and the connection to it."""

    process_id: int
    pidfd: int
    connection: Connection


class TemplateClient:
    """One template process at a time. Thread-safe. Raises JobFailed if it cannot be started.

    Executors end with their template, so a job whose template was killed recovers from its
    checkpoint; the first executor that it then needs starts the next template.
    """

    def __init__(self, process: TemplateProcess | None = None) -> None:
        """Returns at once; the process imports in the background. `process`: begun before."""
        self._asking = threading.Lock()
        self._is_closed = False
        self._process = TemplateProcess() if process is None else process

    @property
    def process_id(self) -> int:
        """The operating system's number of the template process."""
        return self._process.process_id

    def preload(self, application: str) -> None:
        """Compile the kernels of "module:Class" once for all executors; returns at once."""
        with self._asking, contextlib.suppress(OSError):  # The next fork says what is wrong.
            self._process.preload(application)

    def fork(
        self, start: ExecutorStart, is_given_up: Callable[[], bool] = never
    ) -> ExecutorProcess:
        """Start the process of an executor.

        Raises JobFailed if that is impossible, LaunchGivenUp.
        """

        def keep_waiting() -> None:
            if is_given_up():
                raise LaunchGivenUp

        with self._asking:
            if self._is_closed:
                raise _template_ended()
            try:
                with contextlib.suppress(ConnectionError):
                    return self._forked(start, keep_waiting)
                self._replace_process()
                return self._forked(start, keep_waiting)
            except ConnectionError as error:
                raise _template_ended() from error
            except OSError as error:
                raise _no_executor(error.strerror) from error

    def close(self) -> None:
        """End the template and all its executors; returns once they have ended."""
        self._is_closed = True
        self._process.end()
        with self._asking:
            self._process.end()  # Another thread may have replaced it meanwhile.
            self._process.close()

    def _forked(self, start: ExecutorStart, keep_waiting: Callable[[], None]) -> ExecutorProcess:
        """One attempt, with a connection of its own.

        A template that was killed may have forked an executor, and this one may have written to its
        connection.
        """
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SEND_TIMEOUT)
            answer, descriptors = self._process.fork(start, theirs.fileno(), keep_waiting)
            if not descriptors:
                raise _no_executor(answer[1] or "too many open files")
            return ExecutorProcess(answer[0], descriptors[0], Connection(ours.detach()))

    def _replace_process(self) -> None:
        """Start another template, with the same applications. Raises JobFailed."""
        if self._is_closed:
            raise _template_ended()
        ended = self._process
        ended.end()
        ended.close()
        self._process = TemplateProcess(ended.preloaded)


def _no_executor(reason: str | None) -> JobFailed:
    return JobFailed(
        f"an executor could not be started ({reason}); use fewer machines, or raise the limits of "
        "this user (ulimit -n, ulimit -u)"
    )


def _template_ended() -> JobFailed:
    return JobFailed(
        "the process that starts executors has ended (killed, or out of memory); run again, with "
        "--resume if the run has checkpoints"
    )
