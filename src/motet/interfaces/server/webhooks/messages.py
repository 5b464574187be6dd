"""Messages to the receivers of webhooks: their text, and sending one of them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import httpx

from motet.interfaces.server.views import iso
from motet.live.webhooks.events import WebhookEvent
from motet.live.webhooks.signature import signed_headers

DEADLINE_S = 15.0
GONE = 410


class NotDelivered(Exception):
    """The message says why."""


class WebhookGone(NotDelivered):
    """The receiver wants no further messages."""


class MessageSender:
    """Sends messages from one thread, over connections that it keeps. A context manager."""

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        """`deadline_s`: of a message in all, from looking up the host to the answer's headers."""
        self._deadline_s = deadline_s
        self._runner, self._client = asyncio.Runner(), receivers_client()

    def send(self, url: str, secret: str, message: str, body: bytes) -> None:
        """Raises NotDelivered unless the receiver answers with a status of success."""
        self._runner.run(send_message(self._client, url, secret, message, body, self._deadline_s))

    def __enter__(self) -> MessageSender:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()


def receivers_client() -> httpx.AsyncClient:
    """It has no limits of time itself: those of httpx begin anew with every byte that arrives."""
    return httpx.AsyncClient(timeout=None, follow_redirects=False)


async def send_message(
    client: httpx.AsyncClient,
    url: str,
    secret: str,
    message: str,
    body: bytes,
    deadline_s: float = DEADLINE_S,
) -> None:
    """Raises NotDelivered unless the receiver answers in time with a status of success."""
    headers = signed_headers(secret, message, int(time.time()), body)
    headers |= {"content-type": "application/json", "user-agent": "motet"}
    try:
        async with (
            asyncio.timeout(deadline_s),
            client.stream("POST", url, content=body, headers=headers) as answer,
        ):
            status = answer.status_code
    except TimeoutError as error:
        raise NotDelivered(f"the receiver did not answer within {deadline_s:g} s") from error
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        raise NotDelivered(f"{type(error).__name__}: {error}") from error
    if status == GONE:
        raise WebhookGone("the receiver answered 410 Gone")
    if not 200 <= status < 300:
        raise NotDelivered(f"the receiver answered {status}")


def message_body(event: WebhookEvent, job: Mapping[str, Any] | None) -> bytes:
    """The same bytes for every delivery of an event."""
    about = {"job": job} if job is not None else {}
    document = {
        "type": event.kind,
        "timestamp": iso(event.at_us),
        "data": {**about, **event.fields},
    }
    return json.dumps(document, separators=(",", ":")).encode()
