"""What is told while a server is away, and when it is given up."""

from __future__ import annotations

import socket

import pytest

from motet.domain.errors import Unreachable
from motet.interfaces.api_access import server_absence
from motet.interfaces.api_access.api_requests import ApiRequests
from motet.interfaces.api_access.server_absence import AbsenceListener, ServerAbsence
from motet.interfaces.server_address import ServerAddress


def absence(tell: AbsenceListener | None) -> ServerAbsence:
    """Of a server at a port where nothing listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = ServerAddress.given(f"http://127.0.0.1:{unused.getsockname()[1]}", "token")
    return ServerAbsence(ApiRequests(address), tell, "until then the log waits")


def test_without_a_listener_no_absence_is_endured() -> None:
    with pytest.raises(Unreachable, match="gone"):
        absence(None).endure(Unreachable("gone"))


def test_each_absence_is_told_once() -> None:
    told: list[str] = []
    away = absence(told.append)
    for name in ("first", "first again"):
        away.endure(Unreachable(name))
    away.end()
    away.endure(Unreachable("second"))
    assert told == ["first; until then the log waits", "second; until then the log waits"]


def test_a_server_that_stays_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    away = absence(lambda _: None)
    away.endure(Unreachable("first"))
    monkeypatch.setattr(server_absence, "LONGEST_ABSENCE_S", 0.0)
    with pytest.raises(Unreachable, match="second"):
        away.endure(Unreachable("second"))
