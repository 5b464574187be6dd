"""Refuses query parameters that a route of the API does not have: a misspelt filter would choose
everything."""

from __future__ import annotations

from fastapi.routing import APIRoute
from starlette.requests import Request

from motet.domain.errors import UnknownName

_API = "/api/"


def require_known_parameters(request: Request) -> None:
    """Raises UnknownName. For all routes; pages ignore what they do not know."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute) or not route.path.startswith(_API):
        return
    if not request.query_params:
        return
    described = request.app.openapi()["paths"].get(route.path, {})
    parameters = described.get(request.method.lower(), {}).get("parameters", [])
    known = {each["name"] for each in parameters if each["in"] == "query"}
    for name in request.query_params:
        if name not in known:
            raise UnknownName("query parameter", name[:100], known)
