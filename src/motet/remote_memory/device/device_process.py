"""The process of a device: `python -m motet.remote_memory.device.device_process FOLDER NAME`.

It outlives its lenders and the command that started it: if it ended, programs that page to the
device would get bus errors.
"""

from __future__ import annotations

import argparse
import ctypes
import logging
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

from motet.domain.errors import MotetError
from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory
from motet.remote_memory.device.device_start import StartedDevice
from motet.remote_memory.device.memory_folder import DevicePlace, MemoryFolder, write_endpoint
from motet.remote_memory.nbd.nbd_server import NbdServer
from motet.remote_memory.wire.memory_messages import BadMemoryMessage
from motet.remote_memory.wire.memory_views import MemoryCommand
from motet.transport import Request, Server, read_secret, use_short_switch_interval

_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_SURVIVES_OUT_OF_MEMORY = "-1000"


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
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    secret = read_secret(folder.secret_file)
    lender_secret = secret if started.secret_file is None else read_secret(started.secret_file)
    with (
        folder.claim(f"device-{place.name}"),
        BorrowedMemory(started.settings, started.lenders, lender_secret, place.name) as memory,
        NbdServer(place.socket, memory.store, place.name) as nbd,
        Server(_Commands(memory, nbd, ended).handle, secret) as server,
    ):
        write_endpoint(place.endpoint, server.endpoint)
        print("ready", flush=True)  # noqa: T201 - for the starting process
        ended.wait()


def stay_in_memory() -> None:
    """Never be paged out to the own device, and be the last that the kernel kills; as root.

    Other users may lock little memory, and a lock of future memory would fail later.
    """
    if os.geteuid():
        return
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_SURVIVES_OUT_OF_MEMORY, encoding="ascii")
    library = ctypes.CDLL(None, use_errno=True)
    if library.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT):
        logging.warning("not locked into memory: %s", os.strerror(ctypes.get_errno()))


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
        stay_in_memory()
        serve_device(folder, folder.device(given.name))
    except MotetError as error:
        print(f"error: {error}", flush=True)  # noqa: T201 - for the starting process
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(run_device_process())
