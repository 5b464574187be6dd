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
import signal
import socket
import sys
import tempfile
from dataclasses import dataclass

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
    """What a fork becomes."""

    arguments: tuple[str, ...]
    folder: str
    environment: dict[str, str]


def serve(control: socket.socket) -> int:
    """Start a fork for every command that comes with three descriptors: a socket for its process id
    and exit code, and its two outputs.

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
    message, (*numbers,), _, _ = socket.recv_fds(control, MAX_MESSAGE_BYTES, 3)
    if not message:
        return False
    command: Command = pickle.loads(message)
    answers, *outputs = socket.socket(fileno=numbers[0]), *numbers[1:]
    child = os.fork()
    if child == 0:
        _close_inherited(running, answers)
        for output, number in zip(outputs, (1, 2), strict=True):
            os.dup2(output, number)
            os.close(output)
        _become(command)
        from motet.interfaces.cli.main import main

        main()
    for output in outputs:
        os.close(output)
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
    # A shell without job control starts background processes with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
