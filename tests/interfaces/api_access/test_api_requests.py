"""The errors that answers of a server mean."""

from __future__ import annotations

import httpx
import pytest

from motet.domain.errors import AuthenticationFailed, MotetError, NotFound
from motet.interfaces.api_access.api_requests import answered_error


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (httpx.Response(404, json={"detail": "there is no job 7"}), NotFound, "there is no job 7"),
        (
            httpx.Response(404, text="<h1>404</h1>"),
            NotFound,
            "the server answered 404 Not Found; behind a proxy, the URL ends with its path prefix",
        ),
        (
            httpx.Response(502, text="<h1>502</h1>"),
            MotetError,
            "the server answered 502 Bad Gateway",
        ),
        (httpx.Response(403, json={"detail": "admins only"}), AuthenticationFailed, "admins only"),
    ],
)
def test_an_error_says_what_the_server_or_a_proxy_answers(
    answer: httpx.Response, kind: type[MotetError], message: str
) -> None:
    error = answered_error(answer)
    assert (type(error), str(error)) == (kind, message)
