"""Contiguous blocks read and updated as one behave as one after another."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.arrays import Array
from motet.runtime.core.application import Step
from motet.runtime.server.block import Block
from motet.runtime.server.contiguous_blocks import ContiguousBlocks

STEP = Step(0, 0, 1, 0, 1, 1, 0)
SIZES = (3, 1, 2)
CLIENT = 7


def add_and_halve(values: Array, delta: Array, step: Step) -> None:
    """Not commutative, so an update that is lost, doubled or out of turn shows."""
    del step
    values += delta
    values /= 2


def as_one(blocks: list[Block], room: Array, update: Any = add_and_halve) -> ContiguousBlocks:
    return ContiguousBlocks(blocks, [block.values for block in blocks], room, update)


def laid_out() -> tuple[list[Block], Array]:
    room = np.zeros((sum(SIZES), 2))
    ends = np.cumsum(SIZES)
    blocks = [
        Block(room[end - size : end], add_and_halve) for end, size in zip(ends, SIZES, strict=True)
    ]
    return blocks, room


def values_of(blocks: list[Block]) -> Array:
    return np.concatenate([block.pin() for block in blocks])


def update_each(blocks: list[Block], numbers: list[int], delta: Array) -> None:
    end = 0
    for block, number, size in zip(blocks, numbers, SIZES, strict=True):
        block.update(CLIENT, number, None, delta[end : end + size], STEP)
        end += size


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 5), min_size=3, max_size=3),
            st.floats(-4, 4, width=16),
            st.sampled_from(["nothing", "pin 0", "pin 2", "unpin"]),
        ),
        max_size=12,
    )
)
def test_updates_as_one_equal_updates_one_after_another(
    steps: list[tuple[list[int], float, str]],
) -> None:
    together, room = laid_out()
    apart, _ = laid_out()
    contiguous = as_one(together, room)
    pinned: list[tuple[Block, Array]] = []
    for numbers, amount, reader in steps:
        if reader.startswith("pin"):
            block = together[int(reader[-1])]
            pinned.append((block, block.pin()))
        elif reader == "unpin":
            while pinned:
                block, values = pinned.pop()
                block.unpin(values)
        delta = np.full((sum(SIZES), 2), amount)
        update_each(apart, numbers, delta)
        if not contiguous.update(CLIENT, numbers, delta, STEP):
            update_each(together, numbers, delta)
    np.testing.assert_array_equal(values_of(together), values_of(apart))


def test_a_reader_of_all_never_sees_a_later_update() -> None:
    blocks, room = laid_out()
    contiguous = as_one(blocks, room)
    seen = contiguous.pin()
    assert seen is room
    assert not contiguous.update(CLIENT, [0, 0, 0], np.ones_like(room), STEP)
    update_each(blocks, [0, 0, 0], np.ones_like(room))
    np.testing.assert_array_equal(seen, 0)
    contiguous.unpin()
    assert contiguous.pin() is None  # the values are elsewhere now


def test_after_the_reader_is_done_all_are_updated_in_place() -> None:
    blocks, room = laid_out()
    contiguous = as_one(blocks, room)
    contiguous.pin()
    contiguous.unpin()
    assert contiguous.update(CLIENT, [0, 0, 0], np.ones_like(room), STEP)
    np.testing.assert_array_equal(room, 0.5)


def test_a_pin_that_cannot_be_had_leaves_nothing_pinned() -> None:
    blocks, room = laid_out()
    contiguous = as_one(blocks, room)
    values = blocks[2].pin()
    blocks[2].update(CLIENT, 0, None, np.ones((SIZES[2], 2)), STEP)
    blocks[2].unpin(values)
    assert contiguous.pin() is None
    assert [block.pins for block in blocks] == [0, 0, 0]


def test_an_update_that_failed_releases_the_blocks_and_can_be_tried_again() -> None:
    blocks, room = laid_out()

    def failing(values: Array, delta: Array, step: Step) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        as_one(blocks, room, failing).update(CLIENT, [0, 0, 0], np.ones_like(room), STEP)
    again = as_one(blocks, room)
    assert again.update(CLIENT, [0, 0, 0], np.ones_like(room), STEP)


def test_many_threads_that_repeat_each_other_apply_every_update_once() -> None:
    blocks, room = laid_out()

    def add(values: Array, delta: Array, step: Step) -> None:
        values += delta

    contiguous = as_one(blocks, room, add)

    def work() -> None:
        for number in range(200):
            contiguous.update(CLIENT, [number] * 3, np.ones_like(room), STEP)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(room, 200)
