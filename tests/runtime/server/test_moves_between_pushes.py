"""Blocks that move to another shard while workers push under SSP."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from motet.domain.arrays import Array
from motet.runtime.core.application import ModelTable, Step
from motet.runtime.core.consistency import Ssp, Synchronisation
from motet.runtime.core.table_spec import MODEL_TABLE, TableSpec
from motet.runtime.server.block import Block
from motet.runtime.server.block_state import BlockState
from motet.runtime.server.shard import Shard
from motet.runtime.wire.messages import ReplyStatus, RequestKind
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.table_requests import ALL_ROWS, PullHead, PushHead, Target

SPEC = TableSpec(MODEL_TABLE, ModelTable(2, (1,), np.dtype(np.float64)), block_count=2)
SOURCE, DESTINATION = 0, 1
WORKERS = (4, 5)


class FakeRequest:
    """A request that remembers its reply."""

    def __init__(self, payload: Array | None = None) -> None:
        self.kind = RequestKind.PULL if payload is None else RequestKind.PUSH
        self.payload = memoryview(b"") if payload is None else memoryview(payload).cast("B")
        self.status: int | None = None

    def reply(self, status: int, meta: bytes = b"", buffers: Any = (), on_sent: Any = None) -> None:
        del meta, buffers
        self.status = status
        if on_sent is not None:
            on_sent()


def add(values: Array, delta: Array, step: Step) -> None:
    del step
    values += delta


class TwoShards:
    """Two blocks at one executor; the first of them moves to another one."""

    def __init__(self, staleness: int) -> None:
        owners = Ownership.even(2, [SOURCE])
        sync = Synchronisation(Ssp(staleness), WORKERS)
        self.source, self.destination = (
            Shard(SPEC, add, sync, owners, executor) for executor in (SOURCE, DESTINATION)
        )
        self._moved = owners.moved([0], DESTINATION)

    def push(self, worker: int, clock: int, *blocks: int, is_last: bool) -> int | None:
        request = FakeRequest(np.ones(len(blocks)))
        step = Step(0, clock, 10, clock, 2, 20, 0)
        head = PushHead(worker, step, 1, is_last=is_last)
        self.source.push(cast(Any, request), target(clock, *blocks), head)
        return request.status

    def pull(self, worker: int, clock: int) -> FakeRequest:
        """Of the block that moves, from its new owner."""
        request = FakeRequest()
        self.destination.pull(cast(Any, request), target(clock, 0), PullHead(worker))
        return request

    def hand_over(self) -> list[tuple[int, BlockState]]:
        self.destination.learn(self._moved)
        return list(self.source.hand_over([0], self._moved))

    def take_in(self, states: list[tuple[int, BlockState]], clocks: dict[int, int]) -> None:
        for number, state in states:
            self.destination.take_in(number, state, self._moved.version, clocks)


def target(clock: int, *blocks: int) -> Target:
    selection = np.array(blocks, np.uint32).tobytes()
    return Target(0, MODEL_TABLE, 1, clock, len(blocks), ALL_ROWS, selection)


@pytest.mark.parametrize("staleness", [0, 1])
def test_a_block_that_moves_between_two_chunks_of_a_push_is_pulled_afterwards(
    staleness: int,
) -> None:
    shards = TwoShards(staleness)
    for clock in range(staleness + 1):
        for worker in WORKERS:
            assert shards.push(worker, clock, 0, is_last=False) == ReplyStatus.OK
    shards.take_in(shards.hand_over(), shards.source.worker_clocks)
    for worker in WORKERS:
        assert shards.push(worker, staleness, 1, is_last=True) == ReplyStatus.OK
    first, second = (shards.pull(worker, staleness + 1) for worker in WORKERS)
    assert (first.status, second.status) == (ReplyStatus.OK, ReplyStatus.OK)


def test_a_pull_is_parked_until_the_slower_worker_pulls_too() -> None:
    shards = TwoShards(0)
    shards.push(WORKERS[0], 0, 0, 1, is_last=True)
    shards.take_in(shards.hand_over(), {})
    ahead = shards.pull(WORKERS[0], 1)
    assert shards.pull(WORKERS[1], 0).status == ReplyStatus.OK
    assert ahead.status is None
    shards.pull(WORKERS[1], 1)
    assert ahead.status == ReplyStatus.OK


def test_a_block_that_moves_between_a_contribution_and_its_count_is_pulled_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shards, contribute_now = TwoShards(0), Block.contribute_now
    moved: list[tuple[int, BlockState]] = []

    def contribute_and_move(block: Block, rank: int, *rest: Any) -> None:
        contribute_now(block, rank, *rest)
        if rank == WORKERS[1] and not moved:
            moved.extend(shards.hand_over())
            shards.take_in(moved, shards.source.worker_clocks)

    monkeypatch.setattr(Block, "contribute_now", contribute_and_move)
    for worker in WORKERS:
        assert shards.push(worker, 0, 0, is_last=True) == ReplyStatus.OK
    assert shards.destination.worker_clocks == {WORKERS[0]: 1, WORKERS[1]: 0}
    statuses = [shards.pull(worker, 1).status for worker in reversed(WORKERS)]
    assert statuses == [ReplyStatus.OK] * 2


def test_a_read_of_no_worker_counts_nothing() -> None:
    shards = TwoShards(0)
    shards.take_in(shards.hand_over(), {})
    request = FakeRequest()
    shards.destination.pull(cast(Any, request), target(1, 0), PullHead())
    assert request.status is None
    assert shards.destination.worker_clocks == dict.fromkeys(WORKERS, 0)
