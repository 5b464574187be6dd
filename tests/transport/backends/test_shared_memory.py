from __future__ import annotations

import fcntl
import gc
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from motet.domain.errors import ConnectionLost
from motet.transport import Arena, Connection, Request, Server
from motet.transport.authentication import Identity, prove_client
from motet.transport.backends.shared_memory import MappedSegments, transfer
from motet.transport.backends.socket_channel import send_descriptor
from motet.transport.framing import (
    ATTACH,
    SHARED_PAYLOAD,
    ProtocolError,
    Reference,
    encode_header,
    encode_references,
)
from transport_parts import ECHO, echo, process_serving

MB = 1 << 20


def segments_mapped(process: int | str = "self") -> int:
    """How many mappings of shared segments a process has."""
    return Path(f"/proc/{process}/maps").read_text().count("/memfd:motet")


def test_arrays_of_the_arena_do_not_overlap() -> None:
    arena = Arena()
    arrays = [arena.empty((n + 1, 1000), np.float32) for n in range(20)]
    for number, array in enumerate(arrays):
        array[:] = number
    assert [set(array.ravel().tolist()) for array in arrays] == [{float(n)} for n in range(20)]
    assert arena.empty(0).shape == (0,)


def test_memory_of_an_array_that_is_gone_is_used_again() -> None:
    arena = Arena()
    address = arena.empty(MB).ctypes.data
    gc.collect()
    assert arena.empty(MB).ctypes.data == address


def test_memory_is_not_used_again_while_a_view_of_it_lives() -> None:
    arena = Arena()
    view = arena.empty((4, MB), np.uint8)[1:3].reshape(-1)[5:]
    view[:] = 7
    gc.collect()
    for _ in range(10):
        arena.empty((4, MB))[:] = 0
    assert (view == 7).all()


def test_the_arena_knows_what_lies_in_it() -> None:
    arena = Arena(segment_bytes=MB)
    array = arena.empty(3 * MB)
    other = arena.empty(MB)
    found = arena.find(array[10:20].data)
    assert found is not None
    assert found.length == 10
    assert found.offset == 10
    there = arena.find(other.data)
    assert there is not None
    assert there.segment != found.segment
    assert arena.find(np.empty(10, np.uint8).data) is None


def test_segments_that_lie_unused_go_away() -> None:
    arena = Arena(segment_bytes=MB, keep_bytes=2 * MB)
    arrays = [arena.empty(MB) for _ in range(8)]
    assert len(arena.segment_numbers) == 8
    arrays.clear()
    gc.collect()
    arena.empty(MB)
    assert len(arena.segment_numbers) <= 2


def test_nothing_stays_mapped_once_everything_is_closed(secret: bytes) -> None:
    gc.collect()
    before = segments_mapped()
    arena = Arena()
    array = arena.empty(MB)
    with Server(echo, secret) as server, Connection(server.endpoint, secret, arena=arena) as there:
        there.request(ECHO, b"", [array], into=[array])
        assert segments_mapped() > before
    arena.close()
    del array, there, server
    gc.collect()
    assert segments_mapped() == before


def test_a_payload_in_the_arena_is_seen_where_it_is(secret: bytes) -> None:
    """The handler writes into the client's own array."""

    def increment(request: Request) -> None:
        np.frombuffer(request.payload, np.float32)[:] += 1
        request.reply()

    arena = Arena()
    with process_serving_in_thread(increment, secret, arena) as connection:
        array = arena.empty(MB, np.float32)
        array[:] = 4
        connection.request(ECHO, b"", [array])
        assert (array == 5).all()
        plain = np.zeros(MB, np.float32)
        connection.request(ECHO, b"", [plain])
        assert (plain == 0).all()


class process_serving_in_thread:  # noqa: N801 - reads as a function
    """A server and a connection to it in this process."""

    def __init__(self, handler, secret: bytes, arena: Arena | None = None) -> None:
        self._server = Server(handler, secret)
        self._connection = Connection(self._server.endpoint, secret, arena=arena)

    def __enter__(self) -> Connection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._server.close()


def test_staging_memory_is_used_again_after_every_call(secret: bytes) -> None:
    arena = Arena(segment_bytes=8 * MB)
    with process_serving_in_thread(echo, secret, arena) as connection:
        into = np.empty(MB, np.uint8)
        for number in range(50):
            connection.request(ECHO, b"", [np.full(MB, number, np.uint8)], into=[into])
            assert (into == number).all()
        assert len(arena.segment_numbers) == 1


def test_memory_that_a_lost_server_may_still_write_to_is_not_used_again(secret: bytes) -> None:
    arena = Arena()
    parked: queue.Queue[Request] = queue.Queue()
    with Server(parked.put, secret) as server:
        connection = Connection(server.endpoint, secret, arena=arena)
        into = arena.empty(MB)
        call = connection.submit(ECHO, into=[into])
        parked.get()
        connection.close()
        with pytest.raises(ConnectionLost):
            call.wait()
    address = into.ctypes.data
    del into
    gc.collect()
    assert arena.empty(MB).ctypes.data != address


def test_two_processes_share_memory_over_many_segments(secret: bytes) -> None:
    arena = Arena(segment_bytes=MB, keep_bytes=0)
    with (
        process_serving(secret) as (endpoint, process),
        Connection(endpoint, secret, arena=arena) as connection,
    ):
        for number in range(12):
            data = arena.empty((number + 1) * 300_000)
            data[:] = number
            into = arena.empty(len(data))
            connection.request(ECHO, b"", [data], into=[into[:99_999], into[99_999:]])
            assert (into == number).all()
            del data, into
            gc.collect()
        assert segments_mapped(process) <= 4


def test_a_killed_client_leaves_no_memory_at_the_server(secret: bytes) -> None:
    program = """
import sys, numpy as np
from motet.transport import Arena, Connection, Endpoint
connection = Connection(Endpoint.decode(sys.argv[2]), bytes.fromhex(sys.argv[1]))
connection.request(1, b"", [np.ones(1 << 20, np.uint8)])
print("ready", flush=True)
sys.stdin.read()
"""
    gone = threading.Event()

    def handle(request: Request) -> None:
        echo(request)
        watch.append(request)

    watch: list[Request] = []
    gc.collect()
    before = segments_mapped()
    with Server(handle, secret) as server:
        command = [sys.executable, "-c", program, secret.hex(), server.endpoint.encode()]
        environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as client:
            assert client.stdout is not None
            assert client.stdout.readline() == "ready\n"
            assert segments_mapped() > before
            client.kill()
        while watch[0].is_connected:
            gone.wait(0.01)
    watch.clear()
    gc.collect()
    assert segments_mapped() == before


@pytest.mark.parametrize("seals", [0, fcntl.F_SEAL_SHRINK])
def test_a_segment_that_could_shrink_is_refused(seals: int) -> None:
    descriptor = os.memfd_create("bad", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, 4096)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    with pytest.raises(ProtocolError, match="not sealed"):
        MappedSegments().attach(Reference(0, 0, 4096), descriptor)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.parametrize(
    "frame",
    [
        encode_header(1, SHARED_PAYLOAD, 1, 1, 0, 10) + encode_references([Reference(9, 0, 10)]),
        encode_header(1, SHARED_PAYLOAD, 1, 0, 0, 10),
        encode_header(0, ATTACH, 0, 1, 0, 0) + encode_references([Reference(0, 0, 4096)]),
        encode_header(0, ATTACH, 0, 0, 0, 0),
    ],
    ids=["unknown segment", "no reference", "no descriptor", "no segment"],
)
def test_a_reference_to_memory_that_was_never_shared_ends_the_connection(
    secret: bytes, frame: bytes
) -> None:
    with Server(echo, secret) as server:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(f"\0{server.endpoint.unix_name}")
        with sock:
            sock.settimeout(10)
            prove_client(sock, secret, Identity("bad", bytes(16)), time.monotonic() + 10)
            sock.sendall(frame)
            assert sock.recv(100) == b""
        with Connection(server.endpoint, secret) as connection:
            assert connection.request(ECHO, b"alive").meta == b"alive"


def test_descriptors_that_nobody_asked_for_are_closed(secret: bytes) -> None:
    with Server(echo, secret) as server:
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(f"\0{server.endpoint.unix_name}")
        with sock:
            sock.settimeout(10)
            prove_client(sock, secret, Identity("odd", bytes(16)), time.monotonic() + 10)
            before = len(os.listdir("/proc/self/fd"))
            for _ in range(5):
                send_descriptor(sock, encode_header(1, 0, 1, 0, 0, 0), sock.fileno())
                sock.recv(100)
            sock.shutdown(socket.SHUT_WR)
            assert sock.recv(100) == b""
            assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("sources", [[10], [3, 7], [1, 0, 9]])
@pytest.mark.parametrize("targets", [[10], [5, 5], [2, 0, 8]])
def test_a_transfer_keeps_the_order_of_bytes(sources: list[int], targets: list[int]) -> None:
    data = np.arange(10, dtype=np.uint8)
    pieces = np.split(data, np.cumsum(sources)[:-1])
    places = [np.zeros(size, np.uint8) for size in targets]
    transfer([piece.data for piece in pieces], places)
    assert np.concatenate(places).tolist() == data.tolist()
