"""Requests in, events out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from motet.runtime.controller.event_inbox import BatchProgress, EventInbox, WorkerReport
from motet.runtime.core.reporting.batch_costs import BatchCost
from motet.runtime.wire.control_messages import ControlRequest, Dismiss
from motet.runtime.wire.errors import BadMessage
from motet.runtime.wire.exchange import answer_of, submit
from motet.runtime.wire.messages import RequestKind
from motet.runtime.wire.worker_reports import BatchDone, Directive, EpochAnswer
from motet.transport import Connection
from wire_messages import plain
from worker_reports import done

SECRET = b"s" * 32
TIMEOUT_S = 100.0


@pytest.fixture
def inbox() -> Iterator[EventInbox]:
    made = EventInbox(SECRET, "127.0.0.1", 0)
    yield made
    made.close()


@pytest.fixture
def worker(inbox: EventInbox) -> Iterator[Connection]:
    with Connection(inbox.endpoint, SECRET) as connection:
        yield connection


@pytest.mark.parametrize("directive", ["continue", "stop"])
def test_a_worker_is_answered_when_its_report_is(
    inbox: EventInbox, worker: Connection, directive: Directive
) -> None:
    sent = done(3, 5, 2.5)
    call = submit(worker, sent)
    event = inbox.events.get(timeout=TIMEOUT_S)
    assert isinstance(event, WorkerReport)
    assert plain(event.done) == plain(sent)
    assert not event.request.is_answered
    event.answer(directive)
    assert answer_of(call, EpochAnswer, TIMEOUT_S) == EpochAnswer(directive)


def test_progress_is_answered_at_once_and_its_costs_are_read(
    inbox: EventInbox, worker: Connection
) -> None:
    costs = np.array([1e6, 2e6, 4e6, 7, 80, 90])
    assert submit(worker, BatchDone(1, 3, 5, 2, True, costs)).wait(TIMEOUT_S).status == 0
    assert inbox.events.get(timeout=TIMEOUT_S) == BatchProgress(
        1, 3, 5, 2, True, (BatchCost(1.0, 2.0, 4.0, 7, 80, 90),)
    )


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Dismiss(0), f"the controller: request kind {RequestKind.DISMISS} is unknown"),
        (BatchDone(0, 3, 5, 2, True, np.ones(5)), "BatchDone.costs of executor 3"),
        (BatchDone(0, 3, 5, 2, True, np.full(6, np.nan)), "BatchDone.costs of executor 3"),
    ],
    ids=["kind", "length", "nan"],
)
def test_what_is_no_report_is_refused_and_becomes_no_event(
    inbox: EventInbox, worker: Connection, message: ControlRequest, expected: str
) -> None:
    with pytest.raises(BadMessage, match=expected):
        submit(worker, message).wait(TIMEOUT_S)
    assert inbox.events.empty()


def test_bytes_that_are_no_message_are_refused(inbox: EventInbox, worker: Connection) -> None:
    with pytest.raises(BadMessage, match="is no message"):
        worker.submit(RequestKind.EPOCH_DONE, b"\xff").wait(TIMEOUT_S)
    assert inbox.events.empty()
