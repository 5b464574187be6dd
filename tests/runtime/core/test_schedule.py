"""The division of instances into mini-batches and data blocks."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.runtime.core.schedule import Schedule

schedules = st.builds(
    Schedule.of,
    instance_count=st.integers(1, 500),
    batch_size=st.integers(0, 600),
    block_count=st.integers(1, 96),
    seed=st.integers(0, 5),
)


@given(schedules)
def test_every_instance_is_in_one_block_and_one_batch(schedule: Schedule) -> None:
    positions = np.concatenate(
        [schedule.block_positions(block) for block in range(schedule.block_count)]
    )
    assert sorted(positions.tolist()) == list(range(schedule.instance_count))
    assert sorted(schedule.deal().tolist()) == list(range(schedule.instance_count))


@given(schedules)
def test_a_batch_is_the_contiguous_range_of_its_bounds(schedule: Schedule) -> None:
    batches = schedule.batch_of(np.arange(schedule.instance_count))
    for batch in range(schedule.batch_count):
        low, high = schedule.batch_bounds(batch)
        assert np.flatnonzero(batches == batch).tolist() == list(range(low, high))
        assert schedule.batch_instances(batch) == high - low > 0


@given(schedules)
def test_every_block_contributes_the_same_to_a_batch_give_or_take_one(schedule: Schedule) -> None:
    counts = np.array(
        [
            np.bincount(
                schedule.batch_of(schedule.block_positions(block)), minlength=schedule.batch_count
            )
            for block in range(schedule.block_count)
        ]
    )
    assert (counts.max(axis=0) - counts.min(axis=0)).max() <= 1


@given(schedules)
def test_batches_differ_by_at_most_one_instance(schedule: Schedule) -> None:
    sizes = [schedule.batch_instances(batch) for batch in range(schedule.batch_count)]
    assert max(sizes) - min(sizes) <= 1


def test_the_order_of_an_epoch_depends_on_seed_and_epoch_only() -> None:
    schedule = Schedule.of(1000, 10, 96, seed=3)
    again = Schedule(1000, 100, 7, seed=3)
    assert schedule.order(4).tolist() == again.order(4).tolist()
    assert schedule.order(4).tolist() != schedule.order(5).tolist()
    assert sorted(schedule.order(4).tolist()) == list(range(100))
