"""A process that has imported Motet's modules; the `motet` commands of tests are forks of it.

It never runs a command itself, so a fork has nothing of another command.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import pickle
import pkgutil
import select
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import threading
import traceback
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import NoReturn

MAX_MESSAGE_BYTES = 1 << 18
LOCK, SOCKET = "lock", "socket"
"""Files in the folder of a template."""
# Ray reads the environment and starts threads when it is imported, PyTorch takes seconds; a testbed
# is set up by its own tests.
_LEFT_OUT = (
    "motet.runtime.backends.ray",
    "motet.interfaces.ray_launcher",
    "motet.testbed",
    "motet.torch",
    "motet.aggregation",
    "motet.interfaces.cli.__main__",
)
_LIBRARIES = ("matplotlib.backends.backend_agg", "matplotlib.pyplot", "pandas", "rich.progress")


@dataclass(frozen=True)
class Command:
    """What a fork becomes."""

    arguments: tuple[str, ...]
    folder: str
    environment: dict[str, str]


def serve(listener: socket.socket, folder: Path) -> int:
    """Start a fork for every command that comes with three descriptors: a socket for its process id
    and exit code, and its two outputs.

    Returns in the template, when the last connection has closed, and in no fork.
    """
    connections: set[socket.socket] = set()
    with selectors.DefaultSelector() as running:
        running.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in running.select():
                if key.fileobj is listener:
                    connections.add(_accept(listener, running))
                elif key.fileobj not in connections:
                    running.unregister(key.fd)
                    _tell_end(key.fd, *key.data)
                elif not _start_next(control := key.fileobj, running):
                    running.unregister(control)
                    connections.remove(control)
                    control.close()
            if not connections and _is_removed(listener, folder):
                return 0


def _accept(listener: socket.socket, running: selectors.BaseSelector) -> socket.socket:
    connection, _ = listener.accept()
    running.register(connection, selectors.EVENT_READ)
    return connection


def _is_removed(listener: socket.socket, folder: Path) -> bool:
    """Remove the address, unless somebody has connected to it meanwhile."""
    with (folder / LOCK).open("ab") as lock:
        flock(lock, LOCK_EX)
        if select.select([listener], [], [], 0)[0]:
            return False
        shutil.rmtree(folder)
        return True


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
        _run_and_exit()
    for output in outputs:
        os.close(output)
    answers.send(pickle.dumps(child))
    running.register(os.pidfd_open(child), selectors.EVENT_READ, (child, answers))
    return True


def _close_inherited(running: selectors.BaseSelector, answers: socket.socket) -> None:
    """A fork has nothing of the commands before it, nor of the connections to the tests."""
    for key in [*running.get_map().values()]:
        if isinstance(key.fileobj, socket.socket):
            key.fileobj.close()
        else:
            os.close(key.fd)
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


def _run_and_exit() -> NoReturn:
    """Run `motet` and end as Python does, but leave alone what all forks have in common: to destroy
    it would copy it."""
    from motet.interfaces.cli.main import main

    status = 1
    try:
        main()
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):  # As after `>&-`.
                stream.flush()
        os._exit(status)


def _import_all() -> None:
    import motet

    for module in pkgutil.walk_packages(motet.__path__, "motet."):
        if not module.name.startswith(_LEFT_OUT):
            with contextlib.suppress(ImportError):  # An extra that is not installed.
                importlib.import_module(module.name)
    for name in _LIBRARIES:
        importlib.import_module(name)
    for name in ("ray", "torch"):
        assert name not in sys.modules, f"a module outside of _LEFT_OUT imports {name}"
    from shared_kernels import compile_kernels_once

    compile_kernels_once()


def _load_kernels() -> None:
    """Those of most live clusters: Numba takes half a second to read them in a process."""
    from motet.interfaces.server.kernels.rehearsal import rehearse

    with tempfile.TemporaryDirectory() as folder:
        rehearse("fifo", {}, Path(folder))


if __name__ == "__main__":
    # A child of no process of the tests: each of them counts and kills executors below itself, and
    # those of commands belong to any of them.
    if os.fork():
        os._exit(0)
    _import_all()
    _load_kernels()
    gc.freeze()
    sys.exit(serve(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2])))
