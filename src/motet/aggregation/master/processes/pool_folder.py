"""The folder of a pool: addresses, secrets and pMaster's state. Only its user may enter it."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from motet.aggregation.wire.pool_address import ADDRESS_FILE, PROGRAM_SECRET_FILE
from motet.domain.errors import BadInput
from motet.transport import new_secret, write_secret

_LOOK_EVERY_S = 0.05


@dataclass(frozen=True)
class PoolFolder:
    """Names of its files. `pool_secret`: of pMaster, the launcher and the Aggregators."""

    path: Path

    @property
    def address(self) -> Path:
        """The address file for programs and commands."""
        return self.path / ADDRESS_FILE

    @property
    def program_secret(self) -> Path:
        """The secret of programs and commands."""
        return self.path / PROGRAM_SECRET_FILE

    @property
    def pool_secret(self) -> Path:
        """The secret inside the pool."""
        return self.path / "pool-secret"

    @property
    def launcher(self) -> Path:
        """The endpoint of the launcher."""
        return self.path / "launcher.json"

    @property
    def state(self) -> Path:
        """pMaster's state."""
        return self.path / "state.json"

    @property
    def log(self) -> Path:
        """What pMaster and the Aggregators write."""
        return self.path / "pool.log"

    @property
    def aggregators(self) -> Path:
        """Of a live cluster: a folder for each Aggregator that its launcher runs."""
        return self.path / "aggregators"

    def lock_master(self, patience_s: float = 30.0) -> IO[str]:
        """Wait until no other pMaster uses the state; this one does until the file is closed.

        Raises BadInput: one still does after a while.
        """
        lock = (self.path / "master-lock").open("w", encoding="ascii")
        until_s = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except OSError:
                if time.monotonic() > until_s:
                    lock.close()
                    raise BadInput(f"{self.path}: another pMaster does not end") from None
            time.sleep(_LOOK_EVERY_S)

    def open(self, *, goes_on: bool = False) -> IO[str]:
        """Claim the folder for a new pool, with new secrets; the claim ends with the file.

        `goes_on`: with what the pool before it has left, whose Aggregators may run.

        Raises BadInput: another pool runs there, or others can enter the folder.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._require_private()
            lock = (self.path / "lock").open("w", encoding="ascii")
        except OSError as error:
            raise BadInput(f"{self.path}: cannot keep a pool there: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise BadInput(
                f"{self.path}: a pool of Aggregators runs there already; end it, or give another "
                "--state-dir"
            ) from None
        if not goes_on:
            self.clear()
        for path in (self.program_secret, self.pool_secret):
            if not path.exists():
                write_secret(path, new_secret())
        return lock

    def clear(self) -> None:
        """Remove what a pool leaves that has ended, but its log."""
        for path in (
            *(self.address, self.launcher, self.state),
            *(self.program_secret, self.pool_secret, self.path / "master-lock"),
        ):
            path.unlink(missing_ok=True)

    def _require_private(self) -> None:
        found = self.path.stat()
        if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise BadInput(
                f"{self.path}: other users can enter the folder of the pool, which holds its "
                f"secrets; chmod 700 {self.path}, or give another --state-dir"
            )
