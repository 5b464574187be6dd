"""Runs `motet` commands as forks of one process, which spares each of them the imports."""

from __future__ import annotations

import functools
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

import motet_template
from motet_template import MAX_MESSAGE_BYTES, Command

# What a module reads when it is imported must not depend on the test that comes first.
_ENVIRONMENT = dict(os.environ)


class ForkedMotet:
    """A running command; its process leads a session of its own."""

    def __init__(self, control: socket.socket, command: Command) -> None:
        self._control = control
        control.send(pickle.dumps(command))
        self.process_id: int = self._answer(None)

    def wait(self, timeout_s: float) -> int:
        """The exit code. Raises TimeoutError; the template is of no use after that."""
        try:
            return self._answer(timeout_s)
        except TimeoutError:
            self._control.close()
            _template.cache_clear()
            raise

    def _answer(self, timeout_s: float | None) -> int:
        self._control.settimeout(timeout_s)
        number: int = pickle.loads(self._control.recv(MAX_MESSAGE_BYTES))
        return number


def fork_motet(
    arguments: tuple[str, ...], environment: dict[str, str], out: Path, err: Path
) -> ForkedMotet:
    """Start a command that writes to two files that exist."""
    command = Command(arguments, os.getcwd(), environment, out, err)
    return ForkedMotet(_template(), command)


@functools.cache
def _template() -> socket.socket:
    """The connection to this process's template, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        subprocess.Popen(
            [sys.executable, motet_template.__file__, str(theirs.fileno())],
            env=_ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    return ours
