"""Requests to one server, and the errors that its answers mean."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from motet.domain.errors import AuthenticationFailed, BadInput, MotetError, NotFound, Unreachable
from motet.interfaces.server_address import ServerAddress

_ERRORS: Mapping[int, type[MotetError]] = {
    400: BadInput,
    401: AuthenticationFailed,
    403: AuthenticationFailed,
    404: NotFound,
    409: BadInput,
    413: BadInput,
    421: BadInput,
    422: BadInput,
    503: Unreachable,
}
TIMEOUT_S = 30.0
"""For every part of an answer, unless the request states another one."""


class ApiRequests:
    """`url`: of the server. `timeout_s`: for every part of an answer."""

    def __init__(self, address: ServerAddress, timeout_s: float = TIMEOUT_S) -> None:
        self.url, self._address, self._timeout_s = address.url, address, timeout_s
        self._http = _connection(address, timeout_s)

    def reconnect(self) -> None:
        """Look for the server again: one that was started again may have another address."""
        address = self._address.again()
        connection = _connection(address, self._timeout_s)
        self._http.close()
        self.url, self._address, self._http = address.url, address, connection

    def another(self) -> Self:
        """A further connection to the same server."""
        return type(self)(self._address, self._timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def ask(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """The document with which the server answers."""
        try:
            found = self.answer_to(method, path, **arguments).json()
        except ValueError as error:
            raise self.no_server() from error
        if not isinstance(found, dict):
            raise self.no_server()
        return found

    def no_server(self) -> Unreachable:
        """The error that another program answers."""
        return Unreachable(f"what answers at {self.url} is not a server of Motet")

    def answer_to(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """An answer that is no error."""
        try:
            answer = self._http.request(method, path, **arguments)
        except httpx.HTTPError as error:
            raise Unreachable(f"{self.url} does not answer ({error}); {_remedy(error)}") from error
        if answer.is_success:
            return answer
        raise answered_error(answer)


def answered_error(answer: httpx.Response) -> MotetError:
    """The error that an answer means."""
    return _ERRORS.get(answer.status_code, MotetError)(_detail(answer))


def _remedy(error: httpx.HTTPError) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "name the certificate of its authority, or its own one, with --ca-file"
    if isinstance(error, httpx.RemoteProtocolError):
        return "write https:// if it has a certificate"
    return "start it with 'motet server', or give --server URL"


def _connection(address: ServerAddress, timeout_s: float) -> httpx.Client:
    """Raises BadInput."""
    try:
        return httpx.Client(
            base_url=address.url + "/api/v1",
            headers={"Authorization": f"Bearer {address.token}"},
            timeout=timeout_s,
            trust_env=False,
            verify=address.trusted(),
        )
    except httpx.InvalidURL as error:
        raise BadInput(f"--server {address.url}: not a URL ({error})") from error


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        told = f"the server answered {answer.status_code} {answer.reason_phrase}"
        is_missing = answer.status_code == httpx.codes.NOT_FOUND
        return f"{told}; behind a proxy, the URL ends with its path prefix" if is_missing else told
