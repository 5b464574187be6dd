"""Tells open pages that something has changed: a stream of server-sent events."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

SHORTEST_PAUSE_S, HEARTBEAT_S = 0.5, 15.0
MOST_STREAMS = 200


class Changes:
    """Counts changes. `changed` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self.is_closed = False

    def changed(self) -> None:
        """Wake all streams."""
        with self._lock:
            waiting = [*self._waiting.items()]
        for event, loop in waiting:
            loop.call_soon_threadsafe(event.set)

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        self.changed()

    @property
    def is_full(self) -> bool:
        """Whether no further stream may begin."""
        with self._lock:
            return len(self._waiting) >= MOST_STREAMS

    async def stream(self) -> AsyncIterator[str]:
        """Text of the stream: an event after changes, a comment where there are none."""
        event = asyncio.Event()
        with self._lock:
            self._waiting[event] = asyncio.get_running_loop()
        try:
            yield "retry: 2000\n\n"
            while not self.is_closed:
                try:
                    await asyncio.wait_for(event.wait(), HEARTBEAT_S)
                except TimeoutError:
                    yield ": nothing new\n\n"
                    continue
                event.clear()
                yield "event: changed\ndata: \n\n"
                await asyncio.sleep(SHORTEST_PAUSE_S)
        finally:
            with self._lock:
                del self._waiting[event]
