"""Routes of users, tokens and the audit log."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import FastAPI, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from motet.interfaces.api_access.token_life import USUAL_LIFE_DAYS
from motet.interfaces.server.accounts.caller_of_request import RequestCaller, note_target
from motet.interfaces.server.views import iso
from motet.live.accounts.account_store import LONGEST_LABEL, AccessToken, Account, AccountStore
from motet.live.accounts.audit_log import AuditEntry, AuditLog
from motet.live.accounts.roles import UserRole

_LARGEST_PAGE = 1000
_LONGEST_LIFE_DAYS = 3650


class UserRequest(BaseModel):
    """A user to create."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=100)]
    role: UserRole = UserRole.USER


class TokenRequest(BaseModel):
    """A token to create. `role`: the most that it allows; None: the user's. `days`: of its life;
    null: it has no end."""

    model_config = ConfigDict(extra="forbid")

    user: Annotated[str, Field(max_length=100)]
    role: UserRole | None = None
    label: Annotated[str, Field(max_length=LONGEST_LABEL)] = ""
    days: Annotated[int, Field(ge=1, le=_LONGEST_LIFE_DAYS)] | None = USUAL_LIFE_DAYS


def add_account_routes(app: FastAPI, accounts: AccountStore, audit: AuditLog) -> None:
    """Add the routes."""
    routes, users, tokens = AccountRoutes(accounts, audit), "/api/v1/users", "/api/v1/tokens"
    app.add_api_route("/api/v1/me", routes.me)
    app.add_api_route(users, routes.users)
    app.add_api_route(users, routes.create_user, methods=["POST"], status_code=201)
    app.add_api_route(users + "/{name}", routes.revoke_user, methods=["DELETE"])
    app.add_api_route(tokens, routes.tokens)
    app.add_api_route(tokens, routes.create_token, methods=["POST"], status_code=201)
    app.add_api_route(tokens + "/{token}", routes.revoke_token, methods=["DELETE"])
    app.add_api_route("/api/v1/audit", routes.audit)


class AccountRoutes:
    """What the API does with users and tokens."""

    def __init__(self, accounts: AccountStore, audit: AuditLog) -> None:
        self._accounts, self._audit = accounts, audit

    async def me(self, caller: RequestCaller) -> dict[str, Any]:
        """Who the token belongs to."""
        return {"user": caller.user, "role": caller.role.value, "token": caller.token}

    async def users(self) -> dict[str, Any]:
        """All users."""
        return {"users": [_account(each) for each in self._accounts.users()]}

    async def create_user(
        self, wanted: UserRequest, request: Request, caller: RequestCaller
    ) -> dict[str, Any]:
        """Create a user; a revoked one is a user again, without tokens."""
        create = self._accounts.create_user
        account = await asyncio.to_thread(create, wanted.name, wanted.role, caller.user)
        note_target(request, f"user {account.name} ({account.role})")
        return _account(account)

    async def revoke_user(self, name: str) -> dict[str, Any]:
        """Refuse all tokens of a user from now on. Jobs of the user run on."""
        return _account(await asyncio.to_thread(self._accounts.revoke_user, name))

    async def tokens(self, caller: RequestCaller) -> dict[str, Any]:
        """Tokens of all users for an admin, else the caller's own."""
        whose = None if caller.role is UserRole.ADMIN else caller.user
        return {"tokens": [_token(each) for each in self._accounts.tokens(whose)]}

    async def create_token(
        self, wanted: TokenRequest, request: Request, caller: RequestCaller
    ) -> dict[str, Any]:
        """Create a token; its text is in this answer only."""
        create = self._accounts.create_token
        values = wanted.user, wanted.role, wanted.label, wanted.days
        token, text = await asyncio.to_thread(create, *values, caller.user)
        note_target(request, f"token {token.id} of {token.user} ({token.role})")
        return {**_token(token), "text": text}

    async def revoke_token(self, token: str, caller: RequestCaller) -> dict[str, Any]:
        """Refuse a token from now on, and the web sessions that began with it."""
        return _token(await asyncio.to_thread(self._accounts.revoke_token, token, caller))

    async def audit(
        self,
        before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
        limit: Annotated[int, Query(ge=1, le=_LARGEST_PAGE)] = 100,
        user: Annotated[str, Query(max_length=100)] = "",
    ) -> dict[str, Any]:
        """Requests that changed something or were refused, the latest first."""
        found = await asyncio.to_thread(self._audit.entries, before, limit, user)
        more = found[-1][0] if len(found) == limit else None
        return {"entries": [_entry(number, each) for number, each in found], "next": more}


def _account(account: Account) -> dict[str, Any]:
    return {
        "name": account.name,
        "role": account.role.value,
        "created_at": iso(account.created_us or None),
        "created_by": account.created_by or None,
        "revoked_at": iso(account.revoked_us),
    }


def _token(token: AccessToken) -> dict[str, Any]:
    return {
        "id": token.id,
        "user": token.user,
        "role": token.role.value,
        "label": token.label,
        "created_at": iso(token.created_us),
        "created_by": token.created_by,
        "expires_at": iso(token.expires_us),
        "revoked_at": iso(token.revoked_us),
    }


def _entry(number: int, entry: AuditEntry) -> dict[str, Any]:
    return {
        "id": number,
        "at": iso(entry.at_us),
        "user": entry.user or None,
        "role": entry.role or None,
        "token": entry.token or None,
        "source": entry.source,
        "action": entry.action,
        "target": entry.target or None,
        "status": entry.status,
    }
