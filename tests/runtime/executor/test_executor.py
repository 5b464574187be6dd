"""An executor's door and its life: requests in, answers out."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from lone_executor import GENERATION, TIMEOUT_S, LoneExecutor, lone_executor
from motet.domain.errors import JobFailed
from motet.runtime.core.table_spec import MODEL_TABLE
from motet.runtime.wire.assignment import RunOutcome
from motet.runtime.wire.control_messages import (
    ControlRequest,
    Dismiss,
    Held,
    Hold,
    InstanceState,
    LearnOwners,
    ReadState,
    Settle,
    SetWorkers,
)
from motet.runtime.wire.errors import BadMessage
from motet.runtime.wire.messages import ReplyStatus, RequestKind
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import ANY_CLOCK, encode_target
from toy_app import ToyRegression


@pytest.fixture
def lone() -> Iterator[LoneExecutor]:
    with lone_executor() as made:
        yield made


def pull(generation: int, table: int) -> bytes:
    return encode_target(generation, table, 1, ANY_CLOCK, 0, None, b"")


def test_a_request_of_an_unknown_kind_is_refused(lone: LoneExecutor) -> None:
    lone.configure()
    for kind in (99, RequestKind.EPOCH_DONE):
        with pytest.raises(BadMessage, match=f"executor 0: request kind {kind} is unknown"):
            lone.submit(kind, b"").wait(TIMEOUT_S)


@pytest.mark.parametrize("kind", [RequestKind.HOLD, RequestKind.TAKE_BLOCK, RequestKind.MEET])
def test_bytes_that_are_no_message_are_refused_and_the_executor_goes_on(
    lone: LoneExecutor, kind: RequestKind
) -> None:
    lone.configure()
    with pytest.raises(BadMessage, match="is no message"):
        lone.submit(kind, b"\x00\xff").wait(TIMEOUT_S)
    assert lone.answer(Hold(GENERATION, 1), Held).clock == 1


@pytest.mark.parametrize(
    "message", [Hold(GENERATION, 1), ReadState(GENERATION), Settle(GENERATION, MODEL_TABLE)]
)
def test_an_executor_without_an_assignment_answers_stale(
    lone: LoneExecutor, message: ControlRequest
) -> None:
    assert lone.ask(message).wait(TIMEOUT_S).status == ReplyStatus.STALE
    reply = lone.submit(RequestKind.PULL, pull(GENERATION, 1)).wait(TIMEOUT_S)
    assert reply.status == ReplyStatus.STALE


def test_requests_of_another_generation_are_stale(lone: LoneExecutor) -> None:
    lone.configure()
    for generation in (GENERATION - 1, GENERATION + 1):
        messages = [
            Hold(generation, 1),
            LearnOwners(generation, MODEL_TABLE, lone.layout.model),
            Dismiss(generation),
        ]
        statuses = [lone.ask(message).wait(TIMEOUT_S).status for message in messages]
        assert statuses == [ReplyStatus.STALE] * 3
        reply = lone.submit(RequestKind.PULL, pull(generation, 1)).wait(TIMEOUT_S)
        assert reply.status == ReplyStatus.STALE


def test_a_table_that_the_job_does_not_have_is_an_error(lone: LoneExecutor) -> None:
    lone.configure()
    with pytest.raises(JobFailed, match="executor 0 has no table 9"):
        lone.submit(RequestKind.PULL, pull(GENERATION, 9)).wait(TIMEOUT_S)


@pytest.mark.parametrize(
    "message",
    [Settle(GENERATION, 9), LearnOwners(GENERATION, 9, Ownership.even(16, [0]))],
)
def test_a_message_about_a_table_that_the_job_does_not_have_is_an_error(
    lone: LoneExecutor, message: ControlRequest
) -> None:
    lone.configure()
    with pytest.raises(JobFailed, match="executor 0 has no table 9"):
        lone.ask(message).wait(TIMEOUT_S)


def test_an_executor_without_data_has_no_state(lone: LoneExecutor) -> None:
    lone.configure()
    state = lone.answer(ReadState(GENERATION), InstanceState).rows
    assert (len(state), list(state.columns)) == (0, [])


def test_servers_take_the_workers_that_they_are_sent(lone: LoneExecutor) -> None:
    lone.configure()
    message = SetWorkers(GENERATION, (0, 4), 12)
    assert lone.ask(message).wait(TIMEOUT_S).status == ReplyStatus.OK
    assert lone.executor._context is not None
    assert lone.executor._context.tables[MODEL_TABLE].worker_clocks == {0: 0, 4: 12}


def test_an_executor_does_not_run_before_it_has_an_assignment(lone: LoneExecutor) -> None:
    with pytest.raises(JobFailed, match="executor 0 has no assignment yet"):
        lone.executor.run()


def test_an_executor_that_does_not_work_ends_when_it_is_dismissed() -> None:
    with lone_executor(workers=(1,)) as lone:
        lone.configure()
        lone.start()
        assert lone.ask(Dismiss(GENERATION)).wait(TIMEOUT_S).status == ReplyStatus.OK
        assert lone.ended() == RunOutcome("finished")


class Waits(ToyRegression):
    """Computes nothing before it may."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()

    def compute(self, *arguments: object) -> object:  # type: ignore[override]
        self.has_begun.set()
        assert self.may_go_on.wait(TIMEOUT_S)
        return super().compute(*arguments)  # type: ignore[arg-type]


def test_an_executor_whose_generation_is_aborted_says_so() -> None:
    app = Waits()
    with lone_executor(app) as lone:
        lone.configure()
        lone.load()
        lone.start()
        assert app.has_begun.wait(TIMEOUT_S)
        lone.executor.abort()
        app.may_go_on.set()
        assert lone.ended().kind == "aborted"


def test_an_error_in_the_application_is_the_outcome_with_its_place_and_trace() -> None:
    with lone_executor(ToyRegression(fail_at_clock=2)) as lone:
        lone.configure()
        lone.load()
        lone.start()
        outcome = lone.ended()
    assert outcome.kind == "failed"
    assert outcome.detail.startswith("toy_app.py:")
    assert "in compute: ZeroDivisionError: the application's own bug" in outcome.detail
    assert outcome.trace.startswith("Traceback")
