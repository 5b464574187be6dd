"""Requests that are answered once their work is done, however often they arrive."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

from motet.runtime.wire.exchange import answer
from motet.transport import Request


class Deduplicator:
    """Runs work by key; a repeated request, with the same key, gets the same answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, list[Request]] = {}
        self._done: dict[Hashable, Any] = {}

    def begin(self, key: Hashable, request: Request) -> bool:
        """Whether the work is new and must be run; the request is answered at its end."""
        with self._lock:
            is_new = key not in self._waiting and key not in self._done
            if key not in self._done:
                self._waiting.setdefault(key, []).append(request)
                return is_new
            message = self._done[key]
        answer(request, message)
        return False

    def run(self, key: Hashable, request: Request, work: Callable[[], Any]) -> None:
        """Do the work on a thread of its own, unless it is known; its result is the answer."""
        if self.begin(key, request):
            threading.Thread(target=self._run, args=(key, work), daemon=True).start()

    def _run(self, key: Hashable, work: Callable[[], Any]) -> None:
        try:
            message = work()
        except Exception as error:
            self.fail(key, error)
        else:
            self.finish(key, message)

    def finish(self, key: Hashable, message: Any) -> None:
        """The work is done: answer all requests with this key."""
        with self._lock:
            self._done[key] = message
            waiting = self._waiting.pop(key, [])
        for request in waiting:
            answer(request, message)

    def fail(self, key: Hashable, error: Exception) -> None:
        """The work failed; a later request with this key runs it again."""
        with self._lock:
            waiting = self._waiting.pop(key, [])
        for request in waiting:
            request.fail(error)
