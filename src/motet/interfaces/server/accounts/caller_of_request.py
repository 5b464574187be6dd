"""The caller that `Access` found, as an argument of routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeAlias

from fastapi import Depends
from starlette.requests import Request

from motet.live.accounts.roles import Caller

SCOPE_KEY, TARGET_KEY, VALID_KEY = "motet.caller", "motet.target", "motet.is_valid"


def caller_of_request(request: Request) -> Caller:
    """Who sends the request; `Access` lets no other requests pass."""
    caller: Caller = request.scope[SCOPE_KEY]
    return caller


def is_still_valid(request: Request) -> bool:
    """Whether it would pass now: its token may have expired, or been revoked, since it was sent."""
    is_valid: Callable[[], bool] = request.scope[VALID_KEY]
    return is_valid()


def note_target(request: Request, target: str) -> None:
    """What the request has created, for the audit log."""
    request.scope[TARGET_KEY] = target


RequestCaller: TypeAlias = Annotated[Caller, Depends(caller_of_request)]
