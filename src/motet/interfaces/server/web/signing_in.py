"""Signing in to the pages with a token, and out."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from motet.interfaces.server.accounts.caller_of_request import note_target
from motet.interfaces.server.web.renderer import PAGE_HEADERS, PageRenderer, local_path
from motet.interfaces.server.web.sessions import COOKIE, LIFETIME_S, Sessions
from motet.live.accounts.account_store import AccountStore


class SigningIn:
    """The routes /login and /logout."""

    def __init__(
        self,
        accounts: AccountStore,
        sessions: Sessions,
        pages: PageRenderer,
        *,
        is_encrypted: bool,
    ) -> None:
        """`is_encrypted`: browsers reach the server by https, and send the cookie no other way."""
        self._accounts, self._sessions, self._pages = accounts, sessions, pages
        self._is_encrypted = is_encrypted

    def add_to(self, app: FastAPI) -> None:
        """Add the routes."""
        for path, methods, route in (
            ("/login", ["GET", "HEAD"], self.login_form),
            ("/login", ["POST"], self.login),
            ("/logout", ["POST"], self.logout),
        ):
            app.add_api_route(
                path, route, methods=methods, include_in_schema=False, response_model=None
            )

    async def login_form(self, request: Request) -> Response:
        """Asks for the token."""
        return self._pages.render(
            request,
            "login.html",
            {"wrong": False, "next": local_path(request.query_params.get("next", "/"))},
        )

    async def login(self, request: Request) -> Response:
        """Set the cookie, if the token is right."""
        form = parse_qs((await request.body()).decode(errors="replace"))
        token, wanted = form.get("token", [""])[0], form.get("next", ["/"])[0]
        caller = self._accounts.caller_of(token)
        if caller is None:
            await asyncio.sleep(0.5)
            return self._pages.render(
                request, "login.html", {"wrong": True, "next": local_path(wanted)}, 401
            )
        note_target(request, f"session of {caller.user}")
        answer = RedirectResponse(local_path(wanted), 303, headers=PAGE_HEADERS)
        answer.set_cookie(
            COOKIE,
            self._sessions.issued(caller.token),
            LIFETIME_S,
            path=self._pages.root_path or "/",
            secure=self._is_encrypted,
            httponly=True,
            samesite="strict",
        )
        return answer

    async def logout(self) -> Response:
        """Forget the cookie."""
        answer = RedirectResponse("/login", 303, headers=PAGE_HEADERS)
        answer.delete_cookie(COOKIE, path=self._pages.root_path or "/")
        return answer
