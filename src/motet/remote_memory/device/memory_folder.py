"""The folder of this user's lender and devices: addresses, the secret, logs."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from motet.domain.errors import BadInput
from motet.remote_memory.device.role_lock import (
    await_end_of_role,
    claim_role,
    holder_of_role,
)
from motet.transport import Endpoint, new_secret, read_secret, write_secret

_LENDER_ROLE = "lender"
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,31}")


@dataclass(frozen=True)
class DevicePlace:
    """The files of one device; `name`: as the user chose it."""

    path: Path
    name: str

    @property
    def socket(self) -> Path:
        """Of the NBD server."""
        return self.path / "nbd.sock"

    @property
    def endpoint(self) -> Path:
        """Where the process answers commands."""
        return self.path / "address.json"

    @property
    def settings(self) -> Path:
        """What the process was started with."""
        return self.path / "settings.json"

    @property
    def backup(self) -> Path:
        """The backup file, unless the user names another."""
        return self.path / "backup"

    @property
    def file(self) -> Path:
        """The device as a file, if it is one."""
        return self.path / "file"

    @property
    def swap(self) -> Path:
        """Which block device of the kernel it is swap space on."""
        return self.path / "swap.json"

    @property
    def log(self) -> Path:
        """What the process writes."""
        return self.path / "device.log"

    def clear(self) -> None:
        """Remove what a device leaves that has ended, but the log; its pages are lost."""
        for path in (self.socket, self.endpoint, self.settings, self.backup, self.file, self.swap):
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class MemoryFolder:
    """Only its user may enter it."""

    path: Path

    @property
    def lender(self) -> Path:
        """The endpoint of the lender of this machine."""
        return self.path / "lender.json"

    def last_lender_port(self) -> int | None:
        """Of the lender that ran last; None: there was none, or the file cannot be read."""
        try:
            text = self._lender_port.read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return None
        return int(text) if text.isdecimal() and 0 < int(text) < 1 << 16 else None

    def keep_lender_port(self, port: int) -> None:
        """For the next lender: devices know the address of this one."""
        self._lender_port.write_text(f"{port}\n", encoding="ascii")

    @property
    def _lender_port(self) -> Path:
        return self.path / "lender.port"

    @property
    def secret_file(self) -> Path:
        """The secret of all lenders and devices that belong together."""
        return self.path / "secret"

    def open(self) -> None:
        """Create the folder. Raises BadInput: others can enter it."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.path.stat()
        except OSError as error:
            raise BadInput(f"{self.path}: cannot keep addresses there: {error.strerror}") from error
        if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise BadInput(
                f"{self.path}: other users can enter the folder, which holds the secret; "
                f"chmod 700 {self.path}, or give another --state-dir"
            )

    def secret(self) -> bytes:
        """The secret; a new one the first time. Raises BadInput."""
        self.open()
        if not self.secret_file.exists():
            try:
                write_secret(self.secret_file, new_secret())
            except BadInput:
                if not self.secret_file.exists():
                    raise
        return read_secret(self.secret_file)

    def claim_lender(self) -> IO[str]:
        """Keep others from lending as long as the file is open. Raises BadInput: one does."""
        lock = self._claim(_LENDER_ROLE)
        self.lender.unlink(missing_ok=True)  # Of a lender that was killed: this one starts.
        return lock

    def claim_device(self, place: DevicePlace) -> IO[str]:
        """Keep others from this device as long as the file is open. Raises BadInput: it runs."""
        return self._claim(_role(place))

    def await_end(self, place: DevicePlace) -> None:
        """Return once the process of a device has ended."""
        await_end_of_role(self._lock(_role(place)))

    def process_of(self, place: DevicePlace) -> int | None:
        """The process of a device, also if it is stopped; None: it has ended. Raises BadInput: it
        has only begun to start, and has not told its number yet."""
        found = holder_of_role(self._lock(_role(place)))
        if found == 0:
            raise BadInput(f"device {place.name!r} starts just now; try again")
        return found

    def lender_process(self) -> int | None:
        """The process of the lender, also if it is stopped; None: there is none; 0: there is one
        that has not told its number yet."""
        return holder_of_role(self._lock(_LENDER_ROLE))

    def device(self, name: str) -> DevicePlace:
        """The files of a device; its folder may not exist. Raises BadInput."""
        if not _NAME.fullmatch(name):
            raise BadInput(
                f"device {name!r:.50}: give letters, digits, '.', '_' and '-', at most 32"
            )
        return DevicePlace(self.path / "devices" / name, name)

    def devices(self) -> list[DevicePlace]:
        """Those that run, and those that died."""
        return [
            DevicePlace(path.parent, path.parent.name)
            for path in sorted((self.path / "devices").glob("*/settings.json"))
        ]

    def _claim(self, role: str) -> IO[str]:
        """Raises BadInput."""
        lock = claim_role(self._lock(role))
        if lock is None:
            raise BadInput(f"{self.path}: {_text_of(role)} of this user runs already")
        return lock

    def _lock(self, name: str) -> Path:
        return self.path / f"{name}.lock"


def _role(place: DevicePlace) -> str:
    return f"device-{place.name}"


def _text_of(role: str) -> str:
    kind, _, name = role.partition("-")
    return f"device {name!r}" if name else f"a {kind}"


def default_memory_folder() -> Path:
    """The folder of this user."""
    from platformdirs import user_data_path

    return user_data_path("motet") / "memory"


def write_endpoint(path: Path, endpoint: Endpoint) -> None:
    """Write an address file in one step."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(endpoint.encode() + "\n", encoding="utf-8")
    temporary.replace(path)
