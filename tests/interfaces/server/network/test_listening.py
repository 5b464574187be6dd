"""The listening socket of the server."""

from __future__ import annotations

import asyncio
import socket

from motet.interfaces.server.network.listening import listener_at


def test_answers_do_not_wait_for_acknowledgements() -> None:
    """Head and body are two packets; without TCP_NODELAY the second one waits 40 ms."""
    found: list[int] = []

    async def accept() -> None:
        accepted = asyncio.Event()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            del reader
            ours = writer.get_extra_info("socket")
            found.append(ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            accepted.set()
            writer.close()

        listener = listener_at("127.0.0.1", 0)
        async with await asyncio.start_server(connected, sock=listener):
            with socket.create_connection(listener.getsockname()):
                await accepted.wait()

    asyncio.run(accept())
    assert found == [1]
