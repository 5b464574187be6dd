"""A thread that copies large answers, while the next tensor is computed."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

_LOG = logging.getLogger(__name__)


class AnswerThread:
    """Runs calls in order."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="motet-answer", daemon=True)
        self._thread.start()

    def run(self, call: Callable[[], None]) -> None:
        """Soon, on the thread."""
        self._calls.put(call)

    def close(self) -> None:
        """End after the calls so far."""
        self._calls.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call()
            except Exception:  # Of one client: all others are still to be answered.
                _LOG.exception("an answer failed")
