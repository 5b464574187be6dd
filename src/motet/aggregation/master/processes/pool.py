"""A pool on this machine: starts pMaster, starts it again when it dies, and ends everything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Self

from motet.aggregation.master.processes.launcher import ProcessLauncher
from motet.aggregation.master.processes.launcher_server import LauncherRequests
from motet.aggregation.master.processes.master_child import MasterChild
from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.aggregation.master.processes.pool_settings import PoolSettings as PoolSettings
from motet.domain.errors import MotetError
from motet.transport import Server, read_secret


class LocalPool:
    """A context manager; all its processes end with it, also if this process is killed."""

    def __init__(self, folder: PoolFolder, settings: PoolSettings) -> None:
        """Raises BadInput: the folder is in use, or not private. MotetError: no pMaster starts."""
        self.folder = folder
        self._claim: IO[str] = folder.open()
        self._log = folder.log.open("ab")
        self._launcher = ProcessLauncher(folder.pool_secret, settings.host)
        self._server = Server(
            LauncherRequests(self._launcher).handle,
            read_secret(folder.pool_secret),
            host=settings.host,
        )
        folder.launcher.write_text(self._server.endpoint.encode(), encoding="utf-8")
        try:
            self._master = MasterChild(folder, settings, self._log)
        except BaseException:
            self.close()
            raise

    @property
    def master_id(self) -> int:
        """The process of the present pMaster."""
        return self._master.pid

    def aggregator_ids(self) -> Mapping[int, int]:
        """The processes of the Aggregators by number."""
        return self._launcher.process_ids()

    def wait(self) -> None:
        """Return when the pool has failed. Raises MotetError then."""
        self._master.wait()
        if self._master.failure is not None:
            raise MotetError(self._master.failure)

    def close(self) -> None:
        """End all processes."""
        if hasattr(self, "_master"):
            self._master.close()
        self._launcher.close()
        self._server.close()
        self.folder.clear()
        self._log.close()
        self._claim.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
