"""Writes logs through to the storage that the machines share, so that others can read them.

A client of a network file system keeps what a process writes in the memory of its machine for up to
half a minute: nobody else sees it until then, and with the machine it is lost.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

EVERY_S = 2.0
_LOG = logging.getLogger("motet.launcher")


class LogSync:
    """Looks at the logs of running processes again and again, on a thread of its own.

    A storage that does not answer keeps this thread waiting and nothing else. `logs`: may be called
    from any thread. `sync`: writes the file of a descriptor through.
    """

    def __init__(
        self, logs: Callable[[], Iterable[Path]], sync: Callable[[int], None] = os.fdatasync
    ) -> None:
        self._logs, self._sync = logs, sync
        self._written: dict[Path, int] = {}

    def start(self) -> None:
        """Begin; it ends with the program."""
        threading.Thread(target=self._run, name="log sync", daemon=True).start()

    def once(self) -> None:
        """Write through what has been added to each log since the last time."""
        self._written = {path: self._through(path) for path in self._logs()}

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(EVERY_S):
            self.once()

    def _through(self, path: Path) -> int:
        """How many bytes of a log are on the storage."""
        before = self._written.get(path, 0)
        try:
            if path.stat().st_size == before:
                return before
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                self._sync(file.fileno())
        except FileNotFoundError:  # Nothing was printed yet, or the job's files were deleted.
            return 0
        except OSError as error:  # The next time may be better; the process does not depend on it.
            _LOG.warning("%s: cannot be written through (%s)", path, error.strerror)
            return before
        return size
