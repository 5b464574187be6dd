"""A relay between two hosts: every attack on one record is noticed, and nothing is lost by it."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from motet.transport import Connection, Request, Server
from motet.transport.client import pinger
from soak_cases import others_in_soak
from tampering_relay import ATTACKS, Attack, Plan, TamperingRelay, drop

APPEND = 7
REQUESTS = 30
SIZES = (10, 5_000, 40_000, 1_500_000)


class Book:
    """A handler that notes what it gets; replies hold the same payload."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, str]] = []
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> None:
        number, digest = int.from_bytes(request.meta[:4], "little"), request.meta[4:].decode()
        assert hashlib.sha256(request.payload).hexdigest() == digest
        with self._lock:
            self.entries.append((number, digest))
        request.reply(0, request.meta, [request.payload])


@pytest.fixture(autouse=True)
def _quick_pings(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(pinger.Pinger.__init__, "__defaults__", (0.05,))
    caplog.set_level(logging.ERROR)


def payloads() -> Iterator[bytes]:
    rng = np.random.default_rng(1)
    for number in range(REQUESTS):
        yield rng.bytes(SIZES[number % len(SIZES)])


@pytest.mark.parametrize("direction", ["to server", "to client"])
@pytest.mark.parametrize("number", others_in_soak([0, 5, 12], [5]))
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_an_attack_is_noticed_and_loses_nothing(
    secret: bytes, attack: Attack, number: int, direction: str
) -> None:
    book = Book()
    with Server(book, secret) as server:
        plan = Plan(attack, direction, number)
        with (
            TamperingRelay(server.endpoint, plan) as relay,
            Connection(server.endpoint, secret, connectors=[relay.connector]) as connection,
        ):
            sent = list(payloads())
            calls = []
            for place, data in enumerate(sent):
                meta = place.to_bytes(4, "little") + hashlib.sha256(data).hexdigest().encode()
                calls.append(connection.submit(APPEND, meta, [data]))
            replies = [bytes(call.wait().payload) for call in calls]
            assert relay.has_attacked.is_set()
            assert relay.connection_count == 2
    assert replies == sent
    assert {number for number, _ in book.entries} == set(range(REQUESTS))


@pytest.mark.parametrize("direction", ["to server", "to client"])
def test_changed_handshakes_of_later_connections_lose_nothing(
    secret: bytes, direction: str
) -> None:
    book = Book()
    with Server(book, secret) as server:
        plan = Plan(drop, direction, 3, handshakes=2)
        with (
            TamperingRelay(server.endpoint, plan) as relay,
            Connection(server.endpoint, secret, connectors=[relay.connector]) as connection,
        ):
            for place, data in enumerate(payloads()):
                meta = place.to_bytes(4, "little") + hashlib.sha256(data).hexdigest().encode()
                assert connection.request(APPEND, meta, [data], timeout_s=60).payload == data
            assert relay.connection_count == 4
    assert [number for number, _ in dict.fromkeys(book.entries)] == list(range(REQUESTS))


@pytest.mark.parametrize("direction", ["to server", "to client"])
def test_the_last_record_that_is_dropped_is_noticed(secret: bytes, direction: str) -> None:
    """Nothing comes behind it but pings; the first one opens the gap."""
    book = Book()
    with Server(book, secret) as server:
        plan = Plan(drop, direction, 0)
        with (
            TamperingRelay(server.endpoint, plan) as relay,
            Connection(server.endpoint, secret, connectors=[relay.connector]) as connection,
        ):
            data = b"once"
            meta = bytes(4) + hashlib.sha256(data).hexdigest().encode()
            assert bytes(connection.request(APPEND, meta, [data]).payload) == data
            assert relay.connection_count == 2


@pytest.mark.soak
def test_two_pings_fit_into_five_seconds() -> None:
    assert 2 * pinger.PING_EVERY_S <= 5 - 1.5
