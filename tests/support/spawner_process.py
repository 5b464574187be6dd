"""A spawner of shepherds, which tests ask as a launcher does."""

from __future__ import annotations

import select
import signal
from dataclasses import dataclass
from os import close as close_descriptor
from pathlib import Path

from motet.live.launcher.rank_files import RankFiles
from motet.live.launcher.shepherds import read_reply, request_shepherd, start_spawner


@dataclass(frozen=True)
class ForkedShepherd:
    """`descriptor`: the pidfd of the process."""

    pid: int
    descriptor: int

    def send_signal(self, number: signal.Signals) -> None:
        signal.pidfd_send_signal(self.descriptor, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self) -> None:
        """Until it has ended."""
        events = select.poll()
        events.register(self.descriptor, select.POLLIN)
        events.poll()

    def close(self) -> None:
        """Wait for its end and release the pidfd."""
        self.wait()
        close_descriptor(self.descriptor)


class SpawnerProcess:
    """One spawner."""

    def __init__(self) -> None:
        self.process, self.socket = start_spawner()
        self.socket.setblocking(True)

    def fork(self, folder: Path) -> ForkedShepherd:
        """A shepherd for a folder. Raises ConnectionError: the spawner has ended."""
        request_shepherd(self.socket, RankFiles(folder))
        pid, descriptors = read_reply(self.socket)
        return ForkedShepherd(pid, *descriptors)

    def end(self) -> None:
        """Close the socket, as the end of a launcher does."""
        self.socket.close()
        self.process.wait()
