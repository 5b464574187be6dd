"""Attacks on the port of a real server by a process of the same machine without the token."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from live_server import LiveServer, running_server
from motet.interfaces.client import LiveClient
from motet.interfaces.server.network.connections import MOST_OF_STRANGERS
from motet.interfaces.server_address import ServerAddress

pytestmark = pytest.mark.cluster

JOB = b'{"name": "job", "run": "true", "workdir": "/"}'
MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x1") as found:
        yield found


def connected(server: LiveServer) -> socket.socket:
    port = int(ServerAddress.find(folder=server.folder).url.rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port))


def answer(sock: socket.socket, request: bytes) -> bytes:
    """Everything that the server sends until it closes the connection."""
    with sock:
        sock.sendall(request)
        return b"".join(iter(lambda: sock.recv(65536), b""))


def head(host: bytes, *headers: bytes, first: bytes = b"GET /api/v1/jobs") -> bytes:
    return b"\r\n".join((first + b" HTTP/1.1", b"Host: " + host, *headers, b"", b""))


@pytest.mark.parametrize(
    "host",
    [b"127.0.0.1:/api/v1/health?", b"localhost:80/api/v1/health#", b"localhost:x@y", b"localhost:"],
)
def test_a_host_header_with_more_than_a_name_and_a_port_opens_nothing(
    server: LiveServer, host: bytes
) -> None:
    """Frameworks make the URL of a request from its Host header."""
    assert answer(connected(server), head(host)).startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize("token", [b"", b"Bearer", b"Bearer ", b"Bearer \xff", b"Basic Og=="])
def test_a_stranger_is_refused_and_disconnected(server: LiveServer, token: bytes) -> None:
    request = head(b"localhost", b"Authorization: " + token)
    assert answer(connected(server), request).startswith(b"HTTP/1.1 401 ")


HALF_A_FORM = head(b"localhost", b"Content-Length: 9", first=b"POST /login") + b"token="


def test_connections_without_a_whole_request_are_closed(server: LiveServer) -> None:
    health = head(b"localhost", first=b"GET /api/v1/health")
    starts = [b"", b"GET", b"GET / HTTP/1.1\r\nHost: localh", health + b"GET", HALF_A_FORM]
    with ExitStack() as stack:
        socks = [stack.enter_context(connected(server)) for _ in starts]
        for sock, start in zip(socks, starts, strict=True):
            sock.sendall(start)
        for sock in socks:
            try:
                while sock.recv(65536):
                    continue
            except ConnectionResetError:
                continue


@pytest.mark.soak
def test_connections_of_strangers_do_not_use_up_the_files_of_the_server(
    server: LiveServer,
) -> None:
    """Some say nothing, the others do not end what they say."""
    assert server.process is not None
    pid = server.process.pid
    used = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    limit = used + MOST_OF_STRANGERS + 50
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        with ExitStack() as stack, LiveClient(ServerAddress.find(folder=server.folder)) as client:
            for number in range(MOST_OF_STRANGERS + 150):
                sent = HALF_A_FORM if number % 2 else b""
                stack.enter_context(connected(server)).sendall(sent)
            assert list(client.jobs()) == []
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def test_a_body_of_unknown_length_is_refused_unread(server: LiveServer) -> None:
    token = b"Authorization: Bearer " + ServerAddress.find(folder=server.folder).token.encode()
    request = head(
        b"localhost",
        *(token, b"Content-Type: application/json", b"Transfer-Encoding: chunked"),
        first=b"POST /api/v1/jobs",
    )
    before = peak_bytes(server)
    with connected(server) as sock:
        try:
            sock.sendall(request)
            for _ in range(100):
                sock.sendall(b"%x\r\n" % MEBIBYTE + bytes(MEBIBYTE) + b"\r\n")
        except ConnectionError:
            pass
        else:
            assert sock.recv(65536).startswith(b"HTTP/1.1 411 ")
    assert peak_bytes(server) < before + 50 * MEBIBYTE


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"a":' * 50_000, 400),
        (b"[" * 100_000, 400),
        (b'{"priority":' + b"9" * 100_000 + b"}", 400),
        (b"\xff\xfe", 422),
        (JOB[:-1] + b', "run": "\\ud800"}', 422),
        (JOB[:-1] + b', "envs": {"A": "\\u0000"}}', 422),
        (JOB[:-1] + b', "priority": NaN}', 422),
        (JOB[:-1] + b', "\\u001b[31m' + b"x" * MEBIBYTE + b'": 1}', 422),
    ],
)
def test_an_odd_body_is_one_short_problem(server: LiveServer, body: bytes, status: int) -> None:
    token = b"Authorization: Bearer " + ServerAddress.find(folder=server.folder).token.encode()
    length = b"Content-Length: %d" % len(body)
    more = (b"Content-Type: application/json", b"Connection: close", token, length)
    request = head(b"localhost", *more, first=b"POST /api/v1/jobs") + body
    reply = answer(connected(server), request)
    assert reply.startswith(b"HTTP/1.1 %d " % status)
    assert b"application/problem+json" in reply
    assert len(reply) < 1000


def peak_bytes(server: LiveServer) -> int:
    assert server.process is not None
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmHWM")]
    return 1024 * int(line.split()[1])
