"""Who may use the API: the token of every request, and the host names it may be sent to."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from motet.domain.errors import BadInput
from motet.interfaces.server_address import TOKEN_FILE

LARGEST_BODY_BYTES = 4 << 20
_OPEN_PATHS = {"/api/v1/health"}

Next = Callable[[Request], Awaitable[Response]]


def server_token(folder: Path) -> str:
    """The token of the server whose state is in `folder`; a new one is created. Raises BadInput
    for a token that other users can read."""
    path = folder / TOKEN_FILE
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    if path.stat().st_mode & 0o077:
        raise BadInput(f"{path}: other users can read this token; chmod 600 it, or delete it")
    return path.read_text(encoding="ascii").strip()


class Access:
    """Middleware that refuses strangers.

    A page of another site can make a browser send requests to this server under a name of that
    site (DNS rebinding), so the Host header must be one of `hosts`.
    """

    def __init__(self, token: str, hosts: frozenset[str]) -> None:
        self._token, self._hosts = token, hosts

    async def __call__(self, request: Request, call_next: Next) -> Response:
        """Answer, or pass the request on."""
        host = request.headers.get("host", "").rsplit(":", 1)[0]
        if host not in self._hosts:
            return problem(421, f"this server does not answer for the host name {host[:100]!r}")
        if request.url.path not in _OPEN_PATHS and not self._is_known(request):
            return problem(401, "the token is missing or wrong; set MOTET_TOKEN")
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LARGEST_BODY_BYTES:
            return problem(413, f"the request is larger than {LARGEST_BODY_BYTES} bytes")
        return await call_next(request)

    def _is_known(self, request: Request) -> bool:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        is_equal = hmac.compare_digest(given.strip().encode(), self._token.encode())
        return scheme.lower() == "bearer" and is_equal


def problem(status: int, detail: str, **more: Any) -> JSONResponse:
    """An error as `application/problem+json` (RFC 9457)."""
    content = {"status": status, "detail": detail, **more}
    return JSONResponse(content, status_code=status, media_type="application/problem+json")
