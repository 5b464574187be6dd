"""Blocks: atomic, exactly once, in canonical order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.arrays import Array
from motet.runtime.core.application import Step
from motet.runtime.core.sums import Place
from motet.runtime.server.accumulator import Accumulator, Contribution
from motet.runtime.server.block import Block
from motet.runtime.server.block_state import AppliedNumbers
from motet.runtime.server.block_values import AWAY


def add(values: Array, delta: Array, step: Step) -> None:
    del step
    values += delta


def step(clock: int = 0) -> Step:
    return Step(0, clock, 10, clock, 1, 1, 0)


def contribution(*values: float) -> Contribution:
    return Contribution(np.array(values), None, (values[0],))


@given(st.permutations(list(range(12))), st.lists(st.integers(0, 11), max_size=12))
def test_every_number_is_admitted_once_in_any_order(order: list[int], again: list[int]) -> None:
    applied = AppliedNumbers()
    for number in order:
        assert not applied.has(number)
        applied.add(number)
    assert all(applied.has(number) for number in again)
    assert (applied.below, applied.ahead) == (12, set())


def test_a_reader_never_sees_a_later_update() -> None:
    block = Block(np.zeros(3), add)
    seen = block.pin()
    block.update(1, 0, None, np.ones(3), step())
    assert seen.tolist() == [0, 0, 0]
    assert block.pin().tolist() == [1, 1, 1]


def test_an_unpinned_block_is_updated_in_place() -> None:
    values = np.zeros(3)
    block = Block(values, add)
    block.unpin(block.pin())
    block.update(1, 0, None, np.ones(3), step())
    assert values.tolist() == [1, 1, 1]


def test_a_repeated_update_changes_nothing() -> None:
    block = Block(np.zeros(2), add)
    for number in (0, 1, 0, 1, 1):
        block.update(7, number, None, np.ones(2), step())
    assert block.pin().tolist() == [2, 2]


def test_a_repeated_put_changes_nothing() -> None:
    block = Block(np.zeros(3), add)
    block.put(1, 0, None, np.ones(3))
    block.put(2, 0, None, np.full(3, 2.0))
    block.put(1, 0, None, np.ones(3))
    assert block.pin().tolist() == [2, 2, 2]


def test_an_update_of_some_rows_leaves_the_others() -> None:
    block = Block(np.zeros((3, 2)), add)
    block.update(7, 0, np.array([2], np.uint32), np.ones((1, 2)), step())
    block.update(7, 1, np.array([0, 2], np.uint32), np.ones((2, 2)), step())
    assert block.pin().tolist() == [[1, 1], [0, 0], [2, 2]]


@given(st.permutations([0, 1, 2, 3]))
def test_the_sum_has_the_same_bits_in_any_order_of_arrival(order: list[int]) -> None:
    parts = [contribution(value, value / 3) for value in (0.1, 1e16, -1e16, 0.7)]
    expected = ((parts[0].delta + parts[1].delta) + parts[2].delta) + parts[3].delta
    accumulator = Accumulator((2,), np.dtype(np.float64))
    for rank in order:
        accumulator.add(Place(rank, 4), parts[rank])
    assert accumulator.is_complete
    total, statistics = accumulator.take()
    assert total.tobytes() == expected.tobytes()
    assert statistics == (expected[0],)


def test_the_update_function_sees_only_the_updated_rows() -> None:
    def halve_and_add(values: Array, delta: Array, step: Step) -> None:
        del step
        values *= 0.5
        values += delta

    block = Block(np.full((3, 1), 8.0), halve_and_add)
    block.update(7, 0, np.array([2], np.uint32), np.ones((1, 1)), step())
    assert block.pin().tolist() == [[8], [8], [5]]


def test_an_update_that_failed_can_be_tried_again() -> None:
    failures = iter([True, False])

    def fail_once(values: Array, delta: Array, step: Step) -> None:
        del step
        if next(failures):
            raise ArithmeticError
        values += delta

    block = Block(np.zeros(1), fail_once)
    with pytest.raises(ArithmeticError):
        block.update(7, 0, None, np.ones(1), step())
    block.update(7, 0, None, np.ones(1), step())
    assert block.pin().tolist() == [1]


def test_a_mini_batch_is_applied_once_every_worker_has_contributed() -> None:
    block = Block(np.zeros(1), add)
    assert not block.contribute(Place(1, 2), contribution(5.0), step(0))
    assert not block.contribute(Place(1, 2), contribution(5.0), step(0))
    assert block.pin().tolist() == [0]
    assert block.contribute(Place(0, 2), contribution(2.0), step(0))
    assert block.pin().tolist() == [7]
    assert not block.contribute(Place(0, 2), contribution(2.0), step(0))
    assert (block.pin().tolist(), block.clock) == ([7], 1)


@pytest.mark.parametrize("keeps_sums", [True, False])
def test_immediate_contributions_to_other_rows_are_those_of_their_rows(keeps_sums: bool) -> None:
    block = Block(np.zeros(3), add, keeps_sums=keeps_sums)
    for clock, row in enumerate((0, 2, 2)):
        some = Contribution(np.ones(1), np.array([row], np.uint32), ())
        block.contribute_now(0, some, step(clock))
    assert block.pin().tolist() == [1, 0, 2]


def test_an_immediate_contribution_counts_once_per_mini_batch() -> None:
    block = Block(np.zeros(1), add)
    for clock in (0, 0, 1, 1, 0):
        block.contribute_now(0, contribution(1.0), step(clock))
    assert block.pin().tolist() == [2]


class Kept:
    """A place in memory that counts what it is asked for."""

    def __init__(self) -> None:
        self.values: Array = np.empty(0)
        self.saves = self.loads = 0

    def save(self, values: Array) -> None:
        self.saves += 1
        self.values = values.copy()

    def load(self) -> Array:
        self.loads += 1
        return self.values.copy()


NAMES = ["read", "rows", "update", "put", "batch", "pin", "move"]
OPERATIONS = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(1, 9)), max_size=20)


def run(block: Block, operations: list[tuple[str, int]], place: Kept | None) -> list[list[float]]:
    """What is read in between, and at the end; "move": the values get a place, if there is one."""
    seen, pinned, clock = [], [], 0
    for number, (name, value) in enumerate(operations):
        if name == "read":
            seen.append(np.frombuffer(block.to_bytes()).tolist())
        elif name == "rows":
            out = np.empty(1)
            block.gather(np.array([1], np.uint32), out)
            seen.append(out.tolist())
        elif name == "update":
            block.update(1, number, np.array([0], np.uint32), np.full(1, value / 7), step())
        elif name == "put":
            block.put(2, number, np.array([2], np.uint32), np.full(1, value / 3))
        elif name == "batch":
            block.contribute(Place(0, 1), contribution(value, value / 3, 1.0), step(clock))
            clock += 1
        elif name == "move" and place is not None:
            block.keep_in(place)
        elif name == "pin":
            pinned.append((block.pin(), block.to_bytes()))
    for values, data in pinned:
        assert values.tobytes() == data
        block.unpin(values)
    return [*seen, np.frombuffer(block.to_bytes()).tolist()]


@given(OPERATIONS)
def test_a_block_with_a_place_does_what_a_block_in_memory_does(
    operations: list[tuple[str, int]],
) -> None:
    elsewhere = Block(np.ones(3), add)
    assert run(Block(np.ones(3), add), operations, None) == run(elsewhere, operations, Kept())
    has_moved = "move" in [name for name, _ in operations]
    assert (elsewhere.values is AWAY) == has_moved


def test_values_are_in_memory_while_they_are_used_and_written_when_they_have_changed() -> None:
    block, place = Block(np.zeros(3), add), Kept()
    block.keep_in(place)
    assert place.saves == 1
    seen = block.pin()
    assert block.values is seen
    block.unpin(seen)
    assert block.values is AWAY
    assert (place.saves, place.loads) == (1, 1)
    block.contribute(Place(0, 2), contribution(1.0, 2.0, 3.0), step())
    assert (place.saves, place.loads) == (1, 1), "half of a mini-batch needs no values"
    block.contribute(Place(1, 2), contribution(1.0, 2.0, 3.0), step())
    assert (place.saves, place.loads) == (2, 2)
    assert place.values.tolist() == [2.0, 4.0, 6.0]


def test_a_reader_keeps_what_it_has_pinned_when_the_values_get_a_place() -> None:
    block, place = Block(np.ones(3), add), Kept()
    seen = block.pin()
    block.keep_in(place)
    block.update(1, 0, None, np.ones(3), step())
    assert seen.tolist() == [1.0] * 3
    block.unpin(seen)
    assert place.values.tolist() == [2.0] * 3


def test_a_block_that_leaves_takes_its_values_out_of_their_place() -> None:
    block, place = Block(np.ones(3), add), Kept()
    block.keep_in(place)
    assert block.depart().values.tolist() == [1.0] * 3
