"""Shepherds of this machine: forked or adopted, instructed by signal, watched by pidfd."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import motet
from motet.live.launcher.rank_files import Control, RankFiles, ShepherdIdentity
from motet.live.process_table import boot_id, start_ticks

MOST_TRIES = 5
"""So many spawners may end over one request."""
_LONGEST_REPLY_BYTES = 64
# Without site packages it starts in a third of the time; its own package comes after the library's.
_START = """
import sys
sys.path.append(sys.argv[1])
from motet.live.spawner import run_spawner
run_spawner()
"""
_PACKAGES = Path(motet.__file__).parents[1]
_ROOM = " " * 1000
"""An argument that is as long as what `ps` shows of shepherds may become."""


@dataclass(frozen=True, slots=True)
class ShepherdProcess:
    """A living shepherd. `descriptor`: its pidfd, which becomes readable when it ends."""

    files: RankFiles
    descriptor: int

    def instruct(self, control: Control) -> None:
        """Hand over instructions and renew the lease."""
        self.files.write_control(control)
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.descriptor, signal.SIGUSR1)

    def close(self) -> None:
        """Release the pidfd."""
        os.close(self.descriptor)


@dataclass(slots=True)
class _Request:
    """`tries`: spawners that have ended over it."""

    files: RankFiles
    answer: asyncio.Future[int]
    tries: int = 0


class ShepherdSpawner:
    """Has shepherds forked by a spawner, which it starts for the first one (`motet.live.spawner`).

    After the spawner's death it starts the next one. One request is on its way at a time, so that
    this is the one to repeat. Used in one event loop, which it never blocks.
    """

    def __init__(self) -> None:
        self._requests = deque[_Request]()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def spawn(self, files: RankFiles) -> asyncio.Future[int]:
        """Start a shepherd for a folder that has a task; it ends at once if the folder has one.

        The result is its pidfd, or an OSError.
        """
        request = _Request(files, asyncio.get_running_loop().create_future())
        self._requests.append(request)
        if len(self._requests) == 1:
            self._ask()
        return request.answer

    def close(self) -> None:
        """End the spawner; the shepherds run on."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _ask(self) -> None:
        """Send the first request."""
        while self._requests:
            try:
                self._send(self._requests[0].files)
                break
            except OSError as error:
                self._requests.popleft().answer.set_exception(error)

    def _send(self, files: RankFiles) -> None:
        spawner = self._socket or self._start()
        with suppress(ConnectionError):  # It has ended, which `_read` will notice.
            request_shepherd(spawner, files)

    def _start(self) -> socket.socket:
        self._process, started = start_spawner()
        self._socket = started
        asyncio.get_running_loop().add_reader(started, self._read)
        return started

    def _read(self) -> None:
        """A reply, or the spawner's end."""
        assert self._socket is not None
        try:
            reply = read_reply(self._socket)
        except BlockingIOError:
            return
        except ConnectionError:
            self._ended()
        else:
            self._answered(*reply)
        self._ask()

    def _answered(self, number: int, descriptors: list[int]) -> None:
        """`number`: process id, or the negative one of an error."""
        answer = self._requests.popleft().answer
        if descriptors:
            answer.set_result(descriptors[0])
        elif number < 0:
            answer.set_exception(OSError(-number, os.strerror(-number)))
        else:
            answer.set_exception(OSError("too many open files to follow a shepherd"))

    def _ended(self) -> None:
        """A shepherd that it may have forked has claimed the folder: the next one ends at once."""
        assert self._process is not None
        status = self._process.wait()
        self.close()
        if self._requests:
            request = self._requests[0]
            request.tries += 1
            if request.tries == MOST_TRIES:
                how = f"code {status}" if status >= 0 else f"signal {-status}"
                told = f"{MOST_TRIES} processes that fork shepherds have ended, the last with {how}"
                self._requests.popleft().answer.set_exception(OSError(told))


def start_spawner() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A new spawner, and the launcher's end of its socket, which does not block.

    Its environment is empty: variables of the server are not for jobs.
    """
    mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mine.setblocking(False)
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, str(_PACKAGES), _ROOM],
            stdin=other.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if sys.stderr is None else None,
            env={},
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        mine.close()
        raise
    finally:
        other.close()
    return process, mine


def request_shepherd(spawner: socket.socket, files: RankFiles) -> None:
    """Send a request. Raises OSError, ConnectionError: the spawner has ended."""
    errors = _error_file(files)
    try:
        socket.send_fds(spawner, [os.fsencode(files.folder)], [errors])
    finally:
        os.close(errors)


def read_reply(spawner: socket.socket) -> tuple[int, list[int]]:
    """A shepherd's process id and pidfd; or the negative number of an error.

    Raises ConnectionError: the spawner has ended.
    """
    reply, descriptors, _, _ = socket.recv_fds(
        spawner, _LONGEST_REPLY_BYTES, 1, socket.MSG_CMSG_CLOEXEC
    )
    if not reply:
        raise ConnectionResetError
    return int(reply), descriptors


def attach_to_shepherd(files: RankFiles, identity: ShepherdIdentity) -> ShepherdProcess | None:
    """The living shepherd of a folder; None: it has ended."""
    if identity.boot != boot_id():
        return None
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return None
    if start_ticks(identity.pid) != identity.start_ticks:
        os.close(descriptor)
        return None
    return ShepherdProcess(files, descriptor)


def _error_file(files: RankFiles) -> int:
    """Receives errors of the shepherd itself; they have no other place to go."""
    return os.open(files.folder / "shepherd.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
