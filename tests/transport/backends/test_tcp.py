from __future__ import annotations

import time

import pytest

from motet.transport import Connection, Server
from motet.transport.authentication import Identity, prove_client
from motet.transport.backends.tcp import TcpConnector, TcpListener
from motet.transport.framing import (
    ATTACH,
    DETACH,
    SHARED_PAYLOAD,
    Reference,
    encode_header,
    encode_references,
)
from transport_parts import ECHO, echo

REFERENCE = encode_references([Reference(0, 0, 4096)])


@pytest.mark.parametrize("flag", [ATTACH, DETACH, SHARED_PAYLOAD])
def test_a_reference_ends_a_connection_without_lent_memory(secret: bytes, flag: int) -> None:
    with Server(echo, secret) as server:
        channel = TcpConnector(server.endpoint.host, server.endpoint.port).connect(30)
        prove_client(channel, secret, Identity("bad", bytes(16)), time.monotonic() + 30)
        lent_bytes = 4096 if flag == SHARED_PAYLOAD else 0
        channel.send([encode_header(0, flag, 0, 1, 0, lent_bytes) + REFERENCE])
        with pytest.raises(ConnectionResetError):
            channel.receive(memoryview(bytearray(100)))
        channel.close()
        with Connection(server.endpoint, secret, shared_memory=False) as connection:
            assert connection.request(ECHO, b"alive").meta == b"alive"


def test_shutting_a_listener_down_ends_accept() -> None:
    listener = TcpListener("127.0.0.1", 0)
    listener.shutdown()
    assert listener.accept() is None
    listener.close()
