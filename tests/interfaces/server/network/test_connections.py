"""Connections of strangers: the oldest of too many are closed at once, those of users are not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from motet.interfaces.server.network import connections
from motet.interfaces.server.network.connections import LimitedConnection, note_known

MOST, NEVER_S = 3, 86_400.0
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(autouse=True)
def few_and_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time closes no connection, only their number does."""
    monkeypatch.setattr(connections, "MOST_OF_STRANGERS", MOST)
    monkeypatch.setattr(connections, "REQUEST_WITHIN_S", NEVER_S)
    monkeypatch.setattr(connections, "ANSWER_WITHIN_S", NEVER_S)


async def known_to_all(scope: Any, receive: Any, send: Any) -> None:
    """An application whose requests all have a valid token."""
    note_known(scope)
    await receive()
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


class Port:
    """A real server, and streams to it, in the order in which it accepted them."""

    def __init__(self, server: asyncio.Server) -> None:
        self._address = server.sockets[0].getsockname()
        self.streams: list[Stream] = []

    async def connect(self) -> Stream:
        self.streams.append(await asyncio.open_connection(*self._address))
        return self.streams[-1]


@asynccontextmanager
async def serving() -> AsyncIterator[Port]:
    config, state = Config(known_to_all, lifespan="off"), ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: LimitedConnection(config, state, {}), "127.0.0.1", 0)
    port = Port(server)
    try:
        yield port
    finally:
        for _, writer in port.streams:
            writer.close()
        server.close()


async def is_closed(stream: Stream) -> None:
    """Returns when the server has closed it."""
    try:
        assert await stream[0].read() == b""
    except ConnectionResetError:
        return


async def answered(stream: Stream) -> bytes:
    reader, writer = stream
    writer.write(REQUEST)
    return (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]


def test_the_oldest_of_too_many_strangers_are_closed_and_the_others_are_served() -> None:
    async def run() -> None:
        async with serving() as port:
            for _ in range(MOST + 2):
                await port.connect()
            for stream in port.streams[:2]:
                await is_closed(stream)
            for stream in port.streams[2:]:
                assert await answered(stream) == b"HTTP/1.1 204 No Content"

    asyncio.run(run())


def test_connections_of_users_stay_however_many_strangers_come() -> None:
    async def run() -> None:
        async with serving() as port:
            users = [await port.connect() for _ in range(MOST)]
            for user in users:
                assert await answered(user) == b"HTTP/1.1 204 No Content"
            strangers = [await port.connect() for _ in range(MOST + 1)]
            await is_closed(strangers[0])
            for user in users:
                assert await answered(user) == b"HTTP/1.1 204 No Content"

    asyncio.run(run())
