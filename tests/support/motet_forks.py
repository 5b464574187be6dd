"""Runs `motet` commands as forks of one process, which spares each of them the imports.

All processes of a test run have this one together.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor
from fcntl import LOCK_EX, flock
from pathlib import Path

import motet_template
from motet_template import LOCK, MAX_MESSAGE_BYTES, SOCKET, Command

# What a module reads when it is imported must not depend on the test that comes first.
_ENVIRONMENT = dict(os.environ)
_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid.uuid4().hex)
# Commands remove folders `motet-*` of commands that were killed.
TEMPLATE_FOLDER = Path(tempfile.gettempdir()) / f"forks-of-motet-{_RUN}"


class ForkedMotet:
    """A running command with the methods of `subprocess.Popen`; it leads a session of its own."""

    def __init__(
        self, arguments: tuple[str, ...], environment: dict[str, str], out: int, err: int
    ) -> None:
        """`out`, `err`: descriptors of its outputs; the caller closes them."""
        command = Command(arguments, os.getcwd(), environment)
        self._answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            descriptors = [theirs.fileno(), out, err]
            socket.send_fds(_template(), [pickle.dumps(command)], descriptors)
        self.pid = self._answer()
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, negative after a signal. Raises TimeoutError."""
        if self.returncode is None:
            self._answers.settimeout(timeout)
            self.returncode = self._answer()
            self._answers.close()
        return self.returncode

    def poll(self) -> int | None:
        """The exit code if it has ended."""
        with contextlib.suppress(BlockingIOError):
            self.wait(timeout=0)
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # It has ended since.
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def _answer(self) -> int:
        number: int = pickle.loads(self._answers.recv(MAX_MESSAGE_BYTES))
        return number


def fork_motet(
    arguments: tuple[str, ...], environment: dict[str, str], out: Path, err: Path
) -> ForkedMotet:
    """Start a command that appends to two files that exist."""
    with out.open("ab") as out_file, err.open("ab") as err_file:
        return ForkedMotet(arguments, environment, out_file.fileno(), err_file.fileno())


class PipedMotet(ForkedMotet):
    """A running command whose output is read meanwhile."""

    def __init__(self, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        try:
            super().__init__(arguments, environment, out_end, err_end)
        finally:
            os.close(out_end)
            os.close(err_end)
        self.stdout, self.stderr = os.fdopen(out), os.fdopen(err)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """The rest of both outputs, after its end. Raises TimeoutError."""
        with ThreadPoolExecutor(2) as pool:
            out, err = pool.submit(self.stdout.read), pool.submit(self.stderr.read)
            try:
                self.wait(timeout)
            except TimeoutError:
                self.kill()
                raise
        return out.result(), err.result()


@functools.cache
def _template() -> socket.socket:
    """A connection to the template of this test run, which ends with the last one."""
    TEMPLATE_FOLDER.mkdir(mode=0o700, exist_ok=True)
    with (TEMPLATE_FOLDER / LOCK).open("ab") as lock:
        flock(lock, LOCK_EX)
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            return _connected()
        (TEMPLATE_FOLDER / SOCKET).unlink(missing_ok=True)
        _start_template()
        return _connected()


def _connected() -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(str(TEMPLATE_FOLDER / SOCKET))
    return connection


def _start_template() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(TEMPLATE_FOLDER / SOCKET))
        listener.listen()
        subprocess.run(
            [sys.executable, motet_template.__file__, str(listener.fileno()), str(TEMPLATE_FOLDER)],
            env=_ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            start_new_session=True,
            check=True,
        )
