"""Lines of the log on standard error, written by a thread that may be held up."""

from __future__ import annotations

import logging
import queue
import sys
import threading
from types import TracebackType
from typing import Self, TextIO

from motet.interfaces.server.event_log.line_formats import EventLine

MOST_LINES = 10_000
_CLOSE_WITHIN_S = 2.0


class LogWriter(logging.Handler):
    """Takes the records of all loggers from `__enter__` to `__exit__`.

    A reader of standard error that stands still must not stop the master: lines that do not fit
    into a queue of MOST_LINES are dropped, and counted in a later line.
    """

    def __init__(self, line: EventLine, level: int, stream: TextIO | None = None) -> None:
        super().__init__(level)
        self.setFormatter(line)
        self._stream = stream or sys.stderr
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_LINES)
        self._dropped = 0
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)

    def emit(self, record: logging.LogRecord) -> None:
        """See logging."""
        try:
            if self._dropped:
                lost = logging.LogRecord(
                    "motet.log", logging.WARNING, "", 0, "lines_dropped", (), None
                )
                lost.fields = {"lines": self._dropped}
                self._lines.put_nowait(self.format(lost))
                self._dropped = 0
            self._lines.put_nowait(self.format(record))
        except queue.Full:
            self._dropped += 1

    def __enter__(self) -> Self:
        self._thread.start()
        root = logging.getLogger()
        root.addHandler(self)
        logging.getLogger("motet").setLevel(self.level)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        logging.getLogger().removeHandler(self)
        logging.getLogger("motet").setLevel(logging.NOTSET)
        self.finish()

    def finish(self) -> None:
        """Write what waits, unless the reader stands still; later records are dropped."""
        try:
            self._lines.put(None, timeout=_CLOSE_WITHIN_S)
        except queue.Full:
            return
        self._thread.join(_CLOSE_WITHIN_S)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except (OSError, ValueError):  # The reader has gone; the server goes on.
                continue
