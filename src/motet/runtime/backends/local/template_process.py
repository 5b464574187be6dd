"""Starts a template process, and exchanges messages with it.

This module imports neither NumPy nor the runtime: a command starts the template, which imports
both, before its own imports, so that the two processes import at the same time.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable

from motet.domain.errors import JobFailed
from motet.runtime.backends.local.template_messages import (
    MAX_MESSAGE_BYTES,
    ExecutorStart,
    TemplateAnswer,
    TemplateRequest,
)
from motet.runtime.blas_threads import ONE_BLAS_THREAD

_STDERR = 2
_END_TIMEOUT_MS = 5000
_LOOK_EVERY_MS = 100
# Python's collector would visit all imported objects again and again: a tenth of the imports' time.
_START = """
import gc, signal, sys
gc.disable()
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
control, parent, *sys.path = sys.argv[1:]
from motet.runtime.backends.local.template import run_template
run_template(int(control), int(parent))
"""


class TemplateProcess:
    """One process, which imports in the background. Raises JobFailed if it cannot be started.

    Not thread-safe, except for `end`.
    """

    def __init__(self, applications: Iterable[str] = ()) -> None:
        """`applications`: to preload, see `preload`."""
        self.preloaded: list[str] = []
        self._unread_answers = 0
        self._has_forked = False
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            try:
                mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                self._control = ours.enter_context(mine)
                theirs.enter_context(other)
                parent = os.pidfd_open(os.getpid())
                theirs.callback(os.close, parent)
                self._process = _started(other.fileno(), parent)
            except OSError as error:
                raise JobFailed(f"executors cannot be started ({error.strerror})") from error
            ours.pop_all()
        for application in applications:
            self.preload(application)

    @property
    def process_id(self) -> int:
        """The operating system's number of the process."""
        return self._process.pid

    def preload(self, application: str) -> None:
        """Compile the kernels of "module:Class" once for all executors; returns at once."""
        if application in self.preloaded:
            return
        self.preloaded.append(application)
        request: TemplateRequest = ("preload", application)
        with contextlib.suppress(ConnectionError):  # The next fork raises it.
            self._control.send(pickle.dumps(request))

    def fork(
        self, start: ExecutorStart, descriptor: int, keep_waiting: Callable[[], None]
    ) -> tuple[TemplateAnswer, list[int]]:
        """Ask for an executor with `descriptor` as its end of a connection: the answer, its pidfd.

        A template that compiles answers late; meanwhile `keep_waiting` is called. If that raises,
        the answer stays unread, and the executor that is not needed any more ends, since its
        connection is closed. Raises ConnectionError: the template has ended.
        """
        request: TemplateRequest = ("fork", start)
        self._has_forked = True
        socket.send_fds(self._control, [pickle.dumps(request)], [descriptor])
        self._unread_answers += 1
        while True:
            self._await_answer(keep_waiting)
            answer, descriptors = self._read_answer()
            if not self._unread_answers:
                return answer, descriptors
            for unwanted in descriptors:
                os.close(unwanted)

    def end(self) -> None:
        """End the process and all its executors.

        Returns once they have ended; if the template is stopped, the kernel ends them soon after.
        """
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        if self._has_forked:
            self._process.terminate()  # A template that compiles does not read its socket.
        else:
            self._process.kill()  # There is no executor to end, and its imports take a second.
        if not self._has_ended_within(_END_TIMEOUT_MS):
            self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the socket, which no thread may use any more."""
        self._control.close()

    def _has_ended_within(self, timeout_ms: int) -> bool:
        """`Popen.wait` with a timeout looks only every 50 ms."""
        if self._process.poll() is not None:
            return True
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except OSError:
            return False
        try:
            ended = select.poll()
            ended.register(descriptor, select.POLLIN)
            return bool(ended.poll(timeout_ms))
        finally:
            os.close(descriptor)

    def _await_answer(self, keep_waiting: Callable[[], None]) -> None:
        answers = select.poll()
        answers.register(self._control, select.POLLIN)
        while not answers.poll(_LOOK_EVERY_MS):
            keep_waiting()

    def _read_answer(self) -> tuple[TemplateAnswer, list[int]]:
        message, descriptors, _, _ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 1)
        if not message:
            raise ConnectionResetError
        self._unread_answers -= 1
        answer: TemplateAnswer = pickle.loads(message)
        return answer, descriptors


def _started(control: int, parent: int) -> subprocess.Popen[bytes]:
    output = _STDERR if _is_open(_STDERR) else subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _START, str(control), str(parent), *sys.path],
        env=os.environ | ONE_BLAS_THREAD,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=[control, parent],
    )


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
