"""A launcher's program: requests are lines of its input, reports are lines of its output.

Shepherds and processes wake it by datagrams. It ends with its input.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from motet.live.launcher.message_lines import message_line

_LARGEST_NOTICE_BYTES = 4096
_LARGEST_REQUEST_BYTES = 64 << 20


async def serve_lines(received: Callable[[str], None]) -> None:
    """Handle every line of the input; return at its end."""
    loop = asyncio.get_running_loop()
    requests = asyncio.StreamReader(limit=_LARGEST_REQUEST_BYTES)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(requests), os.fdopen(0, "rb", buffering=0)
    )
    while line := await requests.readline():
        received(line.decode())


def hear_notices(address: Path, noticed: Callable[[str, int], None]) -> None:
    """Call with attempt and rank of every notice: files of this rank have changed."""
    notices = _bound_socket(address)

    def read() -> None:
        with contextlib.suppress(BlockingIOError):
            while message := notices.recv(_LARGEST_NOTICE_BYTES):
                attempt, rank, _ = json.loads(message)
                noticed(attempt, rank)

    asyncio.get_running_loop().add_reader(notices, read)


def write_line(message: Any) -> None:
    """A line of the output."""
    sys.stdout.write(message_line(message) + "\n")
    sys.stdout.flush()


def _bound_socket(address: Path) -> socket.socket:
    """A datagram socket at a path that may be longer than a socket address."""
    address.unlink(missing_ok=True)
    directory = os.open(address.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        bound.bind(f"/proc/self/fd/{directory}/{address.name}")
    finally:
        os.close(directory)
    return bound
