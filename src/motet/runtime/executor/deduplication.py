"""Requests that are answered once their work is done, however often they arrive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from motet.runtime.wire.exchange import answer
from motet.transport import Request


class Deduplicator:
    """Runs work by number; a request with a number that is known gets the same answer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, list[Request]] = {}
        self._done: dict[int, Any] = {}

    def begin(self, number: int, request: Request) -> bool:
        """Whether the work is new and must be run; the request is answered at its end."""
        with self._lock:
            is_new = number not in self._waiting and number not in self._done
            if number not in self._done:
                self._waiting.setdefault(number, []).append(request)
                return is_new
            message = self._done[number]
        answer(request, message)
        return False

    def run(self, number: int, request: Request, work: Callable[[], Any]) -> None:
        """Do the work on a thread of its own, unless it is known; its result is the answer."""
        if self.begin(number, request):
            threading.Thread(target=self._run, args=(number, work), daemon=True).start()

    def _run(self, number: int, work: Callable[[], Any]) -> None:
        try:
            message = work()
        except Exception as error:
            self.fail(number, error)
        else:
            self.finish(number, message)

    def finish(self, number: int, message: Any) -> None:
        """The work is done: answer all requests with this number."""
        with self._lock:
            self._done[number] = message
            waiting = self._waiting.pop(number, [])
        for request in waiting:
            answer(request, message)

    def fail(self, number: int, error: Exception) -> None:
        """The work failed; a request with this number that comes later runs it again."""
        with self._lock:
            waiting = self._waiting.pop(number, [])
        for request in waiting:
            request.fail(error)
