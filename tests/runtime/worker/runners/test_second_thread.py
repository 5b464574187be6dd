"""A task beside the thread that starts it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator

import pytest

from motet.runtime.worker.runners.second_thread import SecondThread
from waiting import wait_until

NAME = "second-of-this-test"


@pytest.fixture
def thread() -> Iterator[SecondThread]:
    made = SecondThread(NAME)
    yield made
    made.close()


def living() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == NAME]


def test_a_task_runs_while_the_context_runs_and_has_ended_after_it(thread: SecondThread) -> None:
    inside, ended = threading.Event(), threading.Event()

    def task() -> str:
        assert inside.wait(timeout=60)
        ended.set()
        return threading.current_thread().name

    with thread.running(task) as beside:
        assert not ended.is_set()
        inside.set()
    assert ended.is_set()
    assert beside.result() == NAME


def test_errors_of_a_task_are_raised_by_its_future_and_others_follow(thread: SecondThread) -> None:
    with thread.running(lambda: 1 // 0) as beside:
        pass
    with pytest.raises(ZeroDivisionError):
        beside.result()
    with thread.running(lambda: 7) as beside:
        pass
    assert beside.result() == 7


def test_an_error_in_the_context_is_raised_after_the_task(
    thread: SecondThread,
) -> None:
    inside, ended = threading.Event(), threading.Event()

    def task() -> None:
        assert inside.wait(timeout=60)
        ended.set()

    def fail() -> None:
        with thread.running(task):
            inside.set()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert ended.is_set()


def test_the_thread_starts_with_the_first_task_and_keeps_no_result(
    thread: SecondThread,
) -> None:
    assert living() == []
    with thread.running(set) as beside:
        pass
    assert len(living()) == 1
    result = weakref.ref(beside.result())
    del beside
    wait_until(lambda: result() is None, timeout_s=20)
    thread.close()
    assert living() == []


def test_one_that_ran_nothing_can_be_closed() -> None:
    SecondThread(NAME).close()
    assert living() == []
