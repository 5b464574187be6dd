"""pMaster as a child process that is started again whenever it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO

from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.aggregation.master.processes.pool_settings import PoolSettings
from motet.domain.errors import MotetError
from motet.runtime.blas_threads import ONE_BLAS_THREAD

_MODULE = "motet.aggregation.master.processes.master_process"
_PAUSE_S = 0.5
_MOST_DEATHS, _WITHIN_S = 5, 30.0


def _ignore() -> None:
    """For starters that need not know of each start."""


class MasterChild:
    """Ends with this process. `failure`: why pMaster is not started again; None: it is.

    `launcher.json` of the folder names a launcher that serves already.
    """

    def __init__(
        self,
        folder: PoolFolder,
        settings: PoolSettings,
        log: IO[bytes],
        *,
        on_start: Callable[[], None] = _ignore,
        rest_s: float | None = None,
    ) -> None:
        """`on_start`: called on a thread whenever a pMaster serves that is not the first one.
        `rest_s`: the pause after many deaths; None: pMaster is given up then.

        Raises MotetError: no pMaster starts.
        """
        self._folder, self._settings, self._log = folder, settings, log
        self._on_start, self._rest_s = on_start, rest_s
        self._ending = threading.Event()
        self.failure: str | None = None
        self._process = self._started()
        self._watcher = threading.Thread(target=self._watch, name="motet-pool", daemon=True)
        self._watcher.start()

    @property
    def pid(self) -> int:
        """The process of the present pMaster."""
        return self._process.pid

    def wait(self) -> None:
        """Return once pMaster is not started again."""
        self._watcher.join()

    def close(self) -> None:
        """End it."""
        self._ending.set()
        _end(self._process)

    def _started(self) -> subprocess.Popen[bytes]:
        settings = self._settings
        process = subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", _MODULE, str(self._folder.path)),
                *("--host", settings.host),
                f"--most-aggregators={settings.most_aggregators}",
                f"--loss-limit={settings.loss_limit}",
                f"--period-s={settings.period_s}",
                f"--on-demand={settings.on_demand}",
                *([] if settings.link_bps is None else [f"--link-bps={settings.link_bps}"]),
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
            raise MotetError(f"pMaster ended with status {status}; see {self._folder.log}")
        return process

    def _watch(self) -> None:
        deaths: list[float] = []
        while True:
            status = self._process.wait()
            if self._ending.is_set():
                return
            now_s = time.monotonic()
            deaths = [each for each in deaths if now_s - each < _WITHIN_S] + [now_s]
            if len(deaths) > _MOST_DEATHS:
                if self._rest_s is None:
                    self.failure = (
                        f"pMaster ended {len(deaths)} times within {_WITHIN_S:.0f} s, last with "
                        f"status {status}; see {self._folder.log}"
                    )
                    return
                self._ending.wait(self._rest_s)
            self._start_again()

    def _start_again(self) -> None:
        try:
            self._process = self._started()
        except MotetError:
            self._ending.wait(_PAUSE_S)
            return
        if self._ending.is_set():  # `close` has seen the one before.
            _end(self._process)
        else:
            self._on_start()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Its standard input tells it to end."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.terminate()
    process.wait()
