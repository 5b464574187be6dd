from __future__ import annotations

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
from motet.transport.backends.shared_memory import SharedMemoryConnector, send_descriptor
from motet.transport.backends.socket_channel import SocketChannel
from motet.transport.backends.spin_policy import SpinPolicy
from motet.transport.framing import (
    ATTACH,
    SHARED_PAYLOAD,
    Reference,
    encode_header,
    encode_references,
)
from transport_parts import ECHO, echo, process_serving

MB = 1 << 20


def segments_mapped(process: int | str = "self") -> int:
    """How many mappings of shared segments a process has."""
    return Path(f"/proc/{process}/maps").read_text().count("/memfd:motet")


def test_no_segment_stays_mapped_after_closing(secret: bytes) -> None:
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


def test_a_payload_in_the_arena_is_accessed_in_place(secret: bytes) -> None:
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


def test_staging_memory_is_reused_after_every_call(secret: bytes) -> None:
    arena = Arena(segment_bytes=8 * MB)
    with process_serving_in_thread(echo, secret, arena) as connection:
        into = np.empty(MB, np.uint8)
        for number in range(50):
            connection.request(ECHO, b"", [np.full(MB, number, np.uint8)], into=[into])
            assert (into == number).all()
        assert len(arena.segment_numbers) == 1


def test_memory_that_a_lost_server_may_still_write_to_is_not_reused(secret: bytes) -> None:
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


@pytest.mark.soak
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
        channel = SharedMemoryConnector(server.endpoint.unix_name, Arena()).connect(10)
        prove_client(channel, secret, Identity("bad", bytes(16)), time.monotonic() + 10)
        channel.send([frame])
        with pytest.raises(ConnectionResetError):
            channel.receive(memoryview(bytearray(100)))
        channel.close()
        with Connection(server.endpoint, secret) as connection:
            assert connection.request(ECHO, b"alive").meta == b"alive"


def test_descriptors_without_an_announcement_are_closed(secret: bytes) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with Server(echo, secret) as server, socket.socket(socket.AF_UNIX) as sock:
        sock.connect(f"\0{server.endpoint.unix_name}")
        channel = SocketChannel(sock, SpinPolicy())
        prove_client(channel, secret, Identity("odd", bytes(16)), time.monotonic() + 10)
        for _ in range(5):
            send_descriptor(sock, encode_header(1, 0, 1, 0, 0, 0), sock.fileno())
            sock.recv(100)
        sock.shutdown(socket.SHUT_WR)
        assert sock.recv(100) == b""
    assert len(os.listdir("/proc/self/fd")) <= before
