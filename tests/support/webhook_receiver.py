"""A program that webhooks tell what happens."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """Keeps what arrives. `answers`: statuses of the next answers; then 204."""

    def __init__(self) -> None:
        self.messages: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.send_response(receiver.take(headers, body))
                self.send_header("location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def take(self, headers: dict[str, str], body: bytes) -> int:
        with self._lock:
            self.messages.append((headers, body))
            return self.answers.pop(0) if self.answers else 204

    def told(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Ids, kinds and data, in the order of arrival."""
        documents = [(headers["webhook-id"], json.loads(body)) for headers, body in self.messages]
        return [(number, each["type"], each["data"]) for number, each in documents]

    def kinds(self) -> list[str]:
        return [kind for _, kind, _ in self.told()]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
