"""Requests that are answered once something has been done, however often they arrive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from motet.runtime.wire.messages import ReplyStatus, encode_json
from motet.transport import Request


class Deduplicator:
    """Things to do by number; a request that comes again waits for the same end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asking: dict[int, list[Request]] = {}
        self._done: dict[int, Any] = {}

    def begin(self, number: int, request: Request) -> bool:
        """Whether the errand is new and must be run; otherwise the request is seen to."""
        with self._lock:
            is_new = number not in self._asking and number not in self._done
            if number not in self._done:
                self._asking.setdefault(number, []).append(request)
                return is_new
            report = self._done[number]
        request.reply(ReplyStatus.OK, encode_json(report))
        return False

    def run(self, number: int, request: Request, work: Callable[[], Any]) -> None:
        """Do the work on a thread of its own, unless it is being done; what it returns is told."""
        if self.begin(number, request):
            threading.Thread(target=self._run, args=(number, work), daemon=True).start()

    def _run(self, number: int, work: Callable[[], Any]) -> None:
        try:
            report = work()
        except Exception as error:
            self.fail(number, error)
        else:
            self.finish(number, report)

    def finish(self, number: int, report: Any) -> None:
        """The errand is done: tell everybody who asked."""
        with self._lock:
            self._done[number] = report
            asking = self._asking.pop(number, [])
        for request in asking:
            request.reply(ReplyStatus.OK, encode_json(report))

    def fail(self, number: int, error: Exception) -> None:
        """The errand cannot be done; who asks again has it tried again."""
        with self._lock:
            asking = self._asking.pop(number, [])
        for request in asking:
            request.fail(error)
