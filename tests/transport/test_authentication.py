from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from pathlib import Path

import pytest

from motet.domain.errors import AuthenticationFailed, BadInput, Unreachable
from motet.transport import Connection, Endpoint, Server, new_secret, read_secret, write_secret
from motet.transport.authentication import Identity, prove_client, verify_client
from motet.transport.server import server as server_module
from transport_parts import ECHO, echo

IDENTITY = Identity("worker 3", bytes(range(16)))


def in_one_second() -> float:
    return time.monotonic() + 1.0


def test_both_ends_learn_that_the_other_knows_the_secret(secret: bytes) -> None:
    client, server = socket.socketpair()
    found: list[Identity] = []
    thread = threading.Thread(
        target=lambda: (
            found.append(verify_client(server, secret, in_one_second())),
            server.sendall(b"\x01"),
        )
    )
    thread.start()
    prove_client(client, secret, IDENTITY, in_one_second())
    thread.join()
    assert found == [IDENTITY]


def test_a_wrong_secret_is_refused_at_the_client(secret: bytes) -> None:
    with Server(echo, secret) as server:
        for shared_memory in (False, True):
            with pytest.raises(AuthenticationFailed, match=str(server.endpoint)):
                Connection(server.endpoint, new_secret(), shared_memory=shared_memory)


def test_a_client_that_ignores_a_wrong_proof_is_refused_by_the_server(secret: bytes) -> None:
    client, server = socket.socketpair()

    def bluff() -> None:
        client.sendall(b"MOTET\x00\x00\x01" + bytes(32 + 16 + 1 + 64))
        client.recv(1000)
        client.sendall(bytes(32))

    thread = threading.Thread(target=bluff)
    thread.start()
    with pytest.raises(AuthenticationFailed):
        verify_client(server, secret, in_one_second())
    thread.join()
    assert client.recv(1) == b"\x00"


def test_a_proof_cannot_be_reflected(secret: bytes) -> None:
    """An impostor without the secret answers a client's challenge with the client's own bytes."""
    client, impostor = socket.socketpair()

    def reflect() -> None:
        impostor.sendall(impostor.recv(1000)[:72])

    thread = threading.Thread(target=reflect)
    thread.start()
    with pytest.raises(AuthenticationFailed, match="does not know"):
        prove_client(client, secret, IDENTITY, in_one_second())
    thread.join()


def test_whoever_speaks_another_protocol_is_told_from_a_server_of_ours(secret: bytes) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def speak_http() -> None:
        sock, _ = listener.accept()
        with sock:
            sock.recv(1000)
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)

    thread = threading.Thread(target=speak_http)
    thread.start()
    with listener, pytest.raises(AuthenticationFailed, match="protocol"):
        Connection(Endpoint("127.0.0.1", listener.getsockname()[1]), secret)
    thread.join()


@pytest.mark.parametrize("garbage", [b"", b"GET / HTTP/1.1\r\n\r\n", bytes(5000), b"\xff" * 121])
def test_garbage_does_not_disturb_the_server(
    secret: bytes, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    with Server(echo, secret) as server:
        stranger = socket.create_connection((server.endpoint.host, server.endpoint.port))
        with stranger, contextlib.suppress(OSError):
            stranger.sendall(garbage)
            stranger.shutdown(socket.SHUT_WR)
            while stranger.recv(1000):
                pass
        with Connection(server.endpoint, secret) as connection:
            assert connection.request(ECHO, b"alive").meta == b"alive"


def test_silent_strangers_lock_nobody_out(secret: bytes) -> None:
    with Server(echo, secret) as server:
        address = (server.endpoint.host, server.endpoint.port)
        strangers = [
            socket.create_connection(address) for _ in range(server_module.MAX_STRANGERS + 10)
        ]
        with Connection(server.endpoint, secret, shared_memory=False) as connection:
            assert connection.request(ECHO, b"alive").meta == b"alive"
        for stranger in strangers:
            stranger.close()


def test_a_stranger_that_drips_bytes_is_cut_off_at_the_deadline(
    secret: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "HANDSHAKE_TIMEOUT_S", 0.3)
    with Server(echo, secret) as server:
        stranger = socket.create_connection((server.endpoint.host, server.endpoint.port))
        stranger.settimeout(0.05)
        with stranger:
            assert drip_until_cut_off(stranger) < 5


def drip_until_cut_off(sock: socket.socket) -> float:
    """Send a byte whenever nothing comes; the seconds until the other end hung up."""
    begin_s = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while True:
            sock.sendall(b"M")
            try:
                if not sock.recv(1):
                    break
            except TimeoutError:
                continue
    return time.monotonic() - begin_s


def test_nobody_at_the_address_is_unreachable(secret: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = Endpoint("127.0.0.1", listener.getsockname()[1])
    with pytest.raises(Unreachable, match="does the server still run"):
        Connection(endpoint, secret)


def test_a_secret_survives_its_file(tmp_path: Path, secret: bytes) -> None:
    path = tmp_path / "secret"
    write_secret(path, secret)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_secret(path) == secret


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path, secret: bytes) -> None:
    path = tmp_path / "secret"
    write_secret(path, secret)
    path.chmod(0o640)
    with pytest.raises(BadInput, match="chmod 600"):
        read_secret(path)


@pytest.mark.parametrize("content", ["", "xyz", "ab" * 16])
def test_a_malformed_secret_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secret"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(BadInput, match="secret"):
        read_secret(path)


def test_a_secret_is_never_written_over(tmp_path: Path, secret: bytes) -> None:
    path = tmp_path / "secret"
    write_secret(path, secret)
    with pytest.raises(BadInput, match="cannot write"):
        write_secret(path, new_secret())
