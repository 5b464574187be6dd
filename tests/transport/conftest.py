"""What transport tests share: a secret, and a server with a client that reaches it each way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from motet.transport import Connection, Handler, Server, new_secret
from transport_parts import Connect


@pytest.fixture
def secret() -> bytes:
    return new_secret()


@pytest.fixture(params=["tcp", "same host"])
def connect(request: pytest.FixtureRequest, secret: bytes) -> Iterator[Connect]:
    """Serves a handler and connects to it, once over TCP and once over the same-host shortcut."""
    with ExitStack() as stack:

        def connected(handler: Handler) -> Connection:
            server = stack.enter_context(Server(handler, secret))
            connection = Connection(
                server.endpoint, secret, shared_memory=request.param == "same host"
            )
            assert connection.is_local == (request.param == "same host")
            return stack.enter_context(connection)

        yield connected
