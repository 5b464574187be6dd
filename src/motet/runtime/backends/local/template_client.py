"""Starts the template process and asks it for executors."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

from motet.domain.errors import JobFailed
from motet.runtime.backends.local.template import MAX_MESSAGE_BYTES, Answer, Request
from motet.runtime.controller.ports import LaunchGivenUp, never

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_STDERR = 2
_END_TIMEOUT_S = 5.0
_LOOK_EVERY_MS = 100
_SEND_TIMEOUT = struct.pack("@ll", 60, 0)
_START = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
control, parent, *sys.path = sys.argv[1:]
from motet.runtime.backends.local.template import run_template
run_template(int(control), int(parent))
"""


class ExecutorProcess(NamedTuple):
    """A process that becomes an executor: its number, its pidfd, and the connection to it."""

    process_id: int
    pidfd: int
    connection: Connection


class TemplateClient:
    """One template process. Thread-safe. Raises JobFailed if it cannot be started."""

    def __init__(self) -> None:
        """Returns at once; the process imports in the background."""
        self._asking = threading.Lock()
        self._unread_answers = 0
        self._preloaded: set[str] = set()
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

    @property
    def process_id(self) -> int:
        """The operating system's number of the template process."""
        return self._process.pid

    def preload(self, application: str) -> None:
        """Compile the kernels of "module:Class" once for all executors; returns at once."""
        request: Request = ("preload", application)
        with self._asking, contextlib.suppress(OSError):  # The next fork says that it has ended.
            if application not in self._preloaded:
                self._preloaded.add(application)
                self._control.send(pickle.dumps(request))

    def fork(
        self, number: int, secret: bytes, is_given_up: Callable[[], bool] = never
    ) -> ExecutorProcess:
        """Start the process of an executor.

        Raises JobFailed if that is impossible or the template has ended, LaunchGivenUp.
        """
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise _no_executor(error.strerror) from error
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SEND_TIMEOUT)
        with ours, theirs, self._asking:
            process_id, pidfd = self._ask(("fork", number, secret), theirs.fileno(), is_given_up)
            return ExecutorProcess(process_id, pidfd, Connection(ours.detach()))

    def close(self) -> None:
        """End the template and all its executors.

        Returns once they have ended; if the template is stopped, the kernel ends them soon after.
        """
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._process.terminate()  # A template that compiles does not read its socket.
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._asking:
            self._control.close()

    def _ask(
        self, request: Request, descriptor: int, is_given_up: Callable[[], bool]
    ) -> tuple[int, int]:
        """The number and the pidfd of the process that the template has started."""
        try:
            socket.send_fds(self._control, [pickle.dumps(request)], [descriptor])
            self._unread_answers += 1
            while True:
                self._await_answer(is_given_up)
                answer, descriptors = self._read_answer()
                if not self._unread_answers:
                    break
                for unwanted in descriptors:
                    os.close(unwanted)
        except OSError as error:
            raise _template_ended() from error
        if not descriptors:
            raise _no_executor(answer[1] or "too many open files")
        return answer[0], descriptors[0]

    def _await_answer(self, is_given_up: Callable[[], bool]) -> None:
        """A template that compiles answers late. Raises LaunchGivenUp: the answer stays unread.

        The executor that is not needed any more ends, since its connection is closed.
        """
        answers = select.poll()
        answers.register(self._control, select.POLLIN)
        while not answers.poll(_LOOK_EVERY_MS):
            if is_given_up():
                raise LaunchGivenUp

    def _read_answer(self) -> tuple[Answer, list[int]]:
        message, descriptors, _, _ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 1)
        if not message:
            raise ConnectionResetError
        self._unread_answers -= 1
        answer: Answer = pickle.loads(message)
        return answer, descriptors


def _started(control: int, parent: int) -> subprocess.Popen[bytes]:
    output = _STDERR if _is_open(_STDERR) else subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _START, str(control), str(parent), *sys.path],
        env=os.environ | _ONE_THREAD,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=[control, parent],
    )


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


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
