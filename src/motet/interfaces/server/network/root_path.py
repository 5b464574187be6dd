"""The path below which a reverse proxy serves the server."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class RootPath:
    """Takes the root path off requests, and puts it before the paths of redirections.

    A proxy may have taken it off already.
    """

    def __init__(self, app: ASGIApp, root: str) -> None:
        self._app, self._root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http" or not self._root:
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if path == self._root or path.startswith(self._root + "/"):
            inner = path[len(self._root) :] or "/"
            scope = {**scope, "path": inner, "raw_path": inner.encode(errors="replace")}

        async def rooted(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [self._header(*each) for each in message["headers"]]
            await send(message)

        await self._app(scope, receive, rooted)

    def _header(self, name: bytes, value: bytes) -> tuple[bytes, bytes]:
        is_path = name.lower() == b"location" and value.startswith(b"/")
        return name, self._root.encode() + value if is_path else value
