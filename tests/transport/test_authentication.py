from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time

import pytest

from in_process_backend import InProcessChannel, channel_pair
from motet.domain.errors import AuthenticationFailed, Unreachable
from motet.transport import Connection, Endpoint, Server, new_secret
from motet.transport.authentication import (
    Identity,
    accept_client,
    prove_client,
    verify_client,
)
from motet.transport.sealing import SessionKeys
from motet.transport.server import server as server_module
from transport_parts import ECHO, echo

IDENTITY = Identity("worker 3", bytes(range(16)))


def soon() -> float:
    """A deadline that a loaded machine meets."""
    return time.monotonic() + 30.0


def test_both_ends_verify_that_the_other_has_the_secret(secret: bytes) -> None:
    client, server = channel_pair()
    found: list[tuple[Identity, SessionKeys | None]] = []

    def serve() -> None:
        found.append(verify_client(server, secret, soon()))
        accept_client(server)

    thread = threading.Thread(target=serve)
    thread.start()
    prove_client(client, secret, IDENTITY, soon())
    thread.join()
    assert found == [(IDENTITY, None)]


def handshake(
    secret: bytes, client: InProcessChannel, server: InProcessChannel
) -> list[SessionKeys | None]:
    """The keys that both ends have."""
    found: list[SessionKeys | None] = []

    def serve() -> None:
        _, keys = verify_client(server, secret, soon())
        accept_client(server)
        found.append(keys)

    thread = threading.Thread(target=serve)
    thread.start()
    keys = prove_client(client, secret, IDENTITY, soon())
    thread.join()
    return [keys, *found]


def test_hosts_get_fresh_keys_of_their_own_by_every_handshake(secret: bytes) -> None:
    seen: set[bytes] = set()
    for _ in range(3):
        client, server = channel_pair()
        client.is_exposed = True
        ours, theirs = handshake(secret, client, server)
        assert ours is not None
        assert ours == theirs
        seen |= set(ours)
    assert len(seen) == 6


def test_a_client_of_another_host_that_does_not_encrypt_is_refused(secret: bytes) -> None:
    client, server = channel_pair()
    server.is_exposed = True
    refused: list[str] = []

    def serve() -> None:
        try:
            verify_client(server, secret, soon())
        except AuthenticationFailed as error:
            refused.append(str(error))

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(AuthenticationFailed, match="refused"):
        prove_client(client, secret, IDENTITY, soon())
    thread.join()
    assert refused == ["a client of another host does not encrypt"]


def test_the_mode_cannot_be_changed_on_the_way(secret: bytes) -> None:
    """A relay turns encryption off in the hello."""
    client, to_relay = channel_pair()
    from_relay, server = channel_pair()
    client.is_exposed = True
    mode_at = 8 + 32

    def relay() -> None:
        hello = bytearray(received(to_relay, 1000))
        assert hello[mode_at] == 1
        hello[mode_at] = 0
        from_relay.send([bytes(hello)])
        to_relay.send([received(from_relay, 1000)])

    threads = [
        threading.Thread(target=relay),
        threading.Thread(target=lambda: raises_lost(secret, server)),
    ]
    for thread in threads:
        thread.start()
    with pytest.raises(AuthenticationFailed, match="does not have this job's secret"):
        prove_client(client, secret, IDENTITY, soon())
    from_relay.close()
    for thread in threads:
        thread.join()


def raises_lost(secret: bytes, server: InProcessChannel) -> None:
    with pytest.raises(ConnectionResetError):
        verify_client(server, secret, soon())


def test_a_wrong_secret_is_refused_at_the_client(secret: bytes) -> None:
    with Server(echo, secret) as server:
        for shared_memory in (False, True):
            with pytest.raises(AuthenticationFailed, match=str(server.endpoint)):
                Connection(server.endpoint, new_secret(), shared_memory=shared_memory)


def received(channel: InProcessChannel, size: int) -> bytes:
    data = bytearray(size)
    count = channel.receive(memoryview(data))
    return bytes(data[:count])


def test_a_client_that_ignores_a_wrong_proof_is_refused_by_the_server(secret: bytes) -> None:
    client, server = channel_pair()

    def bluff() -> None:
        client.send([b"MOTET\x00\x00\x02" + bytes(32 + 1 + 16 + 1 + 64)])
        received(client, 1000)
        client.send([bytes(32)])

    thread = threading.Thread(target=bluff)
    thread.start()
    with pytest.raises(AuthenticationFailed):
        verify_client(server, secret, soon())
    thread.join()
    assert received(client, 1) == b"\x00"


def test_a_proof_cannot_be_reflected(secret: bytes) -> None:
    """An impostor without the secret answers a client's challenge with the client's own bytes."""
    client, impostor = channel_pair()

    def reflect() -> None:
        impostor.send([received(impostor, 1000)[:72]])

    thread = threading.Thread(target=reflect)
    thread.start()
    with pytest.raises(AuthenticationFailed, match="does not have"):
        prove_client(client, secret, IDENTITY, soon())
    thread.join()


def test_a_silent_peer_ends_the_handshake_at_the_deadline(secret: bytes) -> None:
    client, _ = channel_pair()
    with pytest.raises(TimeoutError, match="handshake"):
        prove_client(client, secret, IDENTITY, time.monotonic() + 0.05)


def test_a_peer_with_another_protocol_fails_authentication(secret: bytes) -> None:
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


@pytest.mark.parametrize("garbage", [b"", b"GET / HTTP/1.1\r\n\r\n", bytes(5000), b"\xff" * 122])
def test_garbage_does_not_disturb_the_server(
    secret: bytes, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    with Server(echo, secret) as server:
        peer = socket.create_connection((server.endpoint.host, server.endpoint.port))
        with peer, contextlib.suppress(OSError):
            peer.sendall(garbage)
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(1000):
                pass
        with Connection(server.endpoint, secret) as connection:
            assert connection.request(ECHO, b"alive").meta == b"alive"


def test_silent_unauthenticated_peers_do_not_block_clients(secret: bytes) -> None:
    with Server(echo, secret) as server:
        address = (server.endpoint.host, server.endpoint.port)
        silent_peers = [
            socket.create_connection(address) for _ in range(server_module.MAX_UNAUTHENTICATED + 10)
        ]
        with Connection(server.endpoint, secret, shared_memory=False) as connection:
            assert connection.request(ECHO, b"alive").meta == b"alive"
        for peer in silent_peers:
            peer.close()


def test_a_peer_that_sends_single_bytes_is_disconnected_at_the_deadline(
    secret: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "HANDSHAKE_TIMEOUT_S", 0.3)
    with Server(echo, secret) as server:
        peer = socket.create_connection((server.endpoint.host, server.endpoint.port))
        peer.settimeout(0.05)
        with peer:
            assert trickle_until_disconnected(peer) < 60


def trickle_until_disconnected(sock: socket.socket) -> float:
    """Send single bytes; return the seconds until the other end disconnects."""
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


def test_an_address_without_a_server_is_unreachable(secret: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        endpoint = Endpoint("127.0.0.1", listener.getsockname()[1])
    with pytest.raises(Unreachable, match="does the server still run"):
        Connection(endpoint, secret)
