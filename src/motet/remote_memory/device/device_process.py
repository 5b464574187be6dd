"""The process of a device: `python -m motet.remote_memory.device.device_process FOLDER NAME`.

It outlives its lenders and the command that started it: if it ended, programs that page to the
device would get bus errors.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

from motet.domain.errors import MotetError
from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory
from motet.remote_memory.device.device_start import StartedDevice
from motet.remote_memory.device.memory_folder import DevicePlace, MemoryFolder, write_endpoint
from motet.remote_memory.device.memory_lock import stay_in_memory
from motet.remote_memory.fuse.fuse_file import FuseFile
from motet.remote_memory.nbd.nbd_server import NbdServer
from motet.remote_memory.wire.memory_messages import BadMemoryMessage
from motet.remote_memory.wire.memory_views import MemoryCommand
from motet.transport import Request, Server, read_secret, use_short_switch_interval


class _Commands:
    """Answers `motet memory status` and `down`."""

    def __init__(self, memory: BorrowedMemory, nbd: NbdServer, ended: threading.Event) -> None:
        self._memory, self._nbd, self._ended = memory, nbd, ended

    def handle(self, request: Request) -> None:
        """See Handler."""
        if request.kind == MemoryCommand.DESCRIBE:
            view = self._memory.view(self._nbd.client_count, str(self._nbd.path))
            request.reply(0, view.encode())
        elif request.kind == MemoryCommand.END:
            request.reply()
            self._ended.set()
        else:
            raise BadMemoryMessage(f"a device has no request of kind {request.kind}")


def serve_device(folder: MemoryFolder, place: DevicePlace) -> None:
    """Serve until END, SIGTERM or SIGINT. Prints one line when it is ready. Raises BadInput."""
    started = StartedDevice.read(place.settings)
    stay_in_memory(is_swap=started.is_swap)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    secret = read_secret(folder.secret_file)
    lender_secret = secret if started.secret_file is None else read_secret(started.secret_file)
    with (
        folder.claim_device(place),
        BorrowedMemory(started.settings, started.lenders, lender_secret, place.name) as memory,
        NbdServer(place.socket, memory.store, place.name, memory.new_buffer) as nbd,
        Server(_Commands(memory, nbd, ended).handle, secret) as server,
        ExitStack() as stack,
    ):
        if started.has_file:
            stack.enter_context(FuseFile(place.file, memory.store))
        write_endpoint(place.endpoint, server.endpoint)
        print("ready", flush=True)  # noqa: T201 - for the starting process
        ended.wait()


def run_device_process() -> int:
    """Read the arguments and serve; the exit code."""
    parser = argparse.ArgumentParser(prog="motet.remote_memory.device")
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    given = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    use_short_switch_interval()
    folder = MemoryFolder(given.folder)
    Path("/proc/self/comm").write_text("motet-blockd", encoding="ascii")
    try:
        serve_device(folder, folder.device(given.name))
    except MotetError as error:
        print(f"error: {error}", flush=True)  # noqa: T201 - for the starting process
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(run_device_process())
