"""Which requests the audit log holds: changes, and what was refused."""

from __future__ import annotations

import time

from starlette.requests import Request

from motet.interfaces.server.accounts.caller_of_request import TARGET_KEY
from motet.interfaces.server.accounts.permissions import READING
from motet.live.accounts.audit_log import AuditEntry, AuditLog
from motet.live.accounts.roles import Caller

STRANGERS_PER_MINUTE = 60
_LONGEST = 200


class RequestAudit:
    """Of strangers at most STRANGERS_PER_MINUTE requests are recorded: they could fill the disk."""

    def __init__(self, log: AuditLog) -> None:
        self._log = log
        self._minute, self._strangers = 0, 0

    def answered(self, request: Request, caller: Caller | None, status: int) -> None:
        """Record the request, unless it has only read."""
        is_refused = status in (401, 403, 421)
        if request.method in READING and not is_refused:
            return
        now_us = time.time_ns() // 1000
        if caller is None and not self._has_room(now_us):
            return
        who = ("", "", "") if caller is None else (caller.user, caller.role.value, caller.token)
        source = request.client.host if request.client else ""
        action = _plain(f"{request.method} {request.scope['path']}")
        target = _plain(request.scope.get(TARGET_KEY, ""))
        self._log.record(AuditEntry(now_us, *who, source, action, target, status))

    def _has_room(self, now_us: int) -> bool:
        minute = now_us // 60_000_000
        if minute != self._minute:
            self._minute, self._strangers = minute, 0
        self._strangers += 1
        return self._strangers <= STRANGERS_PER_MINUTE


def _plain(text: str) -> str:
    """Printable and short: strangers choose paths."""
    shown = "".join(each if each.isprintable() else "?" for each in text[: _LONGEST + 1])
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 4] + " ..."
