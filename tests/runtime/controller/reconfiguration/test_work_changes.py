"""A change of workers or data in, requests to every executor out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from controlled_generation import GENERATION, ControlledGeneration, controlled_generation
from motet.domain.errors import BadInput, Unreachable
from motet.runtime.controller.reconfiguration.cost import Cost
from motet.runtime.controller.reconfiguration.shared_layout import SharedLayout
from motet.runtime.controller.reconfiguration.work_changes import WorkChanges
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.wire.control_messages import (
    ChangeWork,
    Held,
    Hold,
    PrepareWork,
    SetWorkers,
    WorkChanged,
    WorkPrepared,
)
from motet.runtime.wire.ownership import WorkChange
from wire_messages import plain

MEASURED: dict[type, Callable[[Any], Any]] = {
    PrepareWork: lambda message: WorkPrepared(100),
    ChangeWork: lambda message: WorkChanged(2_000_000),
}


def changes(made: ControlledGeneration) -> tuple[WorkChanges, SharedLayout]:
    layout = SharedLayout(made.layout)
    return WorkChanges(made.generation, layout), layout


def move_a_block(now: JobLayout) -> JobLayout:
    return now.moved("data", [0], 1)


def test_data_are_prepared_workers_are_held_and_then_all_change_at_one_mini_batch() -> None:
    with controlled_generation(MEASURED) as made:
        work, layout = changes(made)
        assert work.change(move_a_block) == Cost(200, 2.0)
        data, workers = layout.now.data, layout.now.workers
        announced = plain(SetWorkers(GENERATION, workers, 0))
        worker = [
            plain(PrepareWork(GENERATION, 1, data)),
            plain(Hold(GENERATION, 1)),
            announced,
            plain(ChangeWork(GENERATION, WorkChange(1, 0, workers, data))),
            announced,
        ]
        server = [announced, announced]
        assert made.asked() == {0: worker, 1: worker, 2: server, 3: server}


def test_a_change_that_moves_no_data_prepares_none() -> None:
    with controlled_generation(MEASURED) as made:
        work, _ = changes(made)
        assert work.change(lambda now: now) == Cost(0, 2.0)
        kinds = [message[0] for message in made.asked()[0]]
        assert kinds == [Hold, SetWorkers, ChangeWork, SetWorkers]


def test_the_change_takes_effect_at_the_latest_mini_batch_that_a_worker_will_not_begin() -> None:
    clocks = {0: 17, 1: 12}

    with controlled_generation() as made:
        for number, clock in clocks.items():
            executor = made.executors[number]
            executor._answers[Hold] = lambda message, clock=clock: Held(clock)  # type: ignore[index]
        work, _ = changes(made)
        work.change(move_a_block)
        (message,) = [it for it in made.executors[0].asked if isinstance(it, ChangeWork)]
        assert message.change.clock == 17
        members = made.generation.members
        assert (members.workers_at(16), members.workers_at(17)) == ((0, 1), (0, 1))


def test_a_new_worker_prepares_and_changes_but_is_not_held() -> None:
    with controlled_generation() as made:
        work, _ = changes(made)
        work.change(lambda now: now.with_role(2, "worker").moved("data", [0, 1], 2))
        kinds = {n: [message[0] for message in asked] for n, asked in made.asked().items()}
        changing = [SetWorkers, ChangeWork, SetWorkers]
        assert kinds == {
            0: [PrepareWork, Hold, *changing],
            1: [PrepareWork, Hold, *changing],
            2: [PrepareWork, *changing],
            3: [SetWorkers, SetWorkers],
        }
        assert made.generation.members.workers_at(0) == (0, 1, 2)


def test_servers_wait_for_a_worker_that_leaves_until_it_has_left() -> None:
    with controlled_generation() as made:
        work, _ = changes(made)
        work.change(lambda now: now.without_role(1, "worker"))
        server = made.executors[3].asked
        assert [it.workers for it in server if isinstance(it, SetWorkers)] == [(0, 1), (0,)]


def test_changes_requested_at_the_same_time_happen_together() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hold(message: Hold) -> Held:
        begun.set()
        assert go_on.wait(30)
        return Held(0)

    with controlled_generation({**MEASURED, Hold: hold}) as made, ThreadPoolExecutor() as pool:
        work, layout = changes(made)
        first = pool.submit(work.change, lambda now: now)
        assert begun.wait(30)
        together = [
            pool.submit(work.change, lambda now, block=block: now.moved("data", [block], 1))
            for block in (0, 2)
        ]
        refused = pool.submit(work.change, refuse)
        while len(work._requested) < 3:
            threading.Event().wait(0.001)
        go_on.set()
        assert first.result(30) == Cost(0, 2.0)
        assert sorted(it.result(30).moved_bytes for it in together) == [0, 200]
        with pytest.raises(BadInput, match="not now"):
            refused.result(30)
        assert {0, 2} <= set(layout.now.data.blocks_of(1))
        numbers = [it.change.number for it in made.executors[0].asked if isinstance(it, ChangeWork)]
        assert numbers == [1, 2]


def refuse(now: JobLayout) -> JobLayout:
    raise BadInput("not now")


def test_a_lost_executor_fails_all_changes_that_happen_together() -> None:
    with controlled_generation() as made:
        made.executors[1].kill()
        work, _ = changes(made)
        with pytest.raises(Unreachable):
            work.change(move_a_block)
