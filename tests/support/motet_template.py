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
    """What a fork becomes. `out`, `err`: the files that it writes."""

    arguments: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    out: Path
    err: Path


def serve(control: socket.socket) -> int:
    """Answer every command with its process id and then its exit code, until the other end closes.

    Returns in the template and, as the outcome of `motet`, in every fork.
    """
    while message := control.recv(MAX_MESSAGE_BYTES):
        command: Command = pickle.loads(message)
        child = os.fork()
        if child == 0:
            control.close()
            _become(command)
            from motet.interfaces.cli.main import main

            main()
        control.send(pickle.dumps(child))
        _, status = os.waitpid(child, 0)
        control.send(pickle.dumps(os.waitstatus_to_exitcode(status)))
    return 0


def _become(command: Command) -> None:
    os.setsid()
    os.chdir(command.folder)
    os.environ.clear()
    os.environ.update(command.environment)
    tempfile.tempdir = None
    sys.argv[:] = ["motet", *command.arguments]
    for path, number in ((command.out, 1), (command.err, 2)):
        file = os.open(path, os.O_WRONLY)
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
