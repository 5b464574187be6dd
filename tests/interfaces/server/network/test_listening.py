"""The listening socket of the server."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from motet.interfaces.server.network.listening import (
    last_port,
    listener_at,
    listener_for,
    tell_clients,
)


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


def test_a_server_takes_the_port_of_the_one_before_unless_it_is_taken(tmp_path: Path) -> None:
    with listener_for("127.0.0.1", 0, tmp_path) as first:
        port = first.getsockname()[1]
        tell_clients(tmp_path, f"http://127.0.0.1:{port}", None)
        with listener_for("127.0.0.1", 0, tmp_path) as other:
            assert other.getsockname()[1] != port
    with listener_for("127.0.0.1", 0, tmp_path) as second:
        assert second.getsockname()[1] == port


@pytest.mark.parametrize("text", ["", "{", "[]", '{"url": 1}', '{"url": "http://x:y"}'])
def test_a_damaged_address_file_names_no_port(tmp_path: Path, text: str) -> None:
    assert last_port(tmp_path) == 0
    (tmp_path / "server.json").write_text(text)
    assert last_port(tmp_path) == 0
