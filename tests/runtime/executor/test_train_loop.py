"""Answers and changes in, reports and outcomes out: one worker, trained by hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from lone_executor import GENERATION, TIMEOUT_S, LoneExecutor, lone_executor
from motet.runtime.controller.event_inbox import BatchProgress, WorkerPaused
from motet.runtime.core.consistency import Async, Ssp
from motet.runtime.core.table_spec import MODEL_TABLE
from motet.runtime.server.shard import Shard
from motet.runtime.wire.assignment import RunOutcome
from motet.runtime.wire.control_messages import (
    ChangeWork,
    Dismiss,
    Held,
    Hold,
    InstanceState,
    PauseWork,
    ReadState,
    SetWorkers,
    WorkChanged,
)
from motet.runtime.wire.exchange import answer_of, require_ok
from motet.runtime.wire.ownership import WorkChange
from motet.runtime.wire.table_requests import PushHead, Target
from motet.transport import Request
from toy_app import CountingInstances, IntegerCounts, ToyRegression

BATCHES = 11


@pytest.fixture
def lone() -> Iterator[LoneExecutor]:
    with lone_executor() as made:
        made.configure()
        made.load()
        yield made


def visits(lone: LoneExecutor) -> set[float]:
    """How often every instance was computed."""
    rows = lone.answer(ReadState(GENERATION), InstanceState).rows
    assert len(rows) == len(lone.rows)
    return set(rows["visits"].tolist())


def test_a_worker_reports_every_epoch_and_waits_for_its_answer(lone: LoneExecutor) -> None:
    lone.start()
    first = lone.next_report()
    assert (first.done.rank, first.done.epoch, first.done.first) == (0, 0, 0)
    assert len(first.done.batch_us) == BATCHES
    assert first.done.pulled_bytes == first.done.pushed_bytes == BATCHES * 40 * 8
    assert visits(lone) == {1.0}
    first.answer("continue")
    second = lone.next_report()
    assert second.done.epoch == 1
    assert second.done.sums[0] < first.done.sums[0]
    assert visits(lone) == {2.0}
    second.answer("stop")
    assert lone.ended() == RunOutcome("finished")


def test_a_generation_begins_with_the_epoch_of_its_assignment() -> None:
    with lone_executor() as lone:
        lone.configure(first_epoch=6)
        lone.load()
        lone.start()
        report = lone.next_report()
        assert (report.done.epoch, report.done.first) == (6, 0)
        report.answer("stop")


def test_the_leading_worker_reports_progress(lone: LoneExecutor) -> None:
    lone.start()
    event = lone.inbox.events.get(timeout=TIMEOUT_S)
    assert isinstance(event, BatchProgress)
    assert (event.generation, event.rank, event.epoch, event.batch) == (GENERATION, 0, 0, 0)
    assert event.leads
    assert [cost.instances for cost in event.costs] == [19]
    lone.next_report().answer("stop")


def change(lone: LoneExecutor, number: int, clock: int, workers: tuple[int, ...]) -> WorkChanged:
    work = WorkChange(number, clock, workers, lone.layout.data)
    return lone.answer(ChangeWork(GENERATION, work), WorkChanged)


def test_a_held_worker_goes_on_to_the_mini_batch_of_the_change(lone: LoneExecutor) -> None:
    held = lone.answer(Hold(GENERATION, 1), Held).clock
    assert held == 1
    work = ChangeWork(GENERATION, WorkChange(1, 4, (0,), lone.layout.data))
    call = lone.ask(work)
    lone.start()
    assert answer_of(call, WorkChanged, TIMEOUT_S).stall_us >= 0
    lone.next_report().answer("stop")
    assert lone.ended() == RunOutcome("finished")


def test_a_change_that_is_sent_again_is_answered_again_and_done_once(lone: LoneExecutor) -> None:
    lone.answer(Hold(GENERATION, 1), Held)
    work = ChangeWork(GENERATION, WorkChange(1, 4, (0,), lone.layout.data))
    calls = [lone.ask(work), lone.ask(work)]
    lone.start()
    first, second = (answer_of(call, WorkChanged, TIMEOUT_S) for call in calls)
    third = answer_of(lone.ask(work), WorkChanged, TIMEOUT_S)
    assert first.stall_us == second.stall_us == third.stall_us
    report = lone.next_report()
    assert visits(lone) == {1.0}
    report.answer("stop")


def test_a_worker_that_is_relieved_waits_until_it_is_dismissed(lone: LoneExecutor) -> None:
    lone.answer(Hold(GENERATION, 1), Held)
    work = WorkChange(1, 1, (5,), lone.layout.data)
    call = lone.ask(ChangeWork(GENERATION, work))
    lone.start()
    answer_of(call, WorkChanged, TIMEOUT_S)
    assert lone.outcomes == []
    require_ok(lone.ask(Dismiss(GENERATION)).wait(TIMEOUT_S))
    assert lone.ended() == RunOutcome("finished")


def test_an_idle_executor_that_becomes_a_worker_joins_in_mid_epoch() -> None:
    with lone_executor(workers=(5,)) as lone:
        lone.configure()
        lone.load()
        require_ok(lone.ask(SetWorkers(GENERATION, (0,), 0)).wait(TIMEOUT_S))
        lone.start()
        work = WorkChange(1, 0, (0,), lone.layout.data)
        lone.answer(ChangeWork(GENERATION, work), WorkChanged)
        report = lone.next_report()
        assert (report.done.epoch, report.done.first, report.done.rank) == (0, 0, 0)
        assert visits(lone) == {1.0}
        report.answer("stop")
        assert lone.ended() == RunOutcome("finished")


def test_a_change_that_an_executor_has_no_part_in_is_answered_at_once() -> None:
    with lone_executor(workers=(5,)) as lone:
        lone.configure()
        assert change(lone, 1, 7, (5, 6)).stall_us == 0


def test_under_ssp_a_worker_without_data_finishes_its_last_mini_batch_by_a_pull(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contribute = Shard.push

    def push_uncounted(shard: Shard, request: Request, target: Target, head: PushHead) -> None:
        contribute(shard, request, target, replace(head, is_last=False))

    monkeypatch.setattr(Shard, "push", push_uncounted)
    with lone_executor() as lone:
        lone.plan = replace(lone.plan, sync=replace(lone.plan.sync, consistency=Ssp(0)))
        lone.configure()
        lone.start()
        report = lone.next_report()
        assert lone.executor._context is not None
        assert lone.executor._context.tables[MODEL_TABLE].worker_clocks == {0: BATCHES}
        report.answer("stop")
        assert lone.ended() == RunOutcome("finished")


def test_the_model_that_one_worker_trains_is_the_same_on_every_run() -> None:
    sums = []
    for _ in range(2):
        with lone_executor(ToyRegression()) as lone:
            lone.configure()
            lone.load()
            lone.start()
            report = lone.next_report()
            sums.append(report.done.sums)
            report.answer("stop")
            lone.ended()
    np.testing.assert_array_equal(sums[0], sums[1])


@pytest.fixture
def counting() -> Iterator[LoneExecutor]:
    """An asynchronous job whose model counts the instances in it."""
    with lone_executor(CountingInstances()) as made:
        made.plan = replace(made.plan, sync=replace(made.plan.sync, consistency=Async()))
        made.configure()
        made.load()
        yield made


def communicating() -> set[threading.Thread]:
    """The threads of this process that communicate beside COMP, of any test."""
    return {thread for thread in threading.enumerate() if thread.name == "communication"}


def instances_before(lone: LoneExecutor, clock: int) -> int:
    schedule = lone.plan.schedule
    return sum(map(schedule.batch_instances, schedule.order(0)[:clock].tolist()))


def test_an_asynchronous_worker_reports_an_epoch_with_all_its_updates(
    counting: LoneExecutor,
) -> None:
    before = communicating()
    counting.start()
    report = counting.next_report()
    assert counting.values() == {len(counting.rows)}
    assert report.done.pulled_bytes == report.done.pushed_bytes == BATCHES * 40 * 8
    assert communicating() - before
    report.answer("stop")
    assert counting.ended() == RunOutcome("finished")
    assert not communicating() - before


def test_an_asynchronous_worker_that_is_relieved_has_pushed_its_updates(
    counting: LoneExecutor,
) -> None:
    counting.answer(Hold(GENERATION, 1), Held)
    call = counting.ask(ChangeWork(GENERATION, WorkChange(1, 4, (5,), counting.layout.data)))
    counting.start()
    answer_of(call, WorkChanged, TIMEOUT_S)
    assert counting.values() == {instances_before(counting, 4)}
    require_ok(counting.ask(Dismiss(GENERATION)).wait(TIMEOUT_S))
    assert counting.ended() == RunOutcome("finished")


def test_an_asynchronous_worker_that_is_paused_has_pushed_its_updates(
    counting: LoneExecutor,
) -> None:
    counting.answer(Hold(GENERATION, 1), Held)
    require_ok(counting.ask(PauseWork(GENERATION, 1, 4)).wait(TIMEOUT_S))
    counting.start()
    while not isinstance(counting.inbox.events.get(timeout=TIMEOUT_S), WorkerPaused):
        pass
    assert counting.values() == {instances_before(counting, 4)}
    counting.executor.abort()
    assert counting.ended().kind == "aborted"


def test_values_that_exchange_changes_are_not_pulled_during_comp() -> None:
    """A copy of the model is in use then."""
    before = communicating()
    with lone_executor(IntegerCounts()) as lone:
        lone.plan = replace(lone.plan, sync=replace(lone.plan.sync, consistency=Async()))
        lone.configure()
        lone.load()
        lone.start()
        report = lone.next_report()
        assert not communicating() - before
        report.answer("stop")
        assert lone.ended() == RunOutcome("finished")
