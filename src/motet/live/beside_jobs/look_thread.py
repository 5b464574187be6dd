"""The thread of what the server keeps beside the jobs: it looks when there is news, and every few
seconds."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from motet.domain.errors import MotetError

_LOG = logging.getLogger("motet.server")
_RETRY_S = 1.0
_RESTART_S = 30.0


class LookThread:
    """Thread-safe. `changed`: guards what the owner hands to the thread.

    Nothing would tell that the thread has ended, so no error ends it: what fails is logged and
    tried again.
    """

    def __init__(self, name: str, run: Callable[[], None]) -> None:
        """`name`: in the log. `run`: of the thread; prepares what looks need, then calls
        `look_until_closed`."""
        self.changed = threading.Condition()
        self._name, self._prepared = name, run
        self._is_news = self._is_closing = False
        self._soon_until_s = 0.0
        self._thread = threading.Thread(target=self._run, name=f"motet-cluster-{name}", daemon=True)

    def start(self) -> None:
        """Once."""
        self._thread.start()

    def close(self) -> None:
        """Wait for the end of the look in progress; also if it has not started."""
        with self.changed:
            self._is_closing = True
            self.changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    def tell(self) -> None:
        """There is news: the next look is at once."""
        with self.changed:
            self._is_news = True
            self.changed.notify_all()

    # -- the thread --------------------------------------------------------------------------------

    def rest(self, for_s: float) -> bool:
        """Wait; False: it is the end."""
        with self.changed:
            return not self.changed.wait_for(lambda: self._is_closing, for_s)

    def look_until_closed(
        self, look: Callable[[bool], None], every_s: float, soon_s: float
    ) -> None:
        """Until the end. `look`: is given whether there is news, which it gets again after an
        error. `soon_s`: between looks in the time `every_s` after news."""
        while (is_news := self._wait(every_s, soon_s)) is not None:
            try:
                look(is_news)
            except Exception as error:
                self._report(error)
                if is_news and self.rest(_RETRY_S):
                    self.tell()

    def _wait(self, every_s: float, soon_s: float) -> bool | None:
        """Whether there is news; None: it is the end."""
        with self.changed:
            is_soon = time.monotonic() < self._soon_until_s
            self.changed.wait_for(
                lambda: self._is_news or self._is_closing, soon_s if is_soon else every_s
            )
            is_news, self._is_news = self._is_news, False
            if is_news:
                self._soon_until_s = time.monotonic() + every_s
            return None if self._is_closing else is_news

    def _run(self) -> None:
        while True:
            try:
                self._prepared()
            except Exception as error:
                self._report(error)
            if not self.rest(_RESTART_S):
                return

    def _report(self, error: Exception) -> None:
        if isinstance(error, MotetError | OSError):
            _LOG.warning(f"{self._name}_unreachable", extra={"fields": {"error": str(error)}})
        else:
            _LOG.exception(f"{self._name}_failed", extra={"fields": {"error": repr(error)}})
