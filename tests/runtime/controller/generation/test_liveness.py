"""Which executors answer pings, on real sockets."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from motet.runtime.controller.generation import liveness
from motet.runtime.controller.generation.liveness import LivenessWatch
from motet.runtime.controller.ports import ExecutorHandle
from motet.runtime.wire.control_messages import Ping
from scripted_executors import SECRET, ScriptedExecutor

LOST_AFTER_S = 2.0
TIMEOUT_S = 60.0


class BusyExecutor(ScriptedExecutor):
    """Uses CPU time between any two looks."""

    def __init__(self, number: int, answers: Any) -> None:
        super().__init__(number, answers)
        self._used_s = 0.0

    def cpu_s(self) -> float:
        self._used_s += LOST_AFTER_S
        return self._used_s


@pytest.fixture
def never() -> Iterator[Callable[[Any], Any]]:
    """Answers a request at the end of the test."""
    over = threading.Event()
    yield lambda message: over.wait()
    over.set()


def first_silent(executors: list[Any]) -> list[int]:
    """The numbers of those that are reported."""
    reports: queue.SimpleQueue[Sequence[ExecutorHandle]] = queue.SimpleQueue()
    watch = LivenessWatch(lambda: list(executors), SECRET, 0, LOST_AFTER_S, reports.put)
    watch.start()
    with closing(watch):
        return [handle.number for handle in reports.get(timeout=TIMEOUT_S)]


def test_executors_that_do_not_answer_are_reported_together(
    never: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine some waits take longer than others: rounds alone are counted here.
    monkeypatch.setattr(liveness, "time", SimpleNamespace(monotonic=lambda: 0.0))
    executors = [ScriptedExecutor(0), *[ScriptedExecutor(n, {Ping: never}) for n in (1, 2)]]
    assert first_silent(executors) == [1, 2]
    pings = [message for message in executors[0].asked if isinstance(message, Ping)]
    assert len(pings) > 1


def test_one_that_uses_cpu_time_is_computing(never: Callable[[Any], Any]) -> None:
    silent = ScriptedExecutor(0, {Ping: never})
    assert first_silent([BusyExecutor(1, {Ping: never}), silent]) == [0]


def test_one_that_cannot_be_reached_is_silent() -> None:
    ended = ScriptedExecutor(1)
    ended.kill()
    assert first_silent([ScriptedExecutor(0), ended]) == [1]


def test_one_that_has_left_is_not_probed_any_more(never: Callable[[Any], Any]) -> None:
    leaving, staying = (ScriptedExecutor(n, {Ping: never}) for n in (0, 1))
    looks = iter([[leaving, staying]] * 3)
    reports: queue.SimpleQueue[Sequence[ExecutorHandle]] = queue.SimpleQueue()
    watch = LivenessWatch(lambda: next(looks, [staying]), SECRET, 0, LOST_AFTER_S, reports.put)
    watch.start()
    with closing(watch):
        assert list(reports.get(timeout=TIMEOUT_S)) == [staying]
