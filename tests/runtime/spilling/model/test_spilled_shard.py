"""A server whose blocks go to disk while workers train gives the model of one in memory."""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from motet.domain.arrays import Array
from motet.runtime.client import routed_calls
from motet.runtime.client.table_client import TableClient
from motet.runtime.core.application import ModelTable, Step
from motet.runtime.core.consistency import Bsp, Synchronisation
from motet.runtime.core.sums import Place
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.server.served_tables import ServedTables
from motet.runtime.server.shard import Shard
from motet.runtime.spilling.model.spilled_values import SpilledValues
from motet.runtime.spilling.targets.spill_file import SpillFile
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.peers import ExecutorPeers
from motet.runtime.wire.table_requests import PushHead
from motet.transport import Arena, Server
from soak_cases import others_in_soak

SECRET, DISK = b"s" * 32, Path("/var/tmp")
BATCHES, WORKERS, KEYS = 6, 2, 60
SPEC = TableSpec(1, ModelTable(KEYS, (3,), np.dtype(np.float64)), block_count=7)
OWNERS = Ownership.even(SPEC.block_count, [0])


def move(values: Array, delta: Array, step: Step) -> None:
    del step
    values += delta / 3 - values / 7


def trained(spill_at: int | None, return_at: int | None = None, *, sparse: bool) -> Array:
    """`spill_at`: the mini-batch at which worker 0 has the server spill, while worker 1 waits for
    it or pulls; `return_at`: at which it has the model return to memory; None: never."""
    shard = Shard(SPEC, move, Synchronisation(Bsp(), tuple(range(WORKERS))), OWNERS, executor=0)
    file = SpillFile(DISK)
    with ExitStack() as parts:
        served = ServedTables("server", [shard])
        server = parts.enter_context(closing(Server(served.handle, SECRET)))
        arena = parts.enter_context(closing(Arena()))
        peers = ExecutorPeers({0: server.endpoint}, SECRET, arena)
        parts.enter_context(closing(peers))
        clients = [
            TableClient(SPEC, OWNERS, peers, client=rank, pulls_in_chunks=True)
            for rank in range(WORKERS)
        ]
        clients[0].multi_put(None, np.random.default_rng(0).random((KEYS, 3)))

        def work(rank: int) -> None:
            rng = np.random.default_rng([1, rank])
            for clock in range(BATCHES):
                if rank == 0 and clock == spill_at:
                    shard.keep_in(lambda: SpilledValues(file))
                if rank == 0 and clock == return_at:
                    assert shard.bring_back(lambda nbytes: True)
                keys = np.sort(rng.choice(KEYS, 20, replace=False)) if sparse else None
                plan = clients[rank].batch_plan(keys)
                values, _ = clients[rank].read(plan, clock, None, rank)
                step = Step(0, clock, BATCHES, clock, WORKERS, WORKERS, 0)
                head = PushHead(rank, step, 1, True, Place(rank, WORKERS))
                clients[rank].contribute(plan, np.sin(values) * (rank + 1), head)

        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(WORKERS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return clients[0].read(clients[0].batch_plan(None), BATCHES, None)[0].copy()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("spill_at", others_in_soak([0, 1, 4], [1]))
@pytest.mark.parametrize("chunk_bytes", [1, 2 << 20])
def test_the_model_is_the_same_to_the_bit(
    chunk_bytes: int, spill_at: int, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routed_calls, "CHUNK_BYTES", chunk_bytes)
    expected = trained(None, sparse=sparse)
    np.testing.assert_array_equal(trained(spill_at, sparse=sparse), expected)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("return_at", [1, 2, 5])
def test_a_model_that_returns_while_workers_train_is_the_same_to_the_bit(
    return_at: int, sparse: bool
) -> None:
    expected = trained(None, sparse=sparse)
    np.testing.assert_array_equal(trained(0, return_at, sparse=sparse), expected)


def resident_bytes(shard: Shard) -> int:
    return sum(block.values.nbytes for block in shard._held._blocks.values())


def test_blocks_that_have_returned_lie_side_by_side_again() -> None:
    shard = Shard(SPEC, move, Synchronisation(Bsp(), (0,)), OWNERS, executor=0)
    file = SpillFile(DISK)
    shard.keep_in(lambda: SpilledValues(file))
    assert shard.bring_back(lambda nbytes: True)
    assert resident_bytes(shard) == SPEC.model.nbytes
    span = shard._held._memory.span_of(shard.block_numbers)
    assert span is not None
    assert span.nbytes == SPEC.model.nbytes
    for block in shard._held._blocks.values():
        assert np.shares_memory(block.values, span)


def test_blocks_stay_on_disk_if_not_all_of_them_have_room() -> None:
    shard = Shard(SPEC, move, Synchronisation(Bsp(), (0,)), OWNERS, executor=0)
    file = SpillFile(DISK)
    shard.keep_in(lambda: SpilledValues(file))
    asked: list[int] = []

    def has_room(nbytes: int) -> bool:
        asked.append(nbytes)
        return len(asked) < SPEC.block_count

    assert not shard.bring_back(has_room)
    assert sum(asked) == SPEC.model.nbytes
    assert resident_bytes(shard) == 0


def test_a_block_that_arrives_while_the_model_returns_is_in_memory_at_the_end() -> None:
    shard = Shard(SPEC, move, Synchronisation(Bsp(), (0,)), OWNERS, executor=0)
    file = SpillFile(DISK)
    shard.keep_in(lambda: SpilledValues(file))
    (state,) = dict(shard.hand_over([3], OWNERS.moved([3], 1))).values()
    arrives = iter([state])

    def has_room(nbytes: int) -> bool:
        del nbytes
        for late in arrives:
            shard.take_in(3, late, OWNERS.version + 2, {})
        return True

    assert shard.bring_back(has_room)
    assert shard.block_numbers == list(range(SPEC.block_count))
    assert resident_bytes(shard) == SPEC.model.nbytes


def test_readers_keep_what_they_have_pinned_when_the_model_returns() -> None:
    shard = Shard(SPEC, move, Synchronisation(Bsp(), (0,)), OWNERS, executor=0)
    file = SpillFile(DISK)
    shard.keep_in(lambda: SpilledValues(file))
    block = shard._held._blocks[0]
    pinned = block.pin()
    assert shard.bring_back(lambda nbytes: True)
    block.update(0, 0, None, np.ones_like(pinned), Step(0, 0, 1, 0, 1, 1, 0))
    block.unpin(pinned)
    assert not pinned.any()
    assert block.values.any()


def test_spilled_blocks_are_in_memory_only_while_they_are_used() -> None:
    shard = Shard(SPEC, move, Synchronisation(Bsp(), (0,)), OWNERS, executor=0)
    file = SpillFile(DISK)
    shard.keep_in(lambda: SpilledValues(file))
    blocks = shard._held._blocks.values()
    assert sum(block.values.nbytes for block in blocks) == 0
    states = dict(shard.hand_over(shard.block_numbers, OWNERS))
    assert sum(state.values.nbytes for state in states.values()) == SPEC.model.nbytes
