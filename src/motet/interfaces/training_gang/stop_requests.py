"""Signals that ask a training to stop: it ends after the present mini-batch, with a checkpoint."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Collection

from motet.interfaces.cli.shell.streams.visible import echo_note


class StopRequests:
    """Waits for signals on a thread of its own; all threads of the process must block them."""

    def __init__(
        self, signals: Collection[int], status: int, before_exit: Callable[[], None]
    ) -> None:
        """`status`: exit status if a signal comes before there is anything to suspend; what is
        called before."""
        self._signals, self._status, self._before_exit = signals, status, before_exit
        self._lock = threading.Lock()
        self._suspend: Callable[[], None] | None = None
        threading.Thread(target=self._wait, name="signals", daemon=True).start()

    def pass_to(self, suspend: Callable[[], None]) -> None:
        """From now on a signal calls this function instead of ending the process."""
        with self._lock:
            self._suspend = suspend

    def _wait(self) -> None:
        while True:
            name = signal.Signals(signal.sigwait(self._signals)).name
            with self._lock:
                if self._suspend is None:
                    try:
                        self._before_exit()
                    finally:
                        os._exit(self._status)
                self._suspend()
            echo_note(f"motet: {name}: training ends after this mini-batch, with a checkpoint")
