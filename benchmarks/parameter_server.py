"""Pull and push through the whole stack beside a plain two-process socket copy, in one run.

The stack is what an application sees: client API, ownership lookup, data plane, table at the owner,
update function. The client is this process; another one serves two tables, one used over TCP, one
over shared memory. Contestants take turns, each in a burst that finds its data in the caches.
Figures are medians, targets are ratios within the run.
"""

from __future__ import annotations

import multiprocessing
import socket
import statistics
import time
from collections.abc import Callable

import numpy as np

from motet.runtime.client.routed_calls import RoutedCalls
from motet.runtime.client.table_client import TableClient
from motet.runtime.core.application import ModelTable
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.wire.messages import RequestKind
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.peers import ExecutorPeers
from motet.runtime.wire.table_requests import ANY_CLOCK, NO_GENERATION, PullHead
from motet.transport import Arena, use_short_switch_interval
from support.figures import Figure, parser, report
from support.table_process import TableProcess

KB, MB = 1 << 10, 1 << 20
SECRET = bytes(range(32))
SIZES = {"4 KB": 4 * KB, "64 KB": 64 * KB, "2 MB": 2 * MB, "64 MB": 64 * MB}
OUTSTANDING = 16
TCP, SHARED_MEMORY = 1, 2


class RawPeer:
    """A plain socket to a process that sends or takes as many bytes as it is told."""

    def __init__(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_raw_server, args=(listener,), daemon=True)
        self._process.start()
        self._socket = socket.create_connection(listener.getsockname())
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.close()
        self._ack = bytearray(1)

    def pull(self, out: memoryview) -> None:
        """Receive `len(out)` bytes after a 16-byte request."""
        self._socket.sendall(b"<" + len(out).to_bytes(15, "little"))
        _receive(self._socket, out)

    def push(self, data: memoryview) -> None:
        """Send, and wait for one byte."""
        self._socket.sendall(b">" + len(data).to_bytes(15, "little"))
        self._socket.sendall(data)
        _receive(self._socket, memoryview(self._ack))

    def echo(self, data: memoryview) -> None:
        """Send, and receive as much again."""
        self._socket.sendall(b"=" + len(data).to_bytes(15, "little") + data)
        _receive(self._socket, data)

    def pull_many(self, data: memoryview, count: int) -> None:
        """`count` pulls outstanding at once."""
        request = b"<" + len(data).to_bytes(15, "little")
        for _ in range(count):
            self._socket.sendall(request)
        for _ in range(count):
            _receive(self._socket, data)

    def close(self) -> None:
        """End the peer."""
        self._socket.close()
        self._process.kill()


def _raw_server(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    room = memoryview(bytearray(64 * MB))
    head = memoryview(bytearray(16))
    while _receive(connection, head):
        length = int.from_bytes(head[1:], "little")
        if head[0] == ord("<"):
            connection.sendall(room[:length])
        elif head[0] == ord("="):
            _receive(connection, room[:length])
            connection.sendall(room[:length])
        else:
            _receive(connection, room[:length])
            connection.sendall(b"!")


def _receive(connection: socket.socket, view: memoryview) -> bool:
    done = 0
    while done < len(view):
        count = connection.recv_into(view[done:])
        if not count:
            return False
        done += count
    return True


class Table:
    """A client of one of a server's tables of float32 rows of 1 KB."""

    def __init__(self, server: TableProcess, number: int, *, shared_memory: bool) -> None:
        spec = server.specs[number]
        self.arena = Arena()
        self.peers = ExecutorPeers(
            {0: server.endpoint}, SECRET, self.arena, shared_memory=shared_memory
        )
        ownership = Ownership.even(spec.block_count, [0])
        self.client = TableClient(spec, ownership, self.peers, 7)
        self.calls = RoutedCalls(spec, ownership, self.peers, NO_GENERATION)
        self.plan = self.client.plan(None)
        self.out = self.client.buffer(spec.model.key_count)
        self.delta = self.client.buffer(spec.model.key_count)
        self.delta[:] = 1

    def pull(self) -> None:
        """Read the whole table into a reused buffer."""
        self.client.multi_get(self.plan, self.out)

    def push(self) -> None:
        """Update the whole table."""
        self.client.multi_update(self.plan, self.delta)

    def pull_many(self, count: int) -> None:
        """`count` reads outstanding at once."""
        connection = self.peers.connection(0)
        (route,) = self.plan.routes(self.client.ownership)
        head = self.calls.head(route, ANY_CLOCK) + PullHead().encode()
        views = [route.views(self.out) for _ in range(count)]
        calls = [connection.submit(RequestKind.PULL, head, (), view) for view in views]
        for call in calls:
            call.wait()

    def close(self) -> None:
        """Drop the connection."""
        self.peers.close()
        self.arena.close()


def interleaved_s(
    contestants: dict[str, Callable[[], None]], turns: int, burst: int
) -> dict[str, float]:
    """Median seconds of each, taking turns of `burst` operations one after another."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(turns + 1):
        for name, run in contestants.items():
            for _ in range(burst):
                began = time.perf_counter()
                run()
                if number:
                    times[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def compare(label: str, size: int, turns: int) -> list[Figure]:
    """Pull and push of one size over TCP and over shared memory."""
    raw = RawPeer()
    model = ModelTable(size // KB, (KB // 4,), np.dtype(np.float32))
    server = TableProcess([TableSpec.of(TCP, model), TableSpec.of(SHARED_MEMORY, model)], SECRET)
    tcp = Table(server, TCP, shared_memory=False)
    shared = Table(server, SHARED_MEMORY, shared_memory=True)
    room = memoryview(bytearray(size))
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    contestants: dict[str, Callable[[], None]] = {
        "raw pull": lambda: raw.pull(room),
        "raw push": lambda: raw.push(room),
        "tcp pull": tcp.pull,
        "tcp push": tcp.push,
        "shm pull": shared.pull,
        "shm push": shared.push,
        "memcpy": lambda: np.copyto(target, source),
    }
    if size == 4 * KB:
        contestants["raw echo"] = lambda: raw.echo(room)
        contestants["raw many"] = lambda: raw.pull_many(room, OUTSTANDING)
        contestants["tcp many"] = lambda: tcp.pull_many(OUTSTANDING)
    burst = 2 if size > 2 * MB else 50
    median_s = interleaved_s(contestants, turns, burst)
    for closing in (raw, tcp, shared, server):
        closing.close()
    return _figures(label, size, median_s)


def _figures(label: str, size: int, median_s: dict[str, float]) -> list[Figure]:
    def figure(
        what: str, ours: str, peer: str, target: float | None, *, latency: bool = False
    ) -> Figure:
        mine, theirs = median_s[ours], median_s[peer]
        ratio = mine / theirs if latency else theirs / mine
        name = f"{what} {label}"
        return Figure(
            name, _speed(size, mine), _speed(size, theirs), ratio, target, at_least=not latency
        )

    if size == 4 * KB:
        return [
            figure("TCP pull latency / raw echo", "tcp pull", "raw echo", 2.0, latency=True),
            figure("TCP push latency", "tcp push", "raw push", None, latency=True),
            figure("TCP, 16 outstanding pulls of", "tcp many", "raw many", 0.5),
            figure("shared memory pull latency", "shm pull", "raw pull", None, latency=True),
            figure("shared memory push latency", "shm push", "raw push", None, latency=True),
        ]
    large, largest = size >= 2 * MB, size >= 64 * MB
    return [
        figure("TCP pull", "tcp pull", "raw pull", 0.8 if large else None),
        figure("TCP push with update", "tcp push", "raw push", 0.6 if largest else None),
        figure("shared memory pull / memcpy", "shm pull", "memcpy", 0.4 if large else None),
        figure("shared memory push / memcpy", "shm push", "memcpy", 0.4 if large else None),
    ]


def _speed(size: int, seconds: float) -> str:
    if size <= 64 * KB:
        return f"{seconds * 1e6:.0f} us"
    return f"{size / seconds / 1e9:.2f} GB/s"


def main() -> None:
    """Every size, then one table."""
    arguments = parser(main.__doc__ or "").parse_args()
    use_short_switch_interval()
    scale = 1 if arguments.quick else 4
    figures: list[Figure] = []
    for label, size in SIZES.items():
        turns = {4 * KB: 15, 64 * KB: 10, 2 * MB: 6, 64 * MB: 5}[size] * scale
        figures += compare(label, size, turns)
    report("parameter_server", "Whole stack against a plain socket, medians", figures)


if __name__ == "__main__":
    main()
