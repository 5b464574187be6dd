"""The data plane alone, without tables: pull and push against a plain socket copy, in one run.

Interleaves a raw two-process socket copy, Motet over TCP, Motet over shared memory, and a memory
copy. Figures are medians; compare only ratios within one run. `parameter_server.py`
measures the same through the whole stack.
"""

from __future__ import annotations

import multiprocessing
import socket
import statistics
import struct
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection as Pipe
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.transport import (
    Arena,
    Call,
    Connection,
    Endpoint,
    Request,
    Server,
    new_secret,
    use_short_switch_interval,
)
from support.figures import Figure, parser, report

KB, MB = 1 << 10, 1 << 20
SIZES = {"4 KB": 4 * KB, "64 KB": 64 * KB, "2 MB": 2 * MB, "64 MB": 64 * MB}
REPEATS = {4 * KB: 300, 64 * KB: 150, 2 * MB: 30, 64 * MB: 3}
LARGEST = max(SIZES.values())
PUSH_CHUNK = 2 * MB // 4
WINDOW = 16
WINDOW_CALLS = 400
PULL, PUSH, ECHO = 1, 2, 3
_RAW_HEAD = struct.Struct("<II8x")
_LENGTH = struct.Struct("<I")

Action = Callable[[], None]

# -- the plain socket copy ---------------------------------------------------------------------


def receive_exactly(sock: socket.socket, view: memoryview) -> None:
    """Fill `view` from a socket, as simply as Python can."""
    received = 0
    while received < len(view):
        received += sock.recv_into(view[received:])


def serve_raw(pipe: Pipe) -> None:
    """A process that answers one client with a minimal protocol."""
    listener = socket.create_server(("127.0.0.1", 0))
    pipe.send(listener.getsockname())
    sock, _ = listener.accept()
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = np.ones(LARGEST, np.uint8).data
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
        self._data = np.ones(LARGEST, np.uint8).data

    def pull(self, size_bytes: int) -> None:
        """Receive values."""
        self._sock.sendall(_RAW_HEAD.pack(PULL, size_bytes))
        receive_exactly(self._sock, self._data[:size_bytes])

    def push(self, size_bytes: int) -> None:
        """Send values and wait for a byte."""
        self._sock.sendall(_RAW_HEAD.pack(PUSH, size_bytes))
        self._sock.sendall(self._data[:size_bytes])
        self._sock.recv(1)

    def echo(self, size_bytes: int) -> None:
        """Send and receive the same number of bytes."""
        self._sock.sendall(_RAW_HEAD.pack(ECHO, size_bytes) + bytes(size_bytes))
        receive_exactly(self._sock, self._data[:size_bytes])

    def window(self, size_bytes: int) -> None:
        """Pulls, 16 of them in flight at any time."""
        head = _RAW_HEAD.pack(PULL, size_bytes)
        view = self._data[:size_bytes]
        for _ in range(WINDOW):
            self._sock.sendall(head)
        for done in range(WINDOW_CALLS):
            receive_exactly(self._sock, view)
            if done + WINDOW < WINDOW_CALLS:
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
    """The data plane between two processes. Arrays are the arena's, or ordinary ones (staged)."""

    def __init__(
        self, endpoint: Endpoint, secret: bytes, arena: Arena | None, *, in_place: bool
    ) -> None:
        self._connection = Connection(
            endpoint, secret, arena=arena, shared_memory=arena is not None
        )
        count = LARGEST // 4
        self._target: Array = np.empty(count, "f4")
        if arena is not None and in_place:
            self._target = arena.empty(count, "f4")
        self._source = self._target
        self._source[:] = 0

    def pull(self, size_bytes: int) -> None:
        """Receive values."""
        self._submit_pull(size_bytes).wait()

    def push(self, size_bytes: int) -> None:
        """Send values, divided like a table's, so that copying and adding overlap."""
        source, step = self._source[: size_bytes // 4], PUSH_CHUNK
        calls = [
            self._connection.submit(PUSH, b"", [source[start : start + step]])
            for start in range(0, len(source), step)
        ]
        for call in calls:
            call.wait()

    def window(self, size_bytes: int) -> None:
        """Pulls, 16 of them in flight at any time."""
        calls = [self._submit_pull(size_bytes) for _ in range(WINDOW)]
        for done in range(WINDOW_CALLS):
            calls[done % WINDOW].wait()
            if done + WINDOW < WINDOW_CALLS:
                calls[done % WINDOW] = self._submit_pull(size_bytes)

    def _submit_pull(self, size_bytes: int) -> Call:
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

# (operation, size): Motet over TCP against the plain socket, then over shared memory against a
# memory copy. The whole stack's targets are these with room for the table on top.
TCP_TARGETS = {
    ("pull", "4 KB"): ("raw echo", 1 / 1.5),
    ("window", "4 KB"): ("raw window", 0.5),
    ("pull", "2 MB"): ("raw pull", 0.8),
    ("pull", "64 MB"): ("raw pull", 0.8),
    ("push", "64 MB"): ("raw push", 0.6),
}
SHARED_TARGETS = {
    (operation, size): ("memory copy", 0.4)
    for operation in ("pull", "push")
    for size in ("2 MB", "64 MB")
}


def median_us(action: Action, repeats: int) -> float:
    """Median duration of `repeats` calls."""
    durations_ns = []
    for _ in range(repeats):
        begin_ns = time.perf_counter_ns()
        action()
        durations_ns.append(time.perf_counter_ns() - begin_ns)
    return statistics.median(durations_ns) / 1e3


def measure(actions: dict[str, tuple[Action, int]], rounds: int) -> dict[str, float]:
    """Median over interleaved rounds of every action's median duration in microseconds."""
    for action, _ in actions.values():
        median_us(action, 2)
    samples_us: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, (action, repeats) in actions.items():
            samples_us[name].append(median_us(action, repeats))
    return {name: statistics.median(values) for name, values in samples_us.items()}


def actions_for(size: str, systems: dict[str, Any]) -> dict[str, tuple[Action, int]]:
    """What is measured at one size."""
    size_bytes = SIZES[size]
    operations = ["pull", "push", "copy"] + (["echo", "window"] if size == "4 KB" else [])
    return {
        f"{name} {operation}": (
            partial(getattr(system, operation), size_bytes),
            3 if operation == "window" else REPEATS[size_bytes],
        )
        for name, system in systems.items()
        for operation in operations
        if hasattr(system, operation)
    }


def figures_of(size: str, measured_us: dict[str, float]) -> list[Figure]:
    """Motet's figures at one size against their references."""
    figures = []
    for key, own_us in measured_us.items():
        system, operation = key.rsplit(" ", 1)
        if system in ("raw", "memory"):
            continue
        targets = TCP_TARGETS if system == "TCP" else SHARED_TARGETS
        peer, target = targets.get((operation, size), (f"raw {operation}", None))
        figures.append(
            Figure(
                name=f"{system} {operation} {size}",
                measured=f"{own_us:.1f} us",
                peer=f"{measured_us[peer]:.1f} {peer}",
                ratio=measured_us[peer] / own_us,
                target=target,
            )
        )
    return figures


def run(rounds: int) -> list[Figure]:
    """Measure everything."""
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
    endpoint, arena = here.recv(), Arena()
    systems = {
        "raw": RawSocket(here_raw.recv()),
        "TCP": Motet(endpoint, secret, None, in_place=False),
        "shared": Motet(endpoint, secret, arena, in_place=True),
        "shared, staged": Motet(endpoint, secret, arena, in_place=False),
        "memory": Memory(),
    }
    figures = [
        figure
        for size in SIZES
        for figure in figures_of(size, measure(actions_for(size, systems), rounds))
    ]
    for process in processes:
        process.terminate()
        process.join()
    return figures


def main() -> None:
    """The data plane alone against a plain socket and a memory copy."""
    arguments = parser(main.__doc__ or "").parse_args()
    use_short_switch_interval()
    report("data_plane", main.__doc__ or "", run(rounds=3 if arguments.quick else 9))


if __name__ == "__main__":
    main()
