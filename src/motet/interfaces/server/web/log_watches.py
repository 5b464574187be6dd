"""Logs that open pages show: tells a page when there is more to read.

A page that has read a log to its end leaves a watch. The watch ends when the log has grown, or
after a minute: either way the page is told, and looks again. So nothing is left of closed pages.
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path

from motet.interfaces.server.web.changes import Changes

LOOK_S, LONGEST_WATCH_S = 0.5, 60.0
MOST_WATCHES = 500


@dataclass(frozen=True, slots=True)
class LogWatch:
    """A page of `user` has read `seen_bytes` of a log, which it knows as `name`."""

    user: str
    name: str
    path: Path
    seen_bytes: int


class LogWatches:
    """The watches of one server; used in its event loop only."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._watches: dict[tuple[str, str], tuple[LogWatch, float]] = {}
        self._looking: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """How many there are."""
        return len(self._watches)

    def add(self, watch: LogWatch) -> None:
        """Watch a log. Of several pages that show it, the one that has read least counts. Beyond
        MOST_WATCHES the oldest one ends, and its page is told."""
        key = watch.user, watch.name
        other, ends_s = self._watches.pop(key, (watch, time.monotonic() + LONGEST_WATCH_S))
        self._watches[key] = min(watch, other, key=lambda each: each.seen_bytes), ends_s
        if len(self._watches) > MOST_WATCHES:
            self._end(next(iter(self._watches.values()))[0])
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        """As long as there are watches."""
        while self._watches and not self._changes.is_closed:
            await asyncio.sleep(LOOK_S)
            watches = [watch for watch, _ in self._watches.values()]
            for watch in await asyncio.to_thread(_grown, watches):
                self._end(watch)
            now_s = time.monotonic()
            for watch, ends_s in [*self._watches.values()]:
                if ends_s < now_s:
                    self._end(watch)
        self._looking = None

    def _end(self, watch: LogWatch) -> None:
        if self._watches.pop((watch.user, watch.name), None) is not None:
            self._changes.log_grew(watch.user, watch.name)


def _grown(watches: list[LogWatch]) -> list[LogWatch]:
    return [watch for watch in watches if _size(watch.path) > watch.seen_bytes]


def _size(path: Path) -> int:
    """0 where nothing was written, or the file was deleted."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
