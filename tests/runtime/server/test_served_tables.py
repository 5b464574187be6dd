"""Several tables at one server over real sockets, without a job and its generations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.arrays import Array
from motet.domain.errors import JobFailed
from motet.runtime.client.table_client import TableClient
from motet.runtime.core.application import ModelTable, Step
from motet.runtime.core.consistency import Ssp, Synchronisation
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.server.served_tables import ServedTables
from motet.runtime.server.shard import Shard
from motet.runtime.wire.errors import BadMessage, StaleGeneration
from motet.runtime.wire.messages import RequestKind
from motet.runtime.wire.ownership import Ownership
from motet.runtime.wire.peers import ExecutorPeers
from motet.runtime.wire.table_requests import ANY_CLOCK, NO_GENERATION, encode_target
from motet.transport import Arena, Server

SECRET = b"s" * 32
SYNC = Synchronisation(Ssp(0), (0, 1))


def add(values: Array, delta: Array, step: Step) -> None:
    del step
    values += delta


def keep_largest(values: Array, delta: Array, step: Step) -> None:
    del step
    np.maximum(values, delta, out=values)


SUMS = TableSpec(1, ModelTable(40, (3,), np.dtype(np.float64)), block_count=7)
MAXIMA = TableSpec(2, ModelTable(25, (), np.dtype(np.int32), partition="hash"), block_count=4)
APPLY = {1: np.add, 2: np.maximum}


def shard_of(spec: TableSpec) -> Shard:
    update = add if spec is SUMS else keep_largest
    return Shard(spec, update, SYNC, owners_of(spec), executor=0)


def owners_of(spec: TableSpec) -> Ownership:
    return Ownership.even(spec.block_count, [0])


class TwoTables:
    """A server of two tables and a client of each."""

    def __init__(self, parts: ExitStack) -> None:
        self.served = ServedTables("server a", [shard_of(SUMS), shard_of(MAXIMA)])
        server = parts.enter_context(closing(Server(self.served.handle, SECRET)))
        arena = parts.enter_context(closing(Arena()))
        peers = ExecutorPeers({0: server.endpoint}, SECRET, arena)
        self.peers = parts.enter_context(closing(peers))
        self.clients = {spec.number: self.client(spec) for spec in (SUMS, MAXIMA)}

    def client(self, spec: TableSpec, **options: int) -> TableClient:
        return TableClient(spec, owners_of(spec), self.peers, client=7, **options)


@pytest.fixture
def tables() -> Iterator[TwoTables]:
    with ExitStack() as parts:
        yield TwoTables(parts)


operations = st.lists(
    st.tuples(
        st.sampled_from([SUMS, MAXIMA]),
        st.sampled_from(["put", "update"]),
        st.lists(st.integers(0, 24), unique=True, max_size=6),
        st.integers(-9, 9),
    ),
    max_size=10,
)


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations)
def test_each_table_has_values_and_an_update_function_of_its_own(
    tables: TwoTables, program: list[tuple[TableSpec, str, list[int], int]]
) -> None:
    expected = {}
    for spec in (SUMS, MAXIMA):
        expected[spec.number] = np.zeros(spec.model.shape, spec.model.dtype)
        tables.clients[spec.number].multi_put(None, expected[spec.number])
    for spec, what, keys, number in program:
        client, values = tables.clients[spec.number], expected[spec.number]
        operand = np.full((len(keys), *spec.model.value_shape), number, spec.model.dtype)
        if what == "put":
            client.multi_put(keys, operand)
            values[keys] = operand
        else:
            client.multi_update(keys, operand)
            values[keys] = APPLY[spec.number](values[keys], operand)
    for number, values in expected.items():
        np.testing.assert_array_equal(tables.clients[number].multi_get(), values)


def test_a_table_that_is_not_served_is_an_error(tables: TwoTables) -> None:
    other = TableSpec(3, SUMS.model, SUMS.block_count)
    with pytest.raises(JobFailed, match="server a has no table 3"):
        tables.client(other).multi_get()


def test_two_tables_of_one_number_are_an_error() -> None:
    with pytest.raises(ValueError, match="server a would serve table 1 twice"):
        ServedTables("server a", [shard_of(SUMS), shard_of(MAXIMA), shard_of(SUMS)])


def test_a_request_of_an_unknown_kind_is_refused_and_writes_nothing(tables: TwoTables) -> None:
    client = tables.clients[SUMS.number]
    client.multi_put(None, np.ones((40, 3)))
    (route,) = client.plan(None).routes(owners_of(SUMS))
    meta = encode_target(
        NO_GENERATION, SUMS.number, 0, ANY_CLOCK, len(route.selection.blocks), None, route.encoded
    ) + bytes(8 + 8 * len(route.selection.blocks))
    call = tables.peers.connection(0).submit(RequestKind.READ_STATE, meta, [np.zeros((40, 3))])
    with pytest.raises(BadMessage, match="table 1: request kind 11 is unknown"):
        call.wait(30)
    np.testing.assert_array_equal(client.multi_get(), np.ones((40, 3)))


def test_a_client_of_a_generation_is_refused_by_tables_without_a_job(tables: TwoTables) -> None:
    with pytest.raises(StaleGeneration):
        tables.client(SUMS, generation=0).multi_get()


def test_the_workers_of_all_tables_are_set_together(tables: TwoTables) -> None:
    tables.served.set_workers((1, 4), 6)
    clocks = [tables.served[spec.number].worker_clocks for spec in (SUMS, MAXIMA)]
    assert clocks == [{1: 0, 4: 6}, {1: 0, 4: 6}]
