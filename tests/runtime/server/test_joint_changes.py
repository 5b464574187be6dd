"""Changes of several blocks at once have the same effect as changes of each of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.arrays import Array
from motet.runtime.core.application import Step
from motet.runtime.core.changes import add_changes, all_changes
from motet.runtime.core.sums import Place
from motet.runtime.server.accumulator import Contribution
from motet.runtime.server.block import Block
from motet.runtime.server.contiguous_blocks import ContiguousBlocks
from motet.runtime.server.joint_sum import BlockChanges

WIDTH = 50
SIZES = (3, 1, 2)
WORKERS = 3
ENDS = np.cumsum(SIZES).tolist()
PLACES = [slice(end - size, end) for end, size in zip(ENDS, SIZES, strict=True)]


class Part(NamedTuple):
    """One worker's changes of each block: pairs of position and amount.

    `is_joint`: whether it names all blocks together.
    """

    position: int
    blocks: list[list[tuple[int, int]]]
    is_joint: bool


def add(values: Array, delta: Array, step: Step) -> None:
    """Shows changes that are lost, doubled or applied out of turn, and wrong statistics."""
    add_changes(values, delta)
    values += int(step.statistics[0])


class Server:
    """Blocks side by side, and the same values for contributions to each block by itself."""

    def __init__(self) -> None:
        room = np.zeros((sum(SIZES), WIDTH), np.int32)
        self.together = [Block(room[place], add, keeps_changes=True) for place in PLACES]
        self.apart = [
            Block(np.zeros((size, WIDTH), np.int32), add, keeps_changes=True) for size in SIZES
        ]
        views = [block.values for block in self.together]
        self.as_one = ContiguousBlocks(tuple(self.together), views, room, add)

    def contribute(self, part: Part, clock: int) -> tuple[bool, bool]:
        """Whether the mini-batch is applied now: at the blocks side by side, and at the others."""
        done = None
        if part.is_joint:
            done = self.contribute_jointly(part, clock)
        if done is None:
            done = contribute_each(self.together, part, clock)
        return done, contribute_each(self.apart, part, clock)

    def contribute_jointly(self, part: Part, clock: int) -> bool | None:
        deltas = [as_changes(pairs) for pairs in part.blocks]
        ends = np.cumsum([delta.shape[1] for delta in deltas]).tolist()
        changes = BlockChanges(all_changes(deltas), ends)
        return self.as_one.contribute_changes(place_of(part), changes, step_of(part, clock))

    def assert_equal(self) -> None:
        for one, other in zip(self.together, self.apart, strict=True):
            np.testing.assert_array_equal(one.values, other.values)
            assert one.clock == other.clock
            assert news(one) == news(other)


def as_changes(pairs: list[tuple[int, int]]) -> Array:
    return np.array(pairs, np.int32).reshape(-1, 2).T.copy()


def place_of(part: Part) -> Place:
    return Place(part.position, WORKERS)


def step_of(part: Part, clock: int) -> Step:
    return Step(0, clock, 10, clock, 1, 1, 0, statistics=(float(part.position),))


def contribute_each(blocks: list[Block], part: Part, clock: int) -> bool:
    done = []
    for block, pairs in zip(blocks, part.blocks, strict=True):
        step = step_of(part, clock)
        contribution = Contribution(as_changes(pairs), None, step.statistics)
        done.append(block.contribute(place_of(part), contribution, step))
    return all(done)


def news(block: Block) -> tuple[int, list[tuple[int, int]] | None]:
    """What a reader gets that has the values before the block's last change."""
    revision, changes, _ = block.news(block.news(0).revision - 1)
    if changes is None:
        return revision, None
    return revision, sorted((int(place), int(amount)) for place, amount in all_changes(changes).T)


def changes_of(size: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    return st.lists(st.tuples(st.integers(0, size * WIDTH - 1), st.integers(-3, 3)), max_size=1)


@st.composite
def batches(draw: st.DrawFn) -> list[Part]:
    """The contributions to one mini-batch in the order of their arrival, some of them twice."""
    order = draw(st.permutations(range(WORKERS)))
    again = draw(st.lists(st.sampled_from(order), max_size=1))
    parts = {one: [draw(changes_of(size)) for size in SIZES] for one in order}
    are_joint = st.sampled_from([True, True, False])
    return [Part(one, parts[one], draw(are_joint)) for one in [*order[:-1], *again, order[-1]]]


@given(st.lists(batches(), max_size=4), st.booleans())
def test_changes_of_all_blocks_equal_changes_of_each(
    arrivals: list[list[Part]], is_read: bool
) -> None:
    server = Server()
    for clock, parts in enumerate(arrivals):
        pinned = [block.pin() for block in server.together] if is_read and clock else []
        before = [values.copy() for values in pinned]
        outcomes = [server.contribute(part, clock) for part in parts]
        assert all(together == apart for together, apart in outcomes)
        assert sum(together for together, _ in outcomes) == 1
        for block, values, unchanged in zip(server.together, pinned, before, strict=False):
            np.testing.assert_array_equal(values, unchanged)
            block.unpin(values)
        server.assert_equal()


@given(batches(), st.integers(0, WORKERS))
def test_a_block_leaves_with_its_part_of_the_changes(parts: list[Part], count: int) -> None:
    server = Server()
    for part in parts[:count]:
        server.contribute(part._replace(is_joint=True), 0)
    state = server.together[1].depart()
    moved = Block(state.values.copy(), add, keeps_changes=True)
    moved.arrive(state)
    server.together[1] = moved
    for part in parts[count:]:
        server.contribute(part._replace(is_joint=False), 0)
    for one, other in zip(server.together, server.apart, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
