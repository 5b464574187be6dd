"""When the thread beside the jobs looks, and that no error ends it."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from motet.domain.errors import Unreachable
from motet.live.beside_jobs import look_thread
from motet.live.beside_jobs.look_thread import LookThread

NEVER_S = 3600.0
Look = Callable[[bool], None]


@contextmanager
def looking(look: Look, every_s: float = NEVER_S, soon_s: float = NEVER_S) -> Iterator[LookThread]:
    thread = LookThread("test", lambda: thread.look_until_closed(look, every_s, soon_s))
    thread.start()
    try:
        yield thread
    finally:
        thread.close()


@pytest.fixture
def looks() -> queue.SimpleQueue[bool]:
    """Whether each look was given news."""
    return queue.SimpleQueue()


def test_a_look_follows_news_at_once_and_its_time_without_news(
    looks: queue.SimpleQueue[bool],
) -> None:
    with looking(looks.put) as thread:
        thread.tell()
        assert looks.get() is True
        assert looks.empty()
    with looking(looks.put, every_s=0.01):
        assert looks.get() is False


def test_looks_are_frequent_for_a_while_after_news(looks: queue.SimpleQueue[bool]) -> None:
    with looking(looks.put, soon_s=0.01) as thread:
        thread.tell()
        assert [looks.get() for _ in range(3)] == [True, False, False]


@pytest.mark.parametrize("error", [Unreachable("away"), OSError("disk"), ValueError("a fault")])
def test_a_look_that_fails_is_logged_and_gets_its_news_again(
    error: Exception,
    looks: queue.SimpleQueue[bool],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(look_thread, "_RETRY_S", 0.0)
    failures = [error]

    def look(is_news: bool) -> None:
        looks.put(is_news)
        if failures:
            raise failures.pop()

    with looking(look) as thread:
        thread.tell()
        assert [looks.get(), looks.get()] == [True, True]
    (record,) = caplog.records
    assert str(error) in str(record.__dict__["fields"])
    assert bool(record.exc_info) is isinstance(error, ValueError), "the place of a fault is logged"


def test_a_thread_whose_preparation_fails_begins_again(
    looks: queue.SimpleQueue[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look_thread, "_RESTART_S", 0.0)
    failures = [OSError("the port is in use")]

    def run() -> None:
        if failures:
            raise failures.pop()
        thread.look_until_closed(looks.put, NEVER_S, NEVER_S)

    thread = LookThread("test", run)
    thread.tell()
    thread.start()
    assert looks.get() is True
    thread.close()


def test_a_thread_that_has_not_started_can_be_closed(looks: queue.SimpleQueue[bool]) -> None:
    LookThread("test", lambda: looks.put(True)).close()
    assert looks.empty()
