"""A client of the live cluster's HTTP interface."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from platformdirs import user_data_path

from motet.domain.errors import AuthenticationFailed, BadInput, MotetError, NotFound, Unreachable

SERVER_VARIABLE, TOKEN_VARIABLE = "MOTET_SERVER", "MOTET_TOKEN"
ADDRESS_FILE, TOKEN_FILE = "server.json", "token"
"""Files in the state folder of a server."""
_ERRORS: Mapping[int, type[MotetError]] = {
    400: BadInput,
    401: AuthenticationFailed,
    403: AuthenticationFailed,
    404: NotFound,
    413: BadInput,
    421: BadInput,
    422: BadInput,
}
_TIMEOUT_S, _WAIT_S = 30.0, 30.0


def default_server_folder() -> Path:
    """Where a server keeps its state, and where commands of the same user find it."""
    return user_data_path("motet") / "server"


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server answers, and the token it accepts."""

    url: str
    token: str

    @classmethod
    def find(cls, url: str | None = None, folder: Path | None = None) -> Self:
        """The given server, that of MOTET_SERVER, or the one of this user on this machine.

        Raises Unreachable, AuthenticationFailed.
        """
        home = folder or default_server_folder()
        chosen = url or os.environ.get(SERVER_VARIABLE) or _local_url(home)
        if chosen is None:
            raise Unreachable(
                "no server is known; start one with 'motet server', or give --server URL"
            )
        token = os.environ.get(TOKEN_VARIABLE) or _text(home / TOKEN_FILE)
        if not token:
            raise AuthenticationFailed(
                f"no token for {chosen}; set {TOKEN_VARIABLE} to the one that its server printed"
            )
        return cls(chosen.rstrip("/"), token)


class LiveClient:
    """Requests to one server. Every method raises Unreachable, AuthenticationFailed, NotFound or
    BadInput with the server's message."""

    def __init__(self, address: ServerAddress) -> None:
        self._url = address.url
        self._http = httpx.Client(
            base_url=address.url + "/api/v1",
            headers={"Authorization": f"Bearer {address.token}"},
            timeout=_TIMEOUT_S,
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def submit(self, spec: Mapping[str, Any], key: str = "") -> dict[str, Any]:
        """Submit a job. `key`: a repeated request with the same key returns the same job."""
        headers = {"Idempotency-Key": key} if key else {}
        return self._json("POST", "/jobs", json=dict(spec), headers=headers)

    def jobs(self, states: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
        """All jobs, or those in one of the states, in the order of their ids."""
        after: str | None = "0"
        while after is not None:
            page = self._json("GET", "/jobs", params={"state": list(states), "after": after})
            yield from page["jobs"]
            after = page["next"]

    def job(self, job: str) -> dict[str, Any]:
        """A job with its specification and attempts."""
        return self._json("GET", f"/jobs/{job}")

    def explain(self, job: str) -> dict[str, Any]:
        """Why a job waited and where it ran: the fields of `motet explain --json`."""
        return self._json("GET", f"/jobs/{job}/explain")

    def change(self, job: str, verb: str) -> dict[str, Any]:
        """Cancel, suspend or resume a job."""
        return self._json("POST", f"/jobs/{job}/{verb}")

    def wait(self, job: str, timeout_s: float) -> dict[str, Any]:
        """A job as soon as its state is final, or after at most `timeout_s`."""
        wait_s = min(timeout_s, _WAIT_S)
        return self._json(
            "GET", f"/jobs/{job}/wait", params={"timeout_s": wait_s}, timeout=wait_s + _TIMEOUT_S
        )

    def log_part(
        self, job: str, *, rank: int, attempt: int, offset: int
    ) -> tuple[bytes, int, bool]:
        """Bytes of a log from `offset` on, the offset behind them, and whether that is all."""
        query = {"rank": rank, "attempt": attempt, "offset": offset}
        answer = self._request("GET", f"/jobs/{job}/logs", params=query)
        headers = answer.headers
        is_complete = headers["Motet-Log-Complete"] == "true"
        return answer.content, int(headers["Motet-Next-Offset"]), is_complete

    def _json(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._request(method, path, **arguments).json()
        return found

    def _request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **arguments)
        except httpx.HTTPError as error:
            raise Unreachable(
                f"{self._url} does not answer ({error}); start it with 'motet server', or give "
                "--server URL"
            ) from error
        if answer.is_success:
            return answer
        raise _ERRORS.get(answer.status_code, MotetError)(_detail(answer))


def _detail(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"the server answered {answer.status_code} {answer.reason_phrase}"


def _local_url(folder: Path) -> str | None:
    text = _text(folder / ADDRESS_FILE)
    return None if text is None else str(json.loads(text)["url"])


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
