"""A worker's copy of a table: equal to the blocks after every refresh, whatever changed them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.arrays import Array
from motet.runtime.client.model_copy import DividedChanges, ModelCopy
from motet.runtime.core.application import ModelTable, Step
from motet.runtime.core.changes import add_changes, all_changes
from motet.runtime.core.sums import Place
from motet.runtime.core.table_spec import TableSpec
from motet.runtime.server.accumulator import Contribution
from motet.runtime.server.block import Block
from motet.runtime.server.joint_sum import BlockChanges
from motet.runtime.wire.changes_payload import decode_changes, encode_news

KEYS, WIDTH, BLOCKS = 10, 3, 4
SPEC = TableSpec(1, ModelTable(KEYS, (WIDTH,), np.dtype(np.int32), exchange="changes"), BLOCKS)
CHANGES = st.lists(st.tuples(st.integers(0, KEYS * WIDTH - 1), st.integers(-3, 3)), max_size=12)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("batch"), CHANGES),
        st.tuples(st.just("alone"), CHANGES),
        st.tuples(st.just("put"), st.integers(0, BLOCKS - 1)),
        st.tuples(st.just("move"), st.integers(0, BLOCKS - 1)),
        st.tuples(st.just("refresh"), st.none()),
    ),
    max_size=12,
)


def add(values: Array, delta: Array, step: Step) -> None:
    del step
    add_changes(values, delta)


def new_block(values: Array) -> Block:
    return Block(values, add, keeps_changes=True)


def as_changes(pairs: list[tuple[int, int]]) -> Array:
    return np.array(sorted(pairs), np.int64).reshape(-1, 2).T


class Table:
    """All blocks of a table, with two workers, and the values that it must have."""

    def __init__(self) -> None:
        places = [SPEC.partition.slice_of(block) for block in range(BLOCKS)]
        self.expected = np.arange(KEYS * WIDTH, dtype=np.int32).reshape(KEYS, WIDTH)
        self.places = places
        self.blocks = [new_block(self.expected[place].copy()) for place in places]
        self.clock = 0

    def batch(self, pairs: list[tuple[int, int]]) -> None:
        """Half of the changes from each of two workers; the second one arrives first."""
        for position in (1, 0):
            self._contribute(position, as_changes(pairs[position::2]))
        self.clock += 1
        self._expect(pairs)

    def alone(self, pairs: list[tuple[int, int]]) -> None:
        """A worker's changes that are applied at once (SSP)."""
        for block, delta in zip(self.blocks, divided(as_changes(pairs)), strict=True):
            block.contribute_now(0, Contribution(delta, None, ()), self._step())
        self.clock += 1
        for block in self.blocks:
            block.clock = self.clock
        self._expect(pairs)

    def put(self, number: int) -> None:
        self.expected[self.places[number]] += 7
        values = self.expected[self.places[number]]
        self.blocks[number].put(9, self.clock, None, values)
        self.clock += 1

    def move(self, number: int) -> None:
        state = self.blocks[number].depart()
        self.blocks[number] = new_block(state.values)
        self.blocks[number].arrive(state)

    def refresh(self, copy: ModelCopy) -> None:
        for some in ([0, 2], [1, 3]):
            revisions = copy.revisions_of(some).tolist()
            news = [self.blocks[n].news(since) for n, since in zip(some, revisions, strict=True)]
            copy.take(some, memoryview(b"".join(bytes(part) for part in encode_news(news))))

    def _contribute(self, position: int, changes: Array) -> None:
        for block, delta in zip(self.blocks, divided(changes), strict=True):
            block.contribute(Place(position, 2), Contribution(delta, None, ()), self._step())

    def _expect(self, pairs: list[tuple[int, int]]) -> None:
        for position, amount in pairs:
            self.expected[position // WIDTH, position % WIDTH] += amount

    def _step(self) -> Step:
        return Step(0, self.clock, 1, self.clock, 1, 1, 0)


def divided(changes: Array) -> list[Array | None]:
    return [part if part.shape[1] else None for part in parts_of(changes, list(range(BLOCKS)))]


def parts_of(changes: Array, blocks: list[int]) -> list[Array]:
    """What the owner of these blocks gets for each of them."""
    payload = DividedChanges(SPEC, changes).payload_of(blocks)
    data = memoryview(b"".join(bytes(part) for part in payload))
    whole = BlockChanges(*decode_changes(data, len(blocks)))
    return [whole.of(index) for index in range(len(blocks))]


@given(OPERATIONS)
def test_a_refreshed_copy_equals_the_table(operations: list[tuple[str, object]]) -> None:
    table, copy = Table(), ModelCopy(SPEC)
    for name, argument in operations:
        if name == "refresh":
            table.refresh(copy)
            np.testing.assert_array_equal(copy.values, table.expected)
        else:
            getattr(table, name)(argument)
    table.refresh(copy)
    np.testing.assert_array_equal(copy.values, table.expected)


@given(CHANGES, st.sets(st.integers(0, BLOCKS - 1), min_size=1))
def test_changes_are_divided_by_the_blocks_that_an_owner_has(
    pairs: list[tuple[int, int]], owned: set[int]
) -> None:
    blocks = sorted(owned)
    parts = parts_of(as_changes(pairs), blocks)
    found: list[tuple[int, int]] = []
    for block, part in zip(blocks, parts, strict=True):
        first = SPEC.partition.slice_of(block).start * WIDTH
        found += [(first + int(place), int(amount)) for place, amount in part.T]
    owners = SPEC.partition.block_of(np.array([position // WIDTH for position, _ in pairs]))
    wanted = [pair for pair, owner in zip(pairs, owners.tolist(), strict=True) if owner in owned]
    assert sorted(found) == sorted(wanted)


def test_only_changes_are_sent_to_a_reader_that_has_the_values() -> None:
    table, copy = Table(), ModelCopy(SPEC)
    table.refresh(copy)
    table.batch([(0, 1)])
    news = [
        block.news(int(since))
        for block, since in zip(table.blocks, copy.revisions_of(range(BLOCKS)), strict=True)
    ]
    assert [one.values for one in news] == [b""] * BLOCKS
    assert [all_changes(one.changes or ()).shape[1] for one in news] == [1, 0, 0, 0]
