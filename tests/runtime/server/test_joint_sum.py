"""Contributions to several blocks at once add up like contributions to each of them."""

from __future__ import annotations

import tracemalloc
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.arrays import Array, RowIndices
from motet.runtime.core.application import Step
from motet.runtime.core.sums import Place
from motet.runtime.server.accumulator import Accumulator, Contribution
from motet.runtime.server.block import Block
from motet.runtime.server.contiguous_blocks import ContiguousBlocks

SIZES = (3, 1, 2)
ROWS = sum(SIZES)
WORKERS = 3
ENDS = np.cumsum(SIZES).tolist()
PLACES = [slice(end - size, end) for end, size in zip(ENDS, SIZES, strict=True)]


class Part(NamedTuple):
    """One worker's contribution; `rows` None: to all rows. `way`: how it reaches the blocks."""

    position: int
    rows: list[int] | None
    amount: float
    way: str


def add_and_halve(values: Array, delta: Array, step: Step) -> None:
    """Shows a sum that is lost, doubled or applied out of turn, and wrong statistics."""
    values += delta
    values /= 2
    values += step.statistics[0]


class Server:
    """Blocks side by side, and the same values for contributions to each block by itself."""

    def __init__(self) -> None:
        room = np.zeros((ROWS, 2))
        self.together = [Block(room[place], add_and_halve) for place in PLACES]
        self.apart = [Block(np.zeros((size, 2)), add_and_halve) for size in SIZES]
        views = [block.values for block in self.together]
        sums = [Accumulator((ROWS, 2), np.dtype(np.float64)) for _ in range(2)]
        self.as_one = [
            ContiguousBlocks(tuple(self.together), views, room, add_and_halve, one) for one in sums
        ]

    def contribute(self, part: Part, clock: int) -> list[bool]:
        """Whether the mini-batch is applied now: at the blocks side by side, and at the others."""
        step = Step(0, clock, 10, clock, 1, 1, 0)
        whole = _contribution(part)
        place = Place(part.position, WORKERS)
        done = None
        if part.way != "each":
            done = self.as_one[part.way == "other object"].contribute(place, whole, step)
        if done is None:
            done = _contribute_each(self.together, whole, place, step)
        return [done, _contribute_each(self.apart, whole, place, step)]


def _contribution(part: Part) -> Contribution:
    statistics = (part.amount,)
    if part.rows is None:
        return Contribution(np.full((ROWS, 2), part.amount), None, statistics)
    rows: RowIndices = np.array(part.rows, np.uint32)
    return Contribution(np.full((len(rows), 2), part.amount), rows, statistics)


def _contribute_each(blocks: list[Block], whole: Contribution, place: Place, step: Step) -> bool:
    parts = [whole.part(one) for one in PLACES]
    done = [b.contribute(place, p, step) for b, p in zip(blocks, parts, strict=True)]
    return all(done)


def _values(blocks: list[Block]) -> list[float]:
    return [float(one) for block in blocks for one in block.values.reshape(-1)]


AMOUNTS = st.floats(-4, 4, width=16)
SOME_ROWS = st.lists(st.integers(0, ROWS - 1), unique=True, min_size=1).map(sorted)
WAYS = st.sampled_from(["at once", "at once", "other object", "each"])


@st.composite
def batches(draw: st.DrawFn) -> list[Part]:
    """The contributions to one mini-batch in the order of their arrival, some of them twice."""
    order = draw(st.permutations(range(WORKERS)))
    again = draw(st.lists(st.sampled_from(order), max_size=1))
    rows = st.none() | SOME_ROWS
    parts = {one: Part(one, draw(rows), draw(AMOUNTS), "") for one in order}
    return [parts[one]._replace(way=draw(WAYS)) for one in [*order[:-1], *again, order[-1]]]


@given(st.lists(batches(), max_size=4), st.booleans())
def test_sums_of_all_blocks_equal_sums_of_each(arrivals: list[list[Part]], is_read: bool) -> None:
    server = Server()
    for clock, parts in enumerate(arrivals):
        pinned = [block.pin() for block in server.together] if is_read and clock else []
        outcomes = [server.contribute(part, clock) for part in parts]
        assert all(together == apart for together, apart in outcomes)
        assert sum(together for together, _ in outcomes) == 1
        for block, values in zip(server.together, pinned, strict=False):
            block.unpin(values)
        assert _values(server.together) == _values(server.apart)
        assert [b.clock for b in server.together] == [clock + 1] * len(SIZES)


@given(st.permutations(range(WORKERS)), st.integers(0, WORKERS - 1), st.none() | SOME_ROWS)
def test_a_block_leaves_with_its_part_of_the_sum(
    order: list[int], count: int, rows: list[int] | None
) -> None:
    server = Server()
    parts = [Part(one, rows, 1.0 + one, "at once") for one in order]
    for part in parts[:count]:
        server.contribute(part, 0)
    moved = Block(server.together[1].values.copy(), add_and_halve)
    moved.arrive(server.together[1].depart())
    server.together[1] = moved
    for part in parts[count:]:
        assert (
            server.as_one[0].contribute(Place(part.position, 3), _contribution(part), STEP) is None
        )
        server.contribute(part._replace(way="each"), 0)
    assert _values(server.together) == _values(server.apart)


def test_sums_of_blocks_that_workers_name_in_other_groups_leave_the_memory() -> None:
    """Workers with keys of their own divide large PUSHes at other blocks in every mini-batch."""
    width, workers = 100_000, 2
    room = np.zeros((ROWS, width))
    blocks = [Block(room[place], add_and_halve, keeps_sums=False) for place in PLACES]
    views = [block.values for block in blocks]
    sums = Accumulator(room.shape, room.dtype, keeps_memory=False)
    as_one = ContiguousBlocks(tuple(blocks), views, room, add_and_halve, sums)
    whole = Contribution(np.ones((ROWS, width)), None, (0.0,))
    tracemalloc.start()
    assert as_one.contribute(Place(0, workers), whole, STEP) is False
    assert _contribute_each(blocks, whole, Place(1, workers), STEP)
    left_bytes, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert room.nbytes < most_bytes < 1.5 * room.nbytes
    assert left_bytes < width
    assert _values(blocks) == [1.0] * room.size


STEP = Step(0, 0, 10, 0, 1, 1, 0)
