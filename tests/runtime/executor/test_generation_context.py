"""What an executor has for one generation, and how its end wakes all that waits."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from lone_executor import GENERATION, TIMEOUT_S, LoneExecutor, lone_executor
from motet.domain.errors import ConnectionLost, JobFailed
from motet.runtime.core.table_spec import MODEL_TABLE
from motet.runtime.executor.generation_context import GenerationContext
from motet.runtime.server.served_tables import ServedTables
from motet.runtime.server.shard import Shard
from motet.runtime.wire.assignment import CONTROLLER
from motet.runtime.wire.control_messages import (
    BlocksMoved,
    LearnOwners,
    Meet,
    MoveBlocks,
    PrepareWork,
    WorkPrepared,
)
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.exchange import answer_of, require_ok
from scripted_executors import ScriptedExecutor


@pytest.fixture
def lone() -> Iterator[LoneExecutor]:
    with lone_executor() as made:
        made.configure()
        made.load()
        yield made


@pytest.fixture
def other(lone: LoneExecutor) -> Iterator[ScriptedExecutor]:
    """Executor 1, which has just joined."""
    made = ScriptedExecutor(1)
    require_ok(lone.ask(Meet(GENERATION, {1: made.endpoint()})).wait(TIMEOUT_S))
    yield made
    made.kill()


def context_of(lone: LoneExecutor) -> GenerationContext:
    assert lone.executor._context is not None
    return lone.executor._context


def test_an_executor_that_the_assignment_names_begins_as_a_worker(lone: LoneExecutor) -> None:
    assert context_of(lone).is_worker
    with lone_executor(workers=(1, 2)) as idle:
        idle.configure()
        assert not context_of(idle).is_worker


def test_every_generation_has_a_context_of_its_own(lone: LoneExecutor) -> None:
    before = context_of(lone)
    lone.configure(generation=GENERATION + 1)
    assert before.ended.is_set()
    assert context_of(lone) is not before
    assert context_of(lone).number == GENERATION + 1


def test_new_owners_of_a_second_table_are_an_error(lone: LoneExecutor) -> None:
    spec = replace(lone.plan.table, number=MODEL_TABLE + 1)
    context = context_of(lone)
    second = Shard(spec, lone.app.apply, lone.plan.sync, lone.layout.model, 0)
    context.tables = ServedTables("executor 0", [context.tables[MODEL_TABLE], second])
    newer = lone.layout.model.moved([0], 1)
    with pytest.raises(JobFailed, match=f"the owners of table {spec.number} have changed"):
        lone.ask(LearnOwners(GENERATION, spec.number, newer)).wait(TIMEOUT_S)
    with pytest.raises(JobFailed, match=f"executor 0 has no table {spec.number + 1}"):
        lone.ask(LearnOwners(GENERATION, spec.number + 1, newer)).wait(TIMEOUT_S)


def test_model_blocks_are_handed_over_once_however_often_it_is_asked(
    lone: LoneExecutor, other: ScriptedExecutor
) -> None:
    blocks = (0, 3)
    moved = lone.layout.model.moved(blocks, 1)
    request = MoveBlocks(GENERATION, MODEL_TABLE, blocks, 1, moved)
    first = lone.answer(request, BlocksMoved)
    again = lone.answer(request, BlocksMoved)
    assert (first.moved_bytes, first.took_us) == (again.moved_bytes, again.took_us)
    rows = [lone.plan.table.partition.rows_in(block) for block in blocks]
    assert first.moved_bytes == sum(rows) * 8
    learned, *taken = other.asked
    assert isinstance(learned, LearnOwners)
    assert learned.ownership.owners.tolist() == moved.owners.tolist()
    assert [(it.number, it.version) for it in taken] == [(0, 2), (3, 2)]


def test_copies_of_leaving_data_blocks_are_sent_ahead_once(
    lone: LoneExecutor, other: ScriptedExecutor
) -> None:
    lone.start()
    report = lone.next_report()
    data = lone.layout.data.moved([0, 5], 1)
    first = lone.answer(PrepareWork(GENERATION, 1, data), WorkPrepared)
    again = lone.answer(PrepareWork(GENERATION, 1, data), WorkPrepared)
    assert first.sent_bytes == again.sent_bytes > 0
    assert sorted((it.block, it.occasion) for it in other.asked) == [(0, -2), (5, -2)]
    report.answer("stop")


def test_the_end_wakes_preparations_and_refuses_new_connections(lone: LoneExecutor) -> None:
    with ThreadPoolExecutor() as pool:
        # The worker has not begun, so the preparation waits for it.
        call = lone.ask(PrepareWork(GENERATION, 1, lone.layout.data))
        waiting = pool.submit(answer_of, call, WorkPrepared, TIMEOUT_S)
        context_of(lone).end()
        with pytest.raises(StaleGeneration):
            waiting.result(TIMEOUT_S)
    with pytest.raises(ConnectionLost, match="were closed before executor"):
        context_of(lone).peers.connection(CONTROLLER)
    context_of(lone).end()


def test_executors_that_have_joined_can_be_reached(lone: LoneExecutor) -> None:
    joined = ScriptedExecutor(1)
    context_of(lone).meet({1: joined.endpoint()})
    for peers in (context_of(lone).peers, context_of(lone).carriers):
        assert peers.connection(1).endpoint == joined.endpoint()
    joined.kill()
