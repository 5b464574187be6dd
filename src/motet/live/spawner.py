"""Spawner: forks the shepherds of one launcher, so that a shepherd starts no interpreter.

It needs only the standard library, has one thread and imports what shepherds need before the first
fork; shepherds share that memory. Its standard input is a socket whose other end the launcher has:

- a request is the folder of a process, with a descriptor for the errors of its shepherd
- the reply is the shepherd's process id, with its pidfd; or the negative number of an error

It holds no state of jobs: it may be killed at any time, and the next one does what it has not done.
A folder for which it has forked a shepherd already is claimed by the first of the two. It ends when
the launcher does. Shepherds lead sessions of their own and outlive it.
"""

import ctypes
import errno
import gc
import os
import select
import signal
import socket
import sys
from contextlib import suppress

from motet.live.process_table import stat_fields
from motet.live.shepherd import SIGNALS, run_shepherd

NAME, SHEPHERD_NAME = "motet-spawner", "motet-shepherd"
LONGEST_REQUEST_BYTES = 8192
_SET_NAME = 15
_REQUESTS, _ERRORS = 0, 2
_ARGUMENTS_START, _ARGUMENTS_END = 45, 46


class Spawner:
    """Serves requests and collects shepherds that have ended."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._shown = _CommandLine()
        self._shown.show(NAME)
        self._wakened, self._wake = os.pipe()
        for each in (self._wakened, self._wake):
            os.set_blocking(each, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _do_nothing)

    def serve(self) -> None:
        """Return when the launcher has closed its end."""
        events = select.poll()
        events.register(self._requests, select.POLLIN)
        events.register(self._wakened, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in events.poll()}
            if self._wakened in ready:
                os.read(self._wakened, LONGEST_REQUEST_BYTES)
                _reap()
            if self._requests.fileno() in ready and not self._serve_request():
                return

    def _serve_request(self) -> bool:
        """Whether to go on."""
        try:
            folder, descriptors, _, _ = socket.recv_fds(
                self._requests, LONGEST_REQUEST_BYTES, 1, socket.MSG_CMSG_CLOEXEC
            )
            if not folder:
                return False
            self._reply(os.fsdecode(folder), descriptors)
        except ConnectionError:
            return False
        return True

    def _reply(self, folder: str, descriptors: list[int]) -> None:
        try:
            if not descriptors:  # This process cannot have more.
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            pid, pidfd = self._fork(folder, descriptors[0])
        except OSError as error:
            self._requests.send(b"%d" % -(error.errno or errno.EIO))
        else:
            try:
                socket.send_fds(self._requests, [b"%d" % pid], [pidfd])
            finally:
                os.close(pidfd)
        finally:
            for each in descriptors:
                os.close(each)

    def _fork(self, folder: str, errors: int) -> tuple[int, int]:
        """Process id and pidfd of a new shepherd."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            pid = os.fork()
            if not pid:
                self._become_shepherd(folder, errors)
            try:
                return pid, os.pidfd_open(pid)
            except OSError:  # Without a pidfd the launcher cannot follow it.
                os.kill(pid, signal.SIGKILL)
                raise
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def _become_shepherd(self, folder: str, errors: int) -> None:
        """Leave nothing of the spawner to the shepherd, run it, and exit."""
        code = 1
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(errors, _ERRORS)
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, _REQUESTS)
            for each in (errors, nothing, self._wakened, self._wake):
                os.close(each)
            self._shown.show(SHEPHERD_NAME, folder)
            run_shepherd(folder)
            code = 0
        except OSError as error:  # For example of a full disk, on which `errors` is no file.
            os.write(_ERRORS, f"{SHEPHERD_NAME} {folder}: {error}\n".encode())
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)


def _do_nothing(number: int, frame: object) -> None:
    """A handler must be there so that a byte is written to the wakeup descriptor."""


def _reap() -> None:
    """Collect all shepherds that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


class _CommandLine:
    """What `ps` shows: a fork has the command line of the spawner otherwise.

    The line replaces that in memory (proc(5)) and is cut off at its length.
    """

    def __init__(self) -> None:
        fields = stat_fields(str(os.getpid()))
        assert fields is not None
        self._start = int(fields[_ARGUMENTS_START])
        self._room = int(fields[_ARGUMENTS_END]) - self._start
        self._library = ctypes.CDLL(None)

    def show(self, name: str, *arguments: str) -> None:
        """From now on, of this process."""
        self._library.prctl(_SET_NAME, name.encode(), 0, 0, 0)
        line = b"\0".join(os.fsencode(word) for word in (name, *arguments))
        ctypes.memmove(self._start, line[: self._room - 1].ljust(self._room, b"\0"), self._room)


def run_spawner() -> None:
    """Serve the launcher that has the other end of standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    spawner = Spawner(socket.socket(fileno=_REQUESTS))
    gc.collect()
    gc.freeze()  # Shepherds would copy memory that their collector writes to.
    spawner.serve()
