"""The launcher of this machine: a process that talks to the master through its standard streams.

It ends when the master closes its input; the shepherds keep running.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from pathlib import Path

from motet.live.launcher.attempt import LocalAttempt
from motet.live.launcher.messages import (
    AttemptEnded,
    Report,
    StartAttempt,
    StopAttempt,
    message_line,
    parse_message,
)

_LARGEST_NOTICE_BYTES = 4096
_LARGEST_REQUEST_BYTES = 64 << 20


class LocalLauncher:
    """All attempts of this machine."""

    def __init__(self, epoch: int, notify: Path) -> None:
        """`epoch`: of the master. `notify`: where the socket for notices of shepherds is made."""
        self._epoch, self._notify = epoch, notify
        self._attempts: dict[str, LocalAttempt] = {}

    async def run(self) -> None:
        """Serve requests until the end of the input."""
        loop = asyncio.get_running_loop()
        notices = _bound_socket(self._notify)
        loop.add_reader(notices, self._read_notices, notices)
        requests = asyncio.StreamReader(limit=_LARGEST_REQUEST_BYTES)
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(requests), os.fdopen(0, "rb", buffering=0)
        )
        while line := await requests.readline():
            self._received(line.decode())

    def _received(self, line: str) -> None:
        match parse_message(line):
            case StartAttempt() as request:
                self._start(request)
            case StopAttempt() as request if request.attempt in self._attempts:
                self._attempts[request.attempt].stop(request)

    def _start(self, request: StartAttempt) -> None:
        if request.attempt in self._attempts:
            self._attempts[request.attempt].repeat_reports()
            return
        attempt = LocalAttempt(request, self._epoch, self._notify, self._report)
        self._attempts[request.attempt] = attempt
        attempt.begin()

    def _report(self, report: Report) -> None:
        if isinstance(report, AttemptEnded):
            self._attempts.pop(report.attempt, None)
        sys.stdout.write(message_line(report) + "\n")
        sys.stdout.flush()

    def _read_notices(self, notices: socket.socket) -> None:
        """Every notice names a rank whose files have changed."""
        with contextlib.suppress(BlockingIOError):
            while message := notices.recv(_LARGEST_NOTICE_BYTES):
                attempt, rank, _ = json.loads(message)
                if attempt in self._attempts:
                    self._attempts[attempt].changed(rank)


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


def run_launcher() -> None:
    """Arguments: the epoch of the master, and the address for notices."""
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        asyncio.run(LocalLauncher(int(sys.argv[1]), Path(sys.argv[2])).run())


if __name__ == "__main__":
    run_launcher()
