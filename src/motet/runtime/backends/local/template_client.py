"""Starts the template process and asks it for executors."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from typing import NamedTuple

from motet.domain.errors import JobFailed
from motet.runtime.backends.local.template import MAX_MESSAGE_BYTES, Request

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_STDERR = 2
_END_TIMEOUT_S = 5.0
_START = """
import signal, sys
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
    """One template process. Thread-safe."""

    def __init__(self) -> None:
        """Returns at once; the process imports in the background."""
        self._asking = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-c", _START),
                    *(str(theirs.fileno()), str(os.getpid()), *sys.path),
                ],
                env=os.environ | _ONE_THREAD,
                stdin=subprocess.DEVNULL,
                stdout=_STDERR if _is_open(_STDERR) else subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    @property
    def process_id(self) -> int:
        """The operating system's number of the template process."""
        return self._process.pid

    def preload(self, application: str) -> None:
        """Compile the kernels of "module:Class" once for all executors; returns at once."""
        message: Request = ("preload", application)
        with self._asking, contextlib.suppress(OSError):  # The next fork says that it has ended.
            self._control.send(pickle.dumps(message))

    def fork(self, number: int, secret: bytes) -> ExecutorProcess:
        """Start the process of an executor. Raises JobFailed if the template has ended."""
        ours, theirs = socket.socketpair()
        with ours, theirs, self._asking:
            try:
                request: Request = ("fork", number, secret)
                socket.send_fds(self._control, [pickle.dumps(request)], [theirs.fileno()])
                answer, descriptors, _, _ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 1)
            except OSError as error:
                raise self._ended() from error
            if not descriptors:
                raise self._ended()
            return ExecutorProcess(int(answer), descriptors[0], Connection(ours.detach()))

    def close(self) -> None:
        """End the template and all its executors; returns once they have ended."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._process.terminate()  # For it may be compiling.
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:  # It is stopped; the kernel kills its executors.
            self._process.kill()
            self._process.wait()
        with self._asking:
            self._control.close()

    def _ended(self) -> JobFailed:
        return JobFailed(
            "the process that starts executors has ended; was it killed, or is memory short?"
        )


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
