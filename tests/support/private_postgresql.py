"""A PostgreSQL server of a test: reached through a Unix socket only, killed and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from waiting import wait_until

_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
_OWNER = "postgres"


class PrivatePostgresql:
    """A server with data of its own. It refuses to run as root, so root lends it a user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._user = {"user": _OWNER, "group": _OWNER, "extra_groups": []}
            shutil.chown(folder, _OWNER, _OWNER)
        self._process: subprocess.Popen[bytes] | None = None
        subprocess.run(
            [_program("initdb"), "-D", folder / "data", "-U", _OWNER, "--auth=trust", "-N"],
            cwd="/",
            check=True,
            stdout=subprocess.DEVNULL,
            **self._user,
        )
        self.start()

    def start(self) -> None:
        """Start the server; returns when it answers."""
        wait_until(self._has_started)

    def _has_started(self) -> bool:
        """Children of a killed server live on for a moment, and no other server starts then."""
        if self._process is None or self._process.poll() is not None:
            self._spawn()
        return self._answers()

    def _spawn(self) -> None:
        with open(self.folder.parent / f"{self.folder.name}.log", "ab") as log:
            self._process = subprocess.Popen(
                [
                    *(_program("postgres"), "-D", self.folder / "data", "-k", self.folder),
                    *("-c", "listen_addresses="),
                ],
                cwd="/",
                stdout=log,
                stderr=log,
                **self._user,
            )

    def kill(self) -> None:
        """Kill the server as a power failure does; its children end with it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """End the server at once."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()

    def database(self, name: str) -> str:
        """Create a database; returns its URL."""
        self.run(f'CREATE DATABASE "{name}"')
        return f"postgresql://{_OWNER}@/{name}?host={self.folder}"

    def tool(self, name: str, *arguments: str | Path) -> None:
        """Run one of PostgreSQL's own programs, such as `pg_dump`."""
        subprocess.run([_program(name), *arguments], check=True)

    def run(self, statement: str) -> None:
        """Run a statement in the database `postgres`."""
        import psycopg

        with psycopg.connect(
            host=str(self.folder), user=_OWNER, dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(statement.encode())

    def _answers(self) -> bool:
        import psycopg

        try:
            self.run("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def private_postgresql() -> Iterator[PrivatePostgresql]:
    """Skips the test where PostgreSQL is not installed."""
    if not _PROGRAMS:
        pytest.skip("needs PostgreSQL: tools/test_packages.sh installs it")
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp", ignore_cleanup_errors=True) as home:
        folder = Path(home) / "server"
        folder.mkdir(mode=0o700)
        os.chmod(home, 0o755)
        server = PrivatePostgresql(folder)
        try:
            yield server
        finally:
            server.end()


def _program(name: str) -> Path:
    return _PROGRAMS[-1] / name
