"""How much of the machine's speed the data plane keeps: pull and push beside a plain socket copy.

Everything is measured in one run and interleaved, because only ratios within one run are safe:
a raw two-process socket copy, Motet over TCP, Motet over shared memory, and a memory copy.

    python benchmarks/data_plane.py [--json FILE] [--rounds N]

Latencies are medians in microseconds. A ratio is Motet's speed over the reference's; the target is
the least ratio that is accepted.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import statistics
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from motet.transport import (
    Arena,
    Connection,
    Endpoint,
    Request,
    Server,
    new_secret,
    use_short_switch_interval,
)

KB, MB = 1 << 10, 1 << 20
SIZES = {"4 KB": 4 * KB, "64 KB": 64 * KB, "2 MB": 2 * MB, "64 MB": 64 * MB}
REPEATS = {4 * KB: 300, 64 * KB: 150, 2 * MB: 30, 64 * MB: 3}
LARGEST = max(SIZES.values())
WINDOW = 16
WINDOW_CALLS = 800
PULL, PUSH, ECHO = 1, 2, 3
_RAW_HEAD = struct.Struct("<II8x")
_LENGTH = struct.Struct("<I")

Array = NDArray[np.float32]


class Subject(Protocol):
    """Something that moves float32 values between this process and a server's."""

    def pull(self, size_bytes: int) -> None:
        """Copy the server's values here."""
        ...

    def push(self, size_bytes: int) -> None:
        """Copy values to the server, which adds them up (the raw server only receives them)."""
        ...

    def pull_window(self, size_bytes: int, count: int) -> None:
        """`count` pulls, 16 of them under way at any time."""
        ...


@dataclass(frozen=True)
class Figure:
    """One comparison."""

    operation: str
    size: str
    subject: str
    reference: str
    microseconds: float
    reference_microseconds: float
    target: float | None

    @property
    def ratio(self) -> float:
        """Speed over the reference's speed."""
        return self.reference_microseconds / self.microseconds

    @property
    def verdict(self) -> str:
        """ok, MISS, or nothing where no target is set."""
        if self.target is None:
            return ""
        return "ok" if self.ratio >= self.target else "MISS"


# -- the plain socket copy ---------------------------------------------------------------------


def receive_exactly(sock: socket.socket, view: memoryview) -> None:
    """Fill `view` from a socket, as simply as Python can."""
    received = 0
    while received < len(view):
        received += sock.recv_into(view[received:])


def serve_raw(pipe: Pipe) -> None:
    """A process that answers one client without any protocol to speak of."""
    listener = socket.create_server(("127.0.0.1", 0))
    pipe.send(listener.getsockname())
    sock, _ = listener.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = memoryview(np.ones(LARGEST // 4, np.float32)).cast("B")
    head = memoryview(bytearray(_RAW_HEAD.size))
    while sock.recv_into(head, 0, socket.MSG_WAITALL):
        operation, size_bytes = _RAW_HEAD.unpack(head)
        if operation != PULL:
            receive_exactly(sock, data[:size_bytes])
        sock.sendall(b"k" if operation == PUSH else data[:size_bytes])


class RawSocket:
    """The reference: sendall and recv_into between two processes."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._sock = socket.create_connection(address)
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._data = memoryview(np.ones(LARGEST // 4, np.float32)).cast("B")

    def pull(self, size_bytes: int) -> None:
        """See Subject."""
        self._sock.sendall(_RAW_HEAD.pack(PULL, size_bytes))
        receive_exactly(self._sock, self._data[:size_bytes])

    def push(self, size_bytes: int) -> None:
        """See Subject."""
        self._sock.sendall(_RAW_HEAD.pack(PUSH, size_bytes))
        self._sock.sendall(self._data[:size_bytes])
        self._sock.recv(1)

    def echo(self, size_bytes: int) -> None:
        """Send and receive the same number of bytes."""
        self._sock.sendall(_RAW_HEAD.pack(ECHO, size_bytes) + bytes(size_bytes))
        receive_exactly(self._sock, self._data[:size_bytes])

    def pull_window(self, size_bytes: int, count: int) -> None:
        """See Subject."""
        head = _RAW_HEAD.pack(PULL, size_bytes)
        view = self._data[:size_bytes]
        for _ in range(WINDOW):
            self._sock.sendall(head)
        for done in range(count):
            receive_exactly(self._sock, view)
            if done + WINDOW < count:
                self._sock.sendall(head)


# -- Motet's data plane ------------------------------------------------------------------------


def serve_motet(pipe: Pipe, secret: bytes) -> None:
    """A process that answers pulls from its values and adds pushes to them."""
    use_short_switch_interval()
    values = np.ones(LARGEST // 4, np.float32)

    def handle(request: Request) -> None:
        if request.kind == PULL:
            (size_bytes,) = _LENGTH.unpack(request.meta)
            request.reply(0, b"", [values[: size_bytes // 4]])
        else:
            delta = np.frombuffer(request.payload, np.float32)
            part = values[: len(delta)]
            np.add(part, delta, out=part)
            request.reply()

    with Server(handle, secret) as server:
        pipe.send(server.endpoint)
        pipe.recv()


class Motet:
    """The data plane between two processes. Pushed arrays are ordinary ones or the arena's."""

    def __init__(
        self, endpoint: Endpoint, secret: bytes, arena: Arena | None, *, push_from_arena: bool
    ) -> None:
        self._connection = Connection(
            endpoint, secret, arena=arena, shared_memory=arena is not None
        )
        count = LARGEST // 4
        self._target = np.empty(count, np.float32) if arena is None else arena.empty(count, "f4")
        self._source: Array = self._target if push_from_arena else np.empty(count, np.float32)
        self._target[:] = 0
        self._source[:] = 0

    def pull(self, size_bytes: int) -> None:
        """See Subject."""
        self._submit_pull(size_bytes).wait()

    def push(self, size_bytes: int) -> None:
        """See Subject. Divided like a table's pushes, so that copying and adding overlap."""
        source, step = self._source[: size_bytes // 4], 2 * MB // 4
        calls = [
            self._connection.submit(PUSH, b"", [source[start : start + step]])
            for start in range(0, len(source), step)
        ]
        for call in calls:
            call.wait()

    def pull_window(self, size_bytes: int, count: int) -> None:
        """See Subject."""
        calls = [self._submit_pull(size_bytes) for _ in range(WINDOW)]
        for done in range(count):
            calls[done % WINDOW].wait()
            if done + WINDOW < count:
                calls[done % WINDOW] = self._submit_pull(size_bytes)

    def _submit_pull(self, size_bytes: int) -> Any:
        return self._connection.submit(
            PULL, _LENGTH.pack(size_bytes), into=[self._target[: size_bytes // 4]]
        )


class Memory:
    """The limit within one host: one memory copy."""

    def __init__(self) -> None:
        self._source = np.ones(LARGEST // 4, np.float32)
        self._target = np.ones(LARGEST // 4, np.float32)

    def copy(self, size_bytes: int) -> None:
        """One copy."""
        np.copyto(self._target[: size_bytes // 4], self._source[: size_bytes // 4])


# -- measuring ---------------------------------------------------------------------------------

Action = Callable[[], None]


def median_us(action: Action, repeats: int) -> float:
    """Median duration of `repeats` calls."""
    durations = []
    for _ in range(repeats):
        begin_ns = time.perf_counter_ns()
        action()
        durations.append(time.perf_counter_ns() - begin_ns)
    return statistics.median(durations) / 1e3


def measure(actions: dict[str, tuple[Action, int]], rounds: int) -> dict[str, float]:
    """Median over interleaved rounds of every action's median duration in microseconds."""
    for action, _ in actions.values():
        median_us(action, 2)
    samples: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, (action, repeats) in actions.items():
            samples[name].append(median_us(action, repeats))
    return {name: statistics.median(values) for name, values in samples.items()}


def actions_for(size: str, subjects: dict[str, Any]) -> dict[str, tuple[Action, int]]:
    """What is measured at one size."""
    size_bytes = SIZES[size]
    repeats = REPEATS[size_bytes]
    actions: dict[str, tuple[Action, int]] = {}
    for name, subject in subjects.items():
        for operation in ("pull", "push", "copy", "echo"):
            method = getattr(subject, operation, None)
            if method is not None and (operation != "echo" or size_bytes == 4 * KB):
                actions[f"{name} {operation}"] = (lambda m=method: m(size_bytes), repeats)
    if size_bytes == 4 * KB:
        for name, subject in subjects.items():
            if hasattr(subject, "pull_window"):
                window = subject.pull_window
                actions[f"{name} window"] = (lambda w=window: w(size_bytes, WINDOW_CALLS), 3)
    return actions


TARGETS: dict[tuple[str, str, str], tuple[str, float]] = {
    ("tcp", "pull", "4 KB"): ("raw echo", 1 / 1.5),
    ("tcp", "window", "4 KB"): ("raw window", 0.5),
    ("tcp", "pull", "2 MB"): ("raw pull", 0.8),
    ("tcp", "pull", "64 MB"): ("raw pull", 0.8),
    ("tcp", "push", "64 MB"): ("raw push", 0.6),
    ("shared", "pull", "2 MB"): ("memory copy", 0.4),
    ("shared", "push", "2 MB"): ("memory copy", 0.4),
    ("shared", "pull", "64 MB"): ("memory copy", 0.4),
    ("shared", "push", "64 MB"): ("memory copy", 0.4),
}


def figures_of(size: str, measured: dict[str, float]) -> list[Figure]:
    """Motet's figures at one size beside their references."""
    figures = []
    for key, microseconds in measured.items():
        subject, operation = key.rsplit(" ", 1)
        if subject in ("raw", "memory"):
            continue
        default = (f"raw {operation}", None)
        reference, target = TARGETS.get((subject.split()[0], operation, size), default)
        figures.append(
            Figure(operation, size, subject, reference, microseconds, measured[reference], target)
        )
    return figures


def show(figure: Figure) -> None:
    """One line of the report."""
    target = "" if figure.target is None else f">= {figure.target:.2f}"
    print(
        f"{figure.size:>6} {figure.operation:<7} {figure.subject:<16} "
        f"{figure.microseconds:>10.1f} us  {figure.reference:<12} "
        f"{figure.reference_microseconds:>10.1f} us  ratio {figure.ratio:5.2f} "
        f"{target:<8} {figure.verdict}"
    )


def run(rounds: int, sizes: list[str]) -> list[Figure]:
    """Measure everything; prints as it goes."""
    context = multiprocessing.get_context("spawn")
    secret = new_secret()
    here_raw, there_raw = context.Pipe()
    here, there = context.Pipe()
    processes = [
        context.Process(target=serve_raw, args=(there_raw,), daemon=True),
        context.Process(target=serve_motet, args=(there, secret), daemon=True),
    ]
    for process in processes:
        process.start()
    endpoint = here.recv()
    arena = Arena()
    subjects = {
        "raw": RawSocket(here_raw.recv()),
        "tcp": Motet(endpoint, secret, None, push_from_arena=False),
        "shared": Motet(endpoint, secret, arena, push_from_arena=False),
        "shared (in place)": Motet(endpoint, secret, arena, push_from_arena=True),
        "memory": Memory(),
    }
    figures: list[Figure] = []
    for size in sizes:
        for figure in figures_of(size, measure(actions_for(size, subjects), rounds)):
            show(figure)
            figures.append(figure)
    for process in processes:
        process.terminate()
        process.join()
    return figures


def main() -> int:
    """Run, print, and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", nargs="*", default=list(SIZES), choices=list(SIZES))
    arguments = parser.parse_args()
    use_short_switch_interval()
    figures = run(arguments.rounds, arguments.sizes)
    if arguments.json:
        rows = [asdict(f) | {"ratio": f.ratio, "verdict": f.verdict} for f in figures]
        arguments.json.write_text(json.dumps({"figures": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
