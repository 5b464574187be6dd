"""Sections hold every instance once, a mini-batch in one range of each of its sections."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import Schedule, deal_blocks
from motet.runtime.worker.sections import Section, SectionGrid


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    count = draw(st.integers(1, 200))
    return Schedule.of(count, draw(st.integers(0, count)), draw(st.integers(1, 20)), seed=3)


def grids(schedule: Schedule, data: st.DataObject) -> SectionGrid:
    blocks = data.draw(st.sets(st.integers(0, schedule.block_count - 1)))
    return SectionGrid.of(schedule, sorted(blocks), data.draw(st.floats(0.5, 300)))


@settings(deadline=None)
@given(schedule=schedules(), data=st.data())
def test_every_block_is_in_every_mini_batch_of_exactly_one_section(
    schedule: Schedule, data: st.DataObject
) -> None:
    grid = grids(schedule, data)
    cells = [
        (batch, block)
        for section in grid.sections
        for batch in section.batches
        for block in section.blocks
    ]
    blocks = sorted(block for run in grid.runs for block in run)
    assert sorted(cells) == [
        (batch, block) for batch in range(schedule.batch_count) for block in blocks if grid.runs
    ]
    for batch in range(schedule.batch_count):
        holding = [n for n, section in enumerate(grid.sections) if batch in section.batches]
        assert holding == list(grid.of_batch(batch))


@settings(deadline=None)
@given(schedule=schedules(), data=st.data())
def test_the_range_of_a_mini_batch_holds_its_instances_block_after_block(
    schedule: Schedule, data: st.DataObject
) -> None:
    ids = np.arange(schedule.instance_count)
    blocks = deal_blocks(Rows(ids, {"x": ids * 2.0}), schedule)
    deal = schedule.deal()
    for section in grids(schedule, data).sections:
        rows, bounds = section.cut(blocks), section.bounds
        assert bounds[-1] == len(rows)
        for place, batch in enumerate(section.batches):
            only = range(batch, batch + 1)
            expected = [deal[schedule.positions_in(block, only)] for block in section.blocks]
            got = rows.slice(bounds[place], bounds[place + 1])
            assert got.ids.tolist() == np.concatenate(expected).tolist()
            assert got["x"].tolist() == (got.ids * 2.0).tolist()


@settings(deadline=None)
@given(schedule=schedules(), data=st.data())
def test_the_places_of_a_block_hold_its_instances_in_dealt_order(
    schedule: Schedule, data: st.DataObject
) -> None:
    blocks = deal_blocks(Rows(np.arange(schedule.instance_count), {}), schedule)
    grid = grids(schedule, data)
    for block in sorted(block for run in grid.runs for block in run):
        found = [
            section.cut(blocks).ids[section.places_of(block)]
            for section in grid.sections
            if block in section.blocks
        ]
        assert np.concatenate(found).tolist() == blocks[block].ids.tolist()


def test_small_mini_batches_share_a_section_and_large_ones_are_divided_by_blocks() -> None:
    schedule = Schedule.of(1_200, 100, 6, seed=0)
    together = SectionGrid.of(schedule, [0, 1, 2], section_rows=200)
    assert together.sections == [
        Section(schedule, range(low, low + 4), (0, 1, 2)) for low in (0, 4, 8)
    ]
    divided = SectionGrid.of(schedule, [0, 1, 2], section_rows=20)
    assert divided.sections[:3] == [
        Section(schedule, range(1), (0, 1)),
        Section(schedule, range(1), (2,)),
        Section(schedule, range(1, 2), (0, 1)),
    ]


def test_a_worker_without_blocks_has_no_sections() -> None:
    grid = SectionGrid.of(Schedule.of(100, 10, 4, seed=0), [], section_rows=8)
    assert grid.sections == []
    assert list(grid.of_batch(7)) == []
