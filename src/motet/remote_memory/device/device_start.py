"""Starts the process of a device in the background, and asks it and lenders for their state."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from motet.domain.errors import BadInput, ConnectionLost, MotetError, Unreachable
from motet.remote_memory.borrower.borrowed_memory import DeviceSettings
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.device.memory_folder import DevicePlace, MemoryFolder
from motet.remote_memory.wire.memory_views import DeviceView, LenderView, MemoryCommand
from motet.transport import Connection, Endpoint

_MODULE = "motet.remote_memory.device.device_process"
_TIMEOUT_S = 10.0
_READY, _ERROR = "ready", "error: "


@dataclass(frozen=True)
class StartedDevice:
    """What a device process needs. `secret_file`: of the lenders; None: that of the folder.
    `is_swap`: it must be locked into memory. `has_file`: it is also a file, as FuseFile."""

    settings: DeviceSettings
    lenders: tuple[Endpoint, ...]
    secret_file: Path | None = None
    is_swap: bool = False
    has_file: bool = False

    def write(self, path: Path) -> None:
        """As JSON."""
        geometry = self.settings.geometry
        document = {
            "size_bytes": geometry.size_bytes,
            "slab_bytes": geometry.slab_bytes,
            "backup": str(self.settings.backup),
            "hot_slab": self.settings.hot_slab,
            "arena_bytes": self.settings.arena_bytes,
            "replicas": self.settings.replicas,
            "prefetch": self.settings.prefetch,
            "lenders": [each.encode() for each in self.lenders],
            "secret_file": None if self.secret_file is None else str(self.secret_file),
            "is_swap": self.is_swap,
            "has_file": self.has_file,
        }
        path.write_text(json.dumps(document), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises BadInput."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            settings = DeviceSettings(
                DeviceGeometry(int(found["size_bytes"]), int(found["slab_bytes"])),
                Path(found["backup"]),
                float(found["hot_slab"]),
                int(found["arena_bytes"]),
                int(found["replicas"]),
                bool(found["prefetch"]),
            )
            secret = found["secret_file"]
            lenders = tuple(map(Endpoint.decode, found["lenders"]))
            return cls(
                settings,
                lenders,
                None if secret is None else Path(secret),
                bool(found["is_swap"]),
                bool(found["has_file"]),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{path}: not the settings of a device: {error}") from error


def start_device(folder: MemoryFolder, place: DevicePlace, started: StartedDevice) -> int:
    """Start the process, and return its number; it is ready then, and goes on after this process.

    Raises BadInput: there is a device of this name, or it cannot be made.
    """
    with folder.claim_device(place):  # Only to see that no other one runs.
        place.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        started.write(place.settings)
    with place.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, str(folder.path), place.name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
            env=os.environ,
        )
    assert process.stdout is not None
    line = process.stdout.readline().rstrip("\n")
    process.stdout.close()
    if line == _READY:
        return process.pid
    process.wait()
    place.clear()
    if line.startswith(_ERROR):
        raise BadInput(line.removeprefix(_ERROR))
    raise MotetError(f"the device ended with status {process.returncode}; see {place.log}")


def device_view(folder: MemoryFolder, place: DevicePlace) -> DeviceView:
    """The state of a device. Raises Unreachable: it does not run."""
    return DeviceView.decode(_ask(place.endpoint, folder.secret(), MemoryCommand.DESCRIBE))


def end_device(folder: MemoryFolder, place: DevicePlace) -> None:
    """End a device and remove its backup. Raises Unreachable: it does not run."""
    with suppress(ConnectionLost):  # It has ended before its reply was sent.
        _ask(place.endpoint, folder.secret(), MemoryCommand.END)
    folder.await_end(place)
    place.clear()


def kill_device(folder: MemoryFolder, place: DevicePlace) -> None:
    """End a device that does not answer; who uses it gets I/O errors. Raises BadInput: see
    `MemoryFolder.process_of`."""
    process = folder.process_of(place)
    if process is not None:
        os.kill(process, signal.SIGKILL)
        folder.await_end(place)


def lender_view(endpoint_file: Path, secret: bytes) -> LenderView:
    """The state of a lender. Raises Unreachable: it does not run."""
    return LenderView.decode(_ask(endpoint_file, secret, MemoryCommand.DESCRIBE))


def _ask(endpoint_file: Path, secret: bytes, command: MemoryCommand) -> bytes:
    try:
        endpoint = Endpoint.decode(endpoint_file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Unreachable(f"{endpoint_file}: nothing runs there") from None
    with Connection(endpoint, secret, retry_for_s=0.0) as connection:
        try:
            return connection.request(command, timeout_s=_TIMEOUT_S).meta
        except TimeoutError as error:
            raise Unreachable(f"{endpoint}: {error}") from error
