"""The kinds of processes that `motet train` consists of, found below the command."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import psutil

Processes = Sequence[psutil.Process]


def _supervisor(command: psutil.Process) -> Processes:
    return command.children()


def _controller(command: psutil.Process) -> Processes:
    return [child for supervisor in _supervisor(command) for child in supervisor.children()]


def _named(name: str) -> Callable[[psutil.Process], Processes]:
    return lambda command: [each for each in _below(command) if _has_name(each, name)]


def _below(command: psutil.Process) -> Processes:
    return sorted(command.children(recursive=True), key=lambda each: each.pid)


def _has_name(process: psutil.Process, name: str) -> bool:
    try:
        return process.name() == name or name in " ".join(process.cmdline()[:1])
    except psutil.NoSuchProcess:
        return False


_executors = _named("motet-executor")
# Executors are forked in the order of their machines: workers are first, servers last.
LOCAL: dict[str, Callable[[psutil.Process], Processes]] = {
    "command": lambda command: [command],
    "supervisor": _supervisor,
    "controller": _controller,
    "template": _named("motet-template"),
    "worker": lambda command: _executors(command)[:1],
    "server": lambda command: _executors(command)[-1:],
}
RAY: dict[str, Callable[[psutil.Process], Processes]] = {
    "command": lambda command: [command],
    "supervisor": _supervisor,
    "controller": _controller,
    "gcs_server": _named("gcs_server"),
    "raylet": _named("raylet"),
    "executor": _named("ray::ExecutorActor"),
}


def processes_of(kind: str, command: int, *, with_ray: bool = False) -> Processes:
    """The living processes of a kind, below the command of this process id."""
    try:
        return (RAY if with_ray else LOCAL)[kind](psutil.Process(command))
    except psutil.NoSuchProcess:
        return []
