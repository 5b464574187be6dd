"""What answers of a server mean, late ones and lost ones, too."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest

from motet.domain.errors import AuthenticationFailed, BadInput, MotetError, NotFound, Unreachable
from motet.interfaces.api_access.api_requests import (
    TIMEOUT_S,
    AnswerLost,
    answered_error,
    patience,
)
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress

ANSWER = b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\n{"id": "7"}'
LOST = b""


@contextmanager
def program(*answers: bytes) -> Iterator[tuple[LiveClient, list[bytes]]]:
    """A client of a program that gives one of these answers to each request and closes the
    connection, and the first lines of the requests."""
    requests: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):  # It has been shut down.
            for answer in answers:
                connection, _ = listener.accept()
                with connection, connection.makefile("rb") as read:
                    head = [*iter(read.readline, b"\r\n")]
                    lengths = [int(it.split()[1]) for it in head if it.startswith(b"Content-L")]
                    read.read(sum(lengths))
                    requests.append(head[0].strip())
                    connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        with LiveClient(ServerAddress(url, "token")) as client:
            yield client, requests
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


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


@pytest.mark.parametrize(
    ("call", "request_line"),
    [
        (lambda client: client.job("7"), b"GET /api/v1/jobs/7 HTTP/1.1"),
        (lambda client: client.submit({}, key="k"), b"POST /api/v1/jobs HTTP/1.1"),
    ],
)
def test_what_may_be_repeated_is_sent_again_if_the_connection_breaks(
    call: Callable[[LiveClient], dict[str, str]], request_line: bytes
) -> None:
    with program(LOST, ANSWER) as (client, requests):
        assert call(client) == {"id": "7"}
    assert requests == [request_line] * 2


def test_a_request_is_sent_twice_at_most() -> None:
    with program(LOST, LOST, ANSWER) as (client, requests), pytest.raises(AnswerLost):
        client.job("7")
    assert len(requests) == 2


def test_a_change_is_sent_once() -> None:
    with program(LOST, ANSWER) as (client, requests), pytest.raises(AnswerLost):
        client.choose_policy("fifo", {})
    assert requests == [b"PUT /api/v1/policy HTTP/1.1"]


def test_a_submission_whose_answer_is_lost_tells_its_key() -> None:
    with program(LOST, LOST) as (client, _), pytest.raises(AnswerLost) as lost:
        client.submit({}, key="once")
    assert "the job may have been submitted: give --key once to submit it once" in str(lost.value)


def test_a_submission_to_a_server_that_is_gone_since_is_not_taken_for_unsent() -> None:
    """The first connection brought it there, the second one is refused."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"

        def end() -> None:
            connection, _ = listener.accept()
            listener.close()
            connection.close()

        thread = threading.Thread(target=end)
        thread.start()
        with LiveClient(ServerAddress(url, "t")) as client, pytest.raises(AnswerLost):
            client.submit({}, key="once")
        thread.join()
        with LiveClient(ServerAddress(url, "t")) as client, pytest.raises(Unreachable) as refused:
            client.submit({}, key="once")
        assert not isinstance(refused.value, AnswerLost)


def test_an_answer_may_take_longer_than_a_connection() -> None:
    usual, hasty = patience(TIMEOUT_S), patience(1.0)
    assert (usual.read, usual.connect) == (120.0, 10.0)
    assert (hasty.read, hasty.connect) == (1.0, 1.0)


def test_who_has_been_answered_without_tls_is_not_told_to_use_it() -> None:
    with program(LOST, LOST) as (client, _), pytest.raises(AnswerLost, match="write https://"):
        client.ask("GET", "/jobs/7")
    with program(ANSWER, LOST, LOST) as (client, _):
        client.ask("GET", "/jobs/7")
        with pytest.raises(AnswerLost, match="start it with 'motet server'"):
            client.ask("GET", "/jobs/7")


def lines(*told: str) -> bytes:
    """An answer that ends with its connection."""
    kind = b"Content-Type: application/x-ndjson\r\n"
    return b"HTTP/1.1 200 OK\r\n" + kind + b"\r\n" + "\n".join(told).encode()


def test_who_waits_hears_what_a_server_is_doing_if_it_tells() -> None:
    told = list[str]()
    new = lines('{"phase": "one"}', '{"phase": "two"}', '{"answer": {"id": "7"}}')
    with program(new, ANSWER) as (client, _):
        assert client.dry_run({}, told.append) == client.dry_run({}, told.append) == {"id": "7"}
    assert told == ["one", "two"]


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (lines('{"phase": "one"}', '{"status": 422, "detail": "no"}'), BadInput, "^no$"),
        (lines('{"phase": "one"}', '{"ans'), AnswerLost, "in the middle of its answer"),
        (lines('{"phase": "one"}'), AnswerLost, "in the middle of its answer"),
        (ANSWER.replace(b"{", b"<"), Unreachable, "not a server of Motet"),
        (LOST, AnswerLost, "does not answer"),
    ],
)
def test_an_answer_in_lines_may_be_an_error_or_end_early(
    answer: bytes, kind: type[MotetError], message: str
) -> None:
    with program(answer) as (client, _), pytest.raises(kind, match=message):
        client.dry_run({}, lambda _: None)
