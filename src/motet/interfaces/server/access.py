"""Who may use the API: the token of every request, and the host names it may be sent to."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from motet.interfaces.server.accounts.caller_of_request import SCOPE_KEY, VALID_KEY
from motet.interfaces.server.accounts.permissions import READING, needed_role
from motet.interfaces.server.accounts.request_audit import RequestAudit
from motet.interfaces.server.network.connections import note_known
from motet.interfaces.server.network.exposure import Exposure
from motet.interfaces.server.web.sessions import COOKIE, Sessions
from motet.live.accounts.account_store import AccountStore
from motet.live.accounts.roles import Caller, Forbidden
from motet.live.workdirs.store import LARGEST_UPLOAD_BYTES

LARGEST_BODY_BYTES, LARGEST_LOGIN_BYTES = 4 << 20, 16 << 10
LONGEST_DETAIL = 480
_LOGIN = "/login"
_OPEN_PATHS = {"/api/v1/health", _LOGIN}
_OPEN_FOLDER, _API = "/static/", "/api/"
METRICS_PATH = "/metrics"
SNAPSHOTS_PATH = "/api/v1/snapshots/"

Next = Callable[[Request], Awaitable[Response]]


class Access:
    """Middleware that refuses strangers, and closes their connections.

    A page of another site can make a browser send requests to this server under a name of that
    site (DNS rebinding), so the Host header must be one of the names of `place`. Requests for pages
    may have a cookie in place of the token; those that change something must then come from a page
    of this server (Origin), and the API takes no cookie.
    """

    def __init__(
        self,
        accounts: AccountStore,
        sessions: Sessions,
        audit: RequestAudit,
        place: Exposure,
        *,
        has_open_metrics: bool = False,
    ) -> None:
        """`place`: names and schemes under which browsers reach the server. `has_open_metrics`:
        /metrics needs no token."""
        hosts = sorted(place.host_names)
        names = "|".join(re.escape(each).replace(r"\*", "[a-z0-9-]+") for each in hosts)
        self._accounts, self._sessions, self._audit = accounts, sessions, audit
        self._place = place
        self._open_paths = _OPEN_PATHS | ({METRICS_PATH} if has_open_metrics else set())
        self._host = re.compile(f"(?:{names})(?::[0-9]{{1,5}})?", re.IGNORECASE)

    async def __call__(self, request: Request, call_next: Next) -> Response:
        """Answer, or pass the request on."""
        caller = request.scope[SCOPE_KEY] = self._caller(request)
        if caller is not None:
            note_known(request.scope)
        request.scope[VALID_KEY] = lambda: self._caller(request) is not None
        status = 500
        try:
            answer = self._refusal(request, caller) or await call_next(request)
            status = answer.status_code
        finally:
            self._audit.answered(request, caller, status)
        if caller is None:
            answer.headers["Connection"] = "close"
        return answer

    def _refusal(self, request: Request, caller: Caller | None) -> Response | None:
        host = request.headers.get("host", "")
        if not self._host.fullmatch(host):
            return problem(421, f"this server does not answer for the host name {host[:100]!r}")
        # Not `request.url`, which depends on the Host header.
        path = request.scope["path"]
        if request.method not in READING and (fault := self._foreign_page(request, host)):
            return problem(403, fault)
        if path not in self._open_paths and not path.startswith(_OPEN_FOLDER):
            if caller is None:
                return _stranger(request.method, path)
            try:
                caller.require(needed_role(request.method, path))
            except Forbidden as error:
                return problem(403, str(error))
        if "transfer-encoding" in request.headers:
            return problem(411, "send the body with its Content-Length, not in chunks")
        largest = _largest_body(request.method, path)
        if int(request.headers.get("content-length", "0")) > largest:
            return problem(413, f"the request is larger than {largest} bytes")
        return None

    def _foreign_page(self, request: Request, host: str) -> str:
        """Why it does not come from a page of this server; empty if it does. Browsers send the
        Origin, other programs none."""
        origin, own = request.headers.get("origin"), f"{self._place.scheme_of(host)}://{host}"
        if origin is None:
            is_browser = bool(request.cookies.get(COOKIE))
            return "a request with a cookie needs an Origin" if is_browser else ""
        if origin == own:
            return ""
        return (
            f"the request comes from a page of {origin[:100]}, and this server is {own}; if they "
            "are the same, the proxy must pass the Host header on with its port"
        )

    def _caller(self, request: Request) -> Caller | None:
        cookie = request.cookies.get(COOKIE, "")
        if cookie and not request.scope["path"].startswith(_API):
            return self._sessions.caller_of(cookie)
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        return self._accounts.caller_of(given) if scheme.lower() == "bearer" else None


def _largest_body(method: str, path: str) -> int:
    """Of an archive, which a route writes to the disk, or of what is held in memory. Strangers may
    send a form to sign in, and nothing else."""
    if path == _LOGIN:
        return LARGEST_LOGIN_BYTES
    is_archive = method == "PUT" and path.startswith(SNAPSHOTS_PATH)
    return LARGEST_UPLOAD_BYTES if is_archive else LARGEST_BODY_BYTES


def _stranger(method: str, path: str) -> Response:
    if method == "GET" and not path.startswith((_API, METRICS_PATH)):
        return RedirectResponse(f"{_LOGIN}?next={quote(path)}", 303)
    return problem(401, "the token is missing, wrong, expired or revoked; set MOTET_TOKEN")


def problem(status: int, detail: str, **more: Any) -> JSONResponse:
    """An error as `application/problem+json` (RFC 9457)."""
    if len(detail) > LONGEST_DETAIL:
        detail = f"{detail[:LONGEST_DETAIL]} ..."
    content = {"status": status, "detail": detail, **more}
    return JSONResponse(content, status_code=status, media_type="application/problem+json")
