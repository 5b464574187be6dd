"""Tells open pages what has changed: a stream of server-sent events for each browser."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable

SHORTEST_PAUSE_S, HEARTBEAT_S = 0.5, 15.0
MOST_STREAMS, MOST_OF_USER = 200, 50


class _Stream:
    """An open page, and what it has not been told yet. `user`: who has signed in there."""

    def __init__(self, user: str) -> None:
        self.user, self.has_changed, self.logs = user, False, set[str]()
        self.event, self.loop = asyncio.Event(), asyncio.get_running_loop()

    def wake(self) -> None:
        self.loop.call_soon_threadsafe(self.event.set)

    def take(self) -> str:
        """Its events as text; it has been told them then."""
        self.event.clear()
        names = ["changed"] if self.has_changed else []
        lines = [f"event: {name}\ndata: \n\n" for name in names]
        lines += [f"event: log\ndata: {log}\n\n" for log in sorted(self.logs)]
        self.has_changed, self.logs = False, set()
        return "".join(lines)


class Changes:
    """Passes changes on to the streams. `changed` and `log_grew` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams: set[_Stream] = set()
        self.is_closed = False

    def changed(self) -> None:
        """Something of the cluster has changed."""
        with self._lock:
            for stream in self._streams:
                stream.has_changed = True
                stream.wake()

    def log_grew(self, user: str, log: str) -> None:
        """A log that a page of this user shows is worth another look."""
        with self._lock:
            for stream in self._streams:
                if stream.user == user:
                    stream.logs.add(log)
                    stream.wake()

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        self.changed()

    def is_full(self, user: str) -> bool:
        """Whether no further stream of this user may begin."""
        with self._lock:
            own = sum(each.user == user for each in self._streams)
            return len(self._streams) >= MOST_STREAMS or own >= MOST_OF_USER

    async def stream(self, user: str, is_valid: Callable[[], bool]) -> AsyncIterator[str]:
        """Text of the stream of this user: events, a comment where there are none.

        It ends with the next of them once `is_valid` is false: the user's token was revoked.
        """
        stream = _Stream(user)
        with self._lock:
            self._streams.add(stream)
        try:
            yield "retry: 2000\n\n"
            while not self.is_closed:
                try:
                    await asyncio.wait_for(stream.event.wait(), HEARTBEAT_S)
                except TimeoutError:
                    told, pause_s = ": nothing new\n\n", 0.0
                else:
                    with self._lock:
                        told, pause_s = stream.take(), SHORTEST_PAUSE_S
                if not is_valid():
                    return
                yield told
                await asyncio.sleep(pause_s)
        finally:
            with self._lock:
                self._streams.discard(stream)
