"""A process that has imported Motet's modules; the `motet` commands of tests are forks of it.

It never runs a command itself, so a fork has nothing of another command.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import pkgutil
import selectors
import socket
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

MAX_MESSAGE_BYTES = 1 << 18
# Ray reads the environment and starts threads when it is imported; a testbed is set up by its own
# tests.
_LEFT_OUT = (
    "motet.runtime.backends.ray",
    "motet.interfaces.ray_launcher",
    "motet.testbed",
    "motet.interfaces.cli.__main__",
)
_LIBRARIES = ("matplotlib.backends.backend_agg", "matplotlib.pyplot", "pandas", "rich.progress")


@dataclass(frozen=True)
class Command:
    """What a fork becomes. `out`, `err`: the files to which it appends."""

    arguments: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    out: Path
    err: Path


def serve(control: socket.socket) -> int:
    """Start a fork for every command that comes with a socket for its process id and exit code.

    Returns in the template when the other end closes and, as the outcome of `motet`, in no fork.
    """
    with selectors.DefaultSelector() as running:
        running.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in running.select():
                if key.data is not None:
                    running.unregister(key.fd)
                    _tell_end(key.fd, *key.data)
                elif not _start_next(control, running):
                    return 0


def _start_next(control: socket.socket, running: selectors.BaseSelector) -> bool:
    """Fork for the next command; whether there was one."""
    message, (*numbers,), _, _ = socket.recv_fds(control, MAX_MESSAGE_BYTES, 1)
    if not message:
        return False
    command: Command = pickle.loads(message)
    answers = socket.socket(fileno=numbers[0])
    child = os.fork()
    if child == 0:
        _close_inherited(running, answers)
        _become(command)
        from motet.interfaces.cli.main import main

        main()
    answers.send(pickle.dumps(child))
    running.register(os.pidfd_open(child), selectors.EVENT_READ, (child, answers))
    return True


def _close_inherited(running: selectors.BaseSelector, answers: socket.socket) -> None:
    """A fork has nothing of the commands before it, nor of the connection to the tests."""
    for key in [*running.get_map().values()]:
        os.close(key.fd)
        if key.data is not None:
            key.data[1].close()
    running.close()
    answers.close()


def _tell_end(pidfd: int, child: int, answers: socket.socket) -> None:
    os.close(pidfd)
    _, status = os.waitpid(child, 0)
    with answers, contextlib.suppress(BrokenPipeError):  # Nobody asks any more.
        answers.send(pickle.dumps(os.waitstatus_to_exitcode(status)))


def _become(command: Command) -> None:
    os.setsid()
    os.chdir(command.folder)
    os.environ.clear()
    os.environ.update(command.environment)
    tempfile.tempdir = None
    sys.argv[:] = ["motet", *command.arguments]
    for path, number in ((command.out, 1), (command.err, 2)):
        file = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)


def _import_all() -> None:
    import motet

    for module in pkgutil.walk_packages(motet.__path__, "motet."):
        if not module.name.startswith(_LEFT_OUT):
            with contextlib.suppress(ImportError):  # An extra that is not installed.
                importlib.import_module(module.name)
    for name in _LIBRARIES:
        importlib.import_module(name)
    assert "ray" not in sys.modules, "a module outside of _LEFT_OUT imports Ray"


if __name__ == "__main__":
    _import_all()
    gc.freeze()
    sys.exit(serve(socket.socket(fileno=int(sys.argv[1]))))
