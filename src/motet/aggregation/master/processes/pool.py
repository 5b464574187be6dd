"""A pool on this machine: starts pMaster, starts it again when it dies, and ends everything."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Self

from motet.aggregation.master.processes.launcher import ProcessLauncher
from motet.aggregation.master.processes.launcher_server import LauncherRequests
from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.aggregation.rule_defaults import LOSS_LIMIT, ON_DEMAND, PERIOD_S
from motet.domain.errors import MotetError
from motet.runtime.blas_threads import ONE_BLAS_THREAD
from motet.transport import Server, read_secret

_MODULE = "motet.aggregation.master.processes.master_process"
_PAUSE_S = 0.5
_MOST_DEATHS, _WITHIN_S = 5, 30.0


@dataclass(frozen=True)
class PoolSettings:
    """`most_aggregators`: processes that serve tensors. `loss_limit`: the share of its speed that
    no job may lose. `period_s`: between two changes that no job asked for. `on_demand`: new
    Aggregators that jobs may wait for until the period ends. `host`: where all processes listen.
    """

    most_aggregators: int
    loss_limit: float = LOSS_LIMIT
    period_s: float = PERIOD_S
    on_demand: int = ON_DEMAND
    host: str = "127.0.0.1"


class LocalPool:
    """A context manager; all its processes end with it, also if this process is killed."""

    def __init__(self, folder: PoolFolder, settings: PoolSettings) -> None:
        """Raises BadInput: the folder is in use, or not private. MotetError: no pMaster starts."""
        self.folder, self._settings = folder, settings
        self._claim: IO[str] = folder.open()
        self._ending = threading.Event()
        self._log = folder.log.open("ab")
        self._launcher = ProcessLauncher(folder.pool_secret, settings.host)
        self._server = Server(
            LauncherRequests(self._launcher).handle,
            read_secret(folder.pool_secret),
            host=settings.host,
        )
        folder.launcher.write_text(self._server.endpoint.encode(), encoding="utf-8")
        self.failure: str | None = None
        try:
            self._master = self._start_master()
        except BaseException:
            self.close()
            raise
        self._watcher = threading.Thread(target=self._watch, name="motet-pool", daemon=True)
        self._watcher.start()

    @property
    def master_id(self) -> int:
        """The process of the present pMaster."""
        return self._master.pid

    def aggregator_ids(self) -> Mapping[int, int]:
        """The processes of the Aggregators by number."""
        return self._launcher.process_ids()

    def wait(self) -> None:
        """Return when the pool has failed. Raises MotetError then."""
        self._watcher.join()
        if self.failure is not None:
            raise MotetError(self.failure)

    def close(self) -> None:
        """End all processes."""
        self._ending.set()
        if hasattr(self, "_master"):
            _end(self._master)
        self._launcher.close()
        self._server.close()
        self.folder.clear()
        self._log.close()
        self._claim.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _start_master(self) -> subprocess.Popen[bytes]:
        settings = self._settings
        process = subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", _MODULE, str(self.folder.path)),
                *("--host", settings.host),
                f"--most-aggregators={settings.most_aggregators}",
                f"--loss-limit={settings.loss_limit}",
                f"--period-s={settings.period_s}",
                f"--on-demand={settings.on_demand}",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=os.environ | ONE_BLAS_THREAD,
            start_new_session=True,  # Ctrl-C is for the process that ends it.
        )
        assert process.stdout is not None
        if not process.stdout.readline():
            status = process.wait()
            raise MotetError(f"pMaster ended with status {status}; see {self.folder.log}")
        return process

    def _watch(self) -> None:
        """Start pMaster again whenever it ends, unless it does so all the time."""
        deaths: list[float] = []
        while True:
            status = self._master.wait()
            if self._ending.is_set():
                return
            now_s = time.monotonic()
            deaths = [each for each in deaths if now_s - each < _WITHIN_S] + [now_s]
            if len(deaths) > _MOST_DEATHS:
                self.failure = (
                    f"pMaster ended {len(deaths)} times within {_WITHIN_S:.0f} s, last with status "
                    f"{status}; see {self.folder.log}"
                )
                return
            try:
                self._master = self._start_master()
            except MotetError:
                self._ending.wait(_PAUSE_S)
            else:
                if self._ending.is_set():  # `close` has seen the one before.
                    _end(self._master)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Its standard input tells it to end."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.terminate()
    process.wait()
