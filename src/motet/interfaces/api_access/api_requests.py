"""Requests to one server, and the errors that its answers mean."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import httpx

from motet.domain.errors import AuthenticationFailed, BadInput, MotetError, NotFound, Unreachable
from motet.interfaces.server_address import ServerAddress

KEY_HEADER = "Idempotency-Key"
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
TIMEOUT_S = 120.0
"""For every part of an answer, unless the request states another one. A server on a busy machine
may need much longer than usual, and it carries out a request whose client has given up."""
_CONNECT_S = 10.0
"""The kernel accepts connections, however busy the server is."""
_KEEP_S = 2.0
"""For which an idle connection is used again: a server closes it after 5 s."""
_TOLD_LINES = "application/x-ndjson"
_BROKEN = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
"""The connection ended before the answer: a server that was idle for seconds closes it, and one
that is killed does."""
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol)


class AnswerLost(Unreachable):
    """The server may have got the request, and carried it out."""


class CertificateRefused(Unreachable):
    """What answers has a certificate that is not trusted, or not of this name."""


def patience(read_s: float) -> httpx.Timeout:
    """For every part of an answer so many seconds."""
    return httpx.Timeout(read_s, connect=min(read_s, _CONNECT_S))


class ApiRequests:
    """`url`: of the server. `timeout_s`: for every part of an answer.

    A request that may be repeated (it reads, or has an idempotency key) is sent once more if its
    connection breaks.
    """

    def __init__(self, address: ServerAddress, timeout_s: float = TIMEOUT_S) -> None:
        self.url, self._address, self._timeout_s = address.url, address, timeout_s
        self._http = _connection(address, timeout_s)
        self._has_answered = False

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
        return self._document(self.answer_to(method, path, **arguments))

    def _document(self, answer: httpx.Response) -> dict[str, Any]:
        try:
            found = answer.json()
        except ValueError as error:
            raise self.no_server() from error
        if not isinstance(found, dict):
            raise self.no_server()
        return found

    def ask_telling(
        self, method: str, path: str, tell: Callable[[str], None], **arguments: Any
    ) -> dict[str, Any]:
        """As `ask`, of an answer that takes a while. `tell`: called with what the server is
        doing; one of an earlier version does not tell."""
        headers = {**arguments.pop("headers", {}), "Accept": f"{_TOLD_LINES}, application/json"}
        try:
            with self._http.stream(method, path, headers=headers, **arguments) as answer:
                self._has_answered = True
                kind = answer.headers.get("Content-Type", "")
                if answer.is_success and kind.startswith(_TOLD_LINES):
                    return self._last_line(answer.iter_lines(), tell)
                answer.read()
        except httpx.HTTPError as error:
            raise self._absence(error) from error
        if not answer.is_success:
            raise answered_error(answer)
        return self._document(answer)

    def _last_line(self, lines: Iterable[str], tell: Callable[[str], None]) -> dict[str, Any]:
        for line in lines:
            try:
                told = json.loads(line)
            except ValueError:  # The last one, of a server that was killed.
                break
            if "phase" in told:
                tell(told["phase"])
            elif "answer" in told:
                return dict(told["answer"])
            else:
                raise _ERRORS.get(told["status"], MotetError)(told["detail"])
        raise AnswerLost(f"{self.url} ended in the middle of its answer; ask again")

    def no_server(self) -> Unreachable:
        """The error that another program answers."""
        return Unreachable(f"what answers at {self.url} is not a server of Motet")

    def answer_to(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """An answer that is no error. Raises AnswerLost, Unreachable and what answers mean."""
        try:
            answer = self._answer(method, path, arguments)
        except httpx.HTTPError as error:
            raise self._absence(error) from error
        self._has_answered = True
        if answer.is_success:
            return answer
        raise answered_error(answer)

    def _absence(self, error: httpx.HTTPError) -> Unreachable:
        return _kind(error)(f"{self.url} does not answer ({error}); {self._remedy(error)}")

    def _answer(self, method: str, path: str, arguments: Mapping[str, Any]) -> httpx.Response:
        """Raises HTTPError."""
        try:
            return self._http.request(method, path, **arguments)
        except _BROKEN as error:
            if method != "GET" and KEY_HEADER not in arguments.get("headers", {}):
                raise
            broken = error
        try:
            return self._http.request(method, path, **arguments)
        except _NOT_SENT:
            raise broken from None

    def _remedy(self, error: httpx.HTTPError) -> str:
        if _kind(error) is CertificateRefused:
            return "name the certificate of its authority, or its own one, with --ca-file"
        if isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
            return "it is busy or stands still; ask again later"
        may_need_tls = not self._has_answered and self.url.startswith("http://")
        if isinstance(error, httpx.RemoteProtocolError) and may_need_tls:
            return "write https:// if it has a certificate"
        return "start it with 'motet server', or give --server URL"


def _kind(error: httpx.HTTPError) -> type[Unreachable]:
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return CertificateRefused
    return Unreachable if isinstance(error, _NOT_SENT) else AnswerLost


def answered_error(answer: httpx.Response) -> MotetError:
    """The error that an answer means."""
    return _ERRORS.get(answer.status_code, MotetError)(_detail(answer))


def _connection(address: ServerAddress, timeout_s: float) -> httpx.Client:
    """Raises BadInput."""
    try:
        return httpx.Client(
            base_url=address.url + "/api/v1",
            headers={"Authorization": f"Bearer {address.token}"},
            timeout=patience(timeout_s),
            limits=httpx.Limits(keepalive_expiry=_KEEP_S),
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
