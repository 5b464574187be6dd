"""What the OpenAPI document says of all routes: errors, and the token."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

API_DOCUMENT = "/api/v1/openapi.json"
_PROBLEM = {
    "type": "object",
    "required": ["status", "detail"],
    "properties": {"status": {"type": "integer"}, "detail": {"type": "string"}},
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    kind: {"description": text, "content": {"application/problem+json": {"schema": _PROBLEM}}}
    for kind, text in (
        ("4XX", "The request is refused (RFC 9457)."),
        ("503", "The server is stopping, or cannot write to its storage."),
    )
}
BYTES: dict[int | str, dict[str, Any]] = {200: {"content": {"application/octet-stream": {}}}}
"""Of a route that answers with bytes."""
EVENT_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
"""Of a route that answers with a stream of events."""


def told_lines(media_type: str) -> dict[int | str, dict[str, Any]]:
    """Of a route that also answers with lines of JSON, as `media_type`, to who accepts that."""
    line = {
        "description": "The schema of each line: phases, then the answer or a problem.",
        "oneOf": [
            _line_with("phase", {"type": "string"}),
            _line_with("answer", {"type": "object"}),
            _PROBLEM,
        ],
    }
    return {200: {"content": {media_type: {"schema": line}}}}


def _line_with(name: str, schema: dict[str, str]) -> dict[str, Any]:
    return {"type": "object", "required": [name], "properties": {name: schema}}


def describe_token(app: FastAPI) -> None:
    """Let the document say that every request needs a token. Called after the last route."""
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes["token"] = {"type": "http", "scheme": "bearer"}
    document["security"] = [{"token": []}]
    document["paths"]["/api/v1/health"]["get"]["security"] = []
    app.openapi_schema = document
