"""Errors as pages, for browsers: outside of the API, where a request accepts HTML."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias, cast

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from motet.domain.errors import MotetError
from motet.interfaces.server.web.renderer import PageRenderer

_API = "/api/"
_Handler: TypeAlias = Callable[[Request, Exception], Response]


def add_error_pages(app: FastAPI, renderer: PageRenderer) -> None:
    """Show what the application answers to these errors as pages. Called after its own handlers
    were added."""
    for kind in (MotetError, RequestValidationError, HTTPException):
        usual = cast(_Handler, app.exception_handlers[kind])
        app.add_exception_handler(kind, _page_or(usual, renderer))


def _page_or(usual: _Handler, renderer: PageRenderer) -> _Handler:
    def answer(request: Request, error: Exception) -> Response:
        told = usual(request, error)
        if not _wants_page(request):
            return told
        detail = str(json.loads(bytes(told.body))["detail"])
        return renderer.error(request, told.status_code, detail)

    return answer


def _wants_page(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    return "text/html" in accepted and not request.scope["path"].startswith(_API)
