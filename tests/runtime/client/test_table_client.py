"""Tables over real sockets: get, put, update; exactly once; redirected when a block has moved."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.runtime.client import routed_calls
from motet.runtime.client.routed_calls import RoutedCalls
from motet.runtime.client.table_client import TableClient
from motet.runtime.core.application import ModelTable
from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.messages import ReplyStatus, RequestKind
from motet.runtime.wire.peers import ExecutorPeers
from motet.transport import Requester
from table_on_executors import SECRET, TableOnExecutors


def table_of(partition: Any = "range", keys: int = 50, width: int = 3) -> TableOnExecutors:
    return TableOnExecutors(ModelTable(keys, (width,), np.dtype(np.float64), partition=partition))


@pytest.fixture(params=["range", "hash"])
def table(request: pytest.FixtureRequest) -> Iterator[TableOnExecutors]:
    made = table_of(request.param)
    yield made
    made.close()


operations = st.lists(
    st.tuples(
        st.sampled_from(["put", "update", "get"]),
        st.lists(st.integers(0, 49), unique=True, max_size=12),
        st.integers(-5, 5),
    ),
    max_size=12,
)


@settings(
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(operations)
def test_a_table_behaves_like_an_array(
    table: TableOnExecutors, program: list[tuple[str, list[int], int]]
) -> None:
    client = table.client()
    client.multi_put(None, np.zeros((50, 3)))
    expected = np.zeros((50, 3))
    for what, chosen, number in program:
        keys = np.array(chosen, dtype=np.int64)
        values = np.full((len(keys), 3), float(number))
        if what == "put":
            client.multi_put(keys, values)
            expected[keys] = values
        elif what == "update":
            client.multi_update(keys, values)
            expected[keys] += values
        else:
            np.testing.assert_array_equal(client.multi_get(keys), expected[keys])
    np.testing.assert_array_equal(client.multi_get(), expected)


def test_one_key_at_a_time(table: TableOnExecutors) -> None:
    client = table.client()
    client.put(7, np.array([1.0, 2.0, 3.0]))
    client.update(7, np.array([10.0, 10.0, 10.0]))
    assert client.get(7).tolist() == [11, 12, 13]
    assert client.get(8).tolist() == [0, 0, 0]


def test_a_key_outside_the_table_is_refused(table: TableOnExecutors) -> None:
    with pytest.raises(IndexError, match=r"keys 0\.\.49"):
        table.client().get(50)


def test_a_key_named_twice_is_refused(table: TableOnExecutors) -> None:
    with pytest.raises(ValueError, match="named twice"):
        table.client().multi_update([2, 2], np.ones((2, 3)))


def test_values_that_do_not_fit_the_keys_are_refused(table: TableOnExecutors) -> None:
    with pytest.raises(ValueError, match=r"takes \(2, 3\)"):
        table.client().multi_put([1, 2], np.ones((2, 4)))


def test_updates_of_many_clients_at_once_all_count(table: TableOnExecutors) -> None:
    def hammer(client: TableClient, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(60):
            keys = rng.choice(50, size=10, replace=False)
            client.multi_update(keys, np.ones((10, 3)))

    clients = [table.client() for _ in range(4)]
    threads = [threading.Thread(target=hammer, args=(c, i)) for i, c in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert clients[0].multi_get().sum() == 4 * 60 * 10 * 3


def test_a_client_with_an_old_ownership_table_is_redirected(table: TableOnExecutors) -> None:
    old = table.ownership
    new = old.moved(list(range(0, table.spec.block_count, 2)), 2)
    table.configure(new, generation=1)
    client = table.client(old, generation=1)
    client.multi_put(None, np.ones((50, 3)))
    client.multi_update(None, np.ones((50, 3)))
    np.testing.assert_array_equal(client.multi_get(), np.full((50, 3), 2.0))
    assert client.ownership.version == new.version


class RecordingPeers(ExecutorPeers):
    """Remembers the executor of every request."""

    asked: list[int]

    def connection(self, executor: int) -> Requester:
        self.asked.append(executor)
        return super().connection(executor)


def test_a_request_to_the_old_owner_of_a_block_is_sent_to_it_once() -> None:
    table = table_of()
    old = table.ownership
    moved = old.moved([0], 2)
    table.configure(moved, generation=1)
    peers = RecordingPeers(table.endpoints, SECRET, table.arena)
    peers.asked = []
    client = TableClient(table.spec, old, peers, client=1, generation=1)
    client.put(0, np.ones(3))
    assert peers.asked == [0, 2]
    peers.close()
    table.close()


def test_other_owners_are_asked_before_the_one_in_this_process(table: TableOnExecutors) -> None:
    own = {0: table.executors[0]._handle}
    peers = RecordingPeers(table.endpoints, SECRET, table.arena, handlers=own)
    peers.asked = []
    client = TableClient(table.spec, table.ownership, peers, client=1, generation=0)
    values = np.arange(150.0).reshape(50, 3)
    client.multi_put(None, values)
    assert peers.asked == [1, 2, 0]
    np.testing.assert_array_equal(client.multi_get(), values)
    peers.close()


class CountingPeers(ExecutorPeers):
    """Remembers how many requests to an executor were unanswered before each request."""

    unanswered: list[int]

    def connection(self, executor: int) -> Requester:
        found = super().connection(executor)
        self.unanswered.append(found.outstanding_count)
        return found


def test_few_parts_of_a_large_write_are_under_way_at_a_time(
    table: TableOnExecutors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routed_calls, "CHUNK_BYTES", 1)
    monkeypatch.setattr(routed_calls, "MOST_AT_ONCE", 2)
    peers = CountingPeers(table.endpoints, SECRET, table.arena)
    peers.unanswered = []
    client = TableClient(table.spec, table.ownership, peers, client=1, generation=0)
    values = np.arange(150.0).reshape(50, 3)
    client.multi_put(None, values)
    assert len(peers.unanswered) == table.spec.block_count
    assert max(peers.unanswered) == 1
    np.testing.assert_array_equal(client.multi_get(), values)
    peers.close()


def test_the_same_request_twice_is_applied_once(table: TableOnExecutors) -> None:
    """What a retry after a broken connection does: the same client, numbers and bytes again."""
    client = table.client()
    plan = client.plan(np.arange(50))
    peers = ExecutorPeers(table.endpoints, SECRET, table.arena)
    calls = RoutedCalls(client.spec, table.ownership, peers, generation=0)
    for route in plan.routes(table.ownership):
        numbers = np.zeros(len(route.selection.blocks), np.uint64).tobytes()
        meta = calls.head(route, -1) + (99).to_bytes(8, "little") + numbers
        ones = np.ones((route.row_count, 3))
        for _ in range(3):
            reply = peers.connection(route.owner).submit(RequestKind.UPDATE, meta, [ones]).wait()
            assert reply.status == ReplyStatus.OK
    np.testing.assert_array_equal(client.multi_get(), np.ones((50, 3)))
    peers.close()


def test_a_request_of_an_ended_generation_is_refused(table: TableOnExecutors) -> None:
    client = table.client(generation=0)
    table.configure(table.ownership, generation=1)
    with pytest.raises(StaleGeneration):
        client.multi_get()


def test_a_large_table_arrives_whole() -> None:
    table = TableOnExecutors(ModelTable(300_000, (10,), np.dtype(np.float32)))
    try:
        client = table.client()
        values = np.random.default_rng(0).random((300_000, 10), dtype=np.float32)
        client.multi_put(None, values)
        client.multi_update(None, values)
        np.testing.assert_array_equal(client.multi_get(), values * 2)
    finally:
        table.close()


def test_a_push_is_sent_in_pieces_of_some_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """256 rows of 1 KB for three owners, 128 KB at a time: one piece, and a second for the rest."""
    monkeypatch.setattr(routed_calls, "CHUNK_BYTES", 128 << 10)
    table = table_of(keys=256, width=128)
    sent: list[int] = []
    run = RoutedCalls._run

    def watched(self: RoutedCalls, plan: Any, routes: Any, *more: Any) -> Any:
        sent.append(len(routes))
        return run(self, plan, routes, *more)

    monkeypatch.setattr(RoutedCalls, "_run", watched)
    table.client().multi_put(None, np.ones((256, 128)))
    table.close()
    owners = len(table.executors)
    assert owners <= sum(sent) <= 2 * owners
