"""A device at a lender: the request that it keeps open, and messages that wait for the next one."""

from __future__ import annotations

import threading
from collections import deque

from motet.remote_memory.wire.memory_messages import MemoryMessage
from motet.transport import Request


class MemoryClient:
    """Thread-safe. `name`: unique for one connection of one device."""

    def __init__(self, name: str, request: Request) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._messages: deque[MemoryMessage] = deque()
        self._last = request
        self._listener: Request | None = None

    @property
    def is_connected(self) -> bool:
        """Whether its control connection still exists."""
        return self._last.is_connected

    def disconnect(self) -> None:
        """End its control connection."""
        self._last.disconnect()

    def listen(self, request: Request) -> None:
        """The device waits for the next message."""
        with self._lock:
            self._last = self._listener = request
            self._deliver()

    def post(self, message: MemoryMessage) -> None:
        """Send a message, now or with the next LISTEN."""
        with self._lock:
            self._messages.append(message)
            self._deliver()

    def _deliver(self) -> None:
        if self._listener is None or not self._messages:
            return
        message, listener = self._messages.popleft(), self._listener
        self._listener = None
        listener.reply(message.kind, message.encode())
