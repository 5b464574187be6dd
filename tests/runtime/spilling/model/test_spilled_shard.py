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
from motet.runtime.spilling.spill_file import SpillFile
from motet.runtime.spilling.model.spilled_values import SpilledValues
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.peers import ExecutorPeers
from motet.runtime.wire.table_requests import PushHead
from motet.transport import Arena, Server

SECRET, DISK = b"s" * 32, Path("/var/tmp")
BATCHES, WORKERS, KEYS = 6, 2, 60
SPEC = TableSpec(1, ModelTable(KEYS, (3,), np.dtype(np.float64)), block_count=7)
OWNERS = Ownership.even(SPEC.block_count, [0])


def move(values: Array, delta: Array, step: Step) -> None:
    del step
    values += delta / 3 - values / 7


def trained(spill_at: int | None, *, sparse: bool) -> Array:
    """`spill_at`: the mini-batch at which worker 0 has the server spill, while worker 1 waits for
    it or pulls; None: never."""
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
@pytest.mark.parametrize("spill_at", [0, 1, 4])
@pytest.mark.parametrize("chunk_bytes", [1, 2 << 20])
def test_the_model_is_the_same_to_the_bit(
    chunk_bytes: int, spill_at: int, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routed_calls, "CHUNK_BYTES", chunk_bytes)
    expected = trained(None, sparse=sparse)
    np.testing.assert_array_equal(trained(spill_at, sparse=sparse), expected)


def test_spilled_blocks_are_in_memory_only_while_they_are_used() -> None:
    shard = Shard(SPEC, move, Synchronisation(Bsp(), (0,)), OWNERS, executor=0)
    file = SpillFile(DISK)
    shard.keep_in(lambda: SpilledValues(file))
    blocks = shard._held._blocks.values()
    assert sum(block.values.nbytes for block in blocks) == 0
    states = dict(shard.hand_over(shard.block_numbers, OWNERS))
    assert sum(state.values.nbytes for state in states.values()) == SPEC.model.nbytes
