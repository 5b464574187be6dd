"""The lanes of a link, over sealed TCP connections that count as leaving the host."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from motet.transport import Connection, LinkUse, Request, Server, SharedLink
from motet.transport.backends import lane_sender, tcp
from motet.transport.backends.shared_link import CLAIM_S
from motet.transport.lanes import NO_LANE, PRIMARY, SECONDARY
from transport_parts import ECHO
from waiting import wait_until

LARGE = np.ones(1 << 18, np.uint8)
CLAIM_FOREVER = """
import sys, time
from pathlib import Path
from motet.transport import SharedLink
link = SharedLink(Path(sys.argv[1]))
while True:
    link.claim()
    print("claimed", flush=True)
    time.sleep(0.005)
"""


@pytest.fixture(autouse=True)
def everything_leaves_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp, "_leaves_host", lambda sock: True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "link"


@contextmanager
def primary_traffic(path: Path) -> Iterator[None]:
    """Another sender of this machine, which never ends by itself."""
    link, ends = SharedLink(path), threading.Event()

    def claim() -> None:
        while not ends.wait(0.002):
            link.claim()

    link.claim()
    sender = threading.Thread(target=claim)
    sender.start()
    try:
        yield
    finally:
        ends.set()
        sender.join()


@contextmanager
def connected(
    secret: bytes, lane: int, *, client: Path | None = None, server: Path | None = None
) -> Iterator[Connection]:
    """`client`, `server`: the links of their machines."""

    def reply(request: Request) -> None:
        request.reply(0, b"", [LARGE])

    link = None if server is None else SharedLink(server)
    use = None if client is None else LinkUse(SharedLink(client), lambda: lane)
    with Server(reply, secret, link=link) as serving:
        endpoint = serving.endpoint
        with Connection(endpoint, secret, shared_memory=False, use=use) as connection:
            yield connection


def test_a_reply_in_the_secondary_lane_waits_for_primary_traffic_of_the_server(
    secret: bytes, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_sender, "YIELD_LIMIT_S", float("inf"))
    elsewhere = tmp_path / "client"
    with connected(secret, SECONDARY, client=elsewhere, server=path) as connection:
        with primary_traffic(path):
            call = connection.submit(ECHO)
            with pytest.raises(TimeoutError):
                call.wait(0.3)
        assert call.wait().payload == LARGE.data
        with primary_traffic(elsewhere):
            connection.request(ECHO)


def test_a_request_in_the_secondary_lane_waits_for_primary_traffic_of_the_client(
    secret: bytes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_sender, "YIELD_LIMIT_S", float("inf"))
    with connected(secret, SECONDARY, client=path) as connection:
        sent = threading.Thread(target=lambda: connection.request(ECHO, buffers=[LARGE]))
        with primary_traffic(path):
            sent.start()
            sent.join(0.3)
            assert sent.is_alive()
        sent.join()


@pytest.mark.parametrize("lane", [NO_LANE, PRIMARY])
def test_other_lanes_wait_for_nothing(secret: bytes, path: Path, lane: int) -> None:
    with connected(secret, lane, client=path, server=path) as connection, primary_traffic(path):
        connection.request(ECHO, buffers=[LARGE])


def test_what_has_yielded_for_the_limit_is_sent(
    secret: bytes, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_sender, "YIELD_LIMIT_S", 0.05)
    with (
        connected(secret, SECONDARY, client=path, server=path) as connection,
        primary_traffic(path),
    ):
        for _ in range(3):
            connection.request(ECHO, buffers=[LARGE])


def test_small_messages_have_no_lane(secret: bytes, path: Path) -> None:
    with (
        Server(lambda request: request.reply(), secret, link=SharedLink(path)) as server,
        Connection(
            server.endpoint,
            secret,
            shared_memory=False,
            use=LinkUse(SharedLink(path), lambda: SECONDARY),
        ) as connection,
        primary_traffic(path),
    ):
        connection.request(ECHO, buffers=[LARGE[:100]])


def test_a_sender_of_primary_bytes_claims_the_link_until_they_have_left(
    secret: bytes, path: Path
) -> None:
    link, reads = SharedLink(path), threading.Event()

    def reply(request: Request) -> None:
        reads.wait()
        request.reply()

    with Server(reply, secret) as server:
        use = LinkUse(SharedLink(path), lambda: PRIMARY)
        with Connection(server.endpoint, secret, shared_memory=False, use=use) as connection:
            first = connection.submit(ECHO)  # The server reads nothing more until it has replied.
            payload = np.ones(32 << 20, np.uint8)
            sending = threading.Thread(target=lambda: connection.request(ECHO, buffers=[payload]))
            assert not link.is_claimed
            sending.start()
            wait_until(lambda: link.is_claimed)
            time.sleep(2 * CLAIM_S)  # A claim is renewed.
            wait_until(lambda: link.is_claimed)
            reads.set()
            first.wait()
            sending.join()
        wait_until(lambda: not link.is_claimed)


def test_the_claim_of_a_killed_process_ends(path: Path) -> None:
    command = [sys.executable, "-c", CLAIM_FOREVER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        link = SharedLink(path)
        wait_until(lambda: link.is_claimed)
        process.kill()
    wait_until(lambda: not link.is_claimed)


def test_a_page_with_other_content_claims_nothing(path: Path) -> None:
    path.write_bytes(b"\xff" * 4096)
    assert not SharedLink(path).is_claimed
