"""What transport tests share: a secret, and a server with a client for each backend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from in_process_backend import InProcessListener
from motet.transport import Connection, DirectConnection, Handler, Server, new_secret
from transport_parts import Connect


@pytest.fixture
def secret() -> bytes:
    return new_secret()


@pytest.fixture(params=["tcp", "same host", "in process", "in process, lending", "direct"])
def connect(request: pytest.FixtureRequest, secret: bytes) -> Iterator[Connect]:
    """Serves a handler and connects to it over one backend, or calls it."""
    with ExitStack() as stack:

        def over_sockets(handler: Handler) -> Connection:
            server = stack.enter_context(Server(handler, secret))
            return Connection(server.endpoint, secret, shared_memory=request.param == "same host")

        def in_process(handler: Handler) -> Connection:
            listener = InProcessListener(lends="lending" in request.param)
            server = stack.enter_context(Server(handler, secret, listeners=[listener]))
            return Connection(server.endpoint, secret, connectors=[listener])

        def direct(handler: Handler) -> DirectConnection:
            connection = DirectConnection(handler, "own")
            stack.callback(connection.close)
            return connection

        def connected(handler: Handler) -> Connection:
            open_connection = in_process if "in process" in request.param else over_sockets
            connection = stack.enter_context(open_connection(handler))
            assert connection.is_local == (request.param in ("same host", "in process, lending"))
            return connection

        yield direct if request.param == "direct" else connected
