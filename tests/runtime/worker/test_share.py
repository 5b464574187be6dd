"""A worker's share: its parts of mini-batches and its blocks, whatever the size of sections."""

from __future__ import annotations

import numpy as np
import pytest

from motet.domain.arrays import Array
from motet.runtime.core.application import Batch, Step
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import Schedule, deal_blocks
from motet.runtime.worker.block_store import MemoryBlockStore
from motet.runtime.worker.runners.plain_batch_runner import computed
from motet.runtime.worker.share import DataShare
from recorded_subtasks import step_of
from toy_app import ToyRegression

BLOCKS, BATCH_SIZE = 8, 60
SECTION_BYTES = [1, 1_800, 12_000, 1 << 30]
"""A third of a mini-batch, half of one, three of them, all data."""
MINE = [0, 1, 2, 4, 5, 7]


class OneWorker:
    def __init__(
        self,
        section_bytes: int = 1 << 30,
        numbers: list[int] = MINE,
        store: type[MemoryBlockStore] = MemoryBlockStore,
        sparse: bool = True,
    ) -> None:
        self.app = ToyRegression(10, BATCH_SIZE, sparse=sparse)
        rows = self.app.prepare(None, seed=1)
        self.schedule = Schedule.of(len(rows), BATCH_SIZE, BLOCKS, seed=0)
        dealt = deal_blocks(rows, self.schedule)
        self.blocks = {number: dealt[number] for number in numbers}
        self.share = DataShare(self.app, self.schedule, self.blocks, store, section_bytes)

    @property
    def batches(self) -> range:
        return range(self.schedule.batch_count)

    def step(self, batch: int) -> Step:
        instances = self.schedule.batch_instances(batch)
        return step_of(batch, instances, self.schedule.instance_count)

    def delta(self, batch: int) -> tuple[Array, tuple[float, ...]]:
        """The contribution to a mini-batch, at all keys."""
        part = self.share.part(batch)
        keys = part.keys.keys
        model = np.linspace(0, 1, self.app.features)[:, None]
        update = computed(self.app, part, model if keys is None else model[keys], self.step(batch))
        whole = np.zeros_like(model)
        whole[slice(None) if keys is None else keys] = update.delta
        return whole, update.statistics


class ForgetfulStore(MemoryBlockStore):
    """Makes every batch anew, as a store does that has moved its section out of memory."""

    def batch(self, section: int, low: int, high: int) -> Batch:
        return self._made((section, low, high))


@pytest.mark.parametrize("section_bytes", SECTION_BYTES)
def test_the_parts_of_an_epoch_hold_every_instance_of_the_blocks_once(section_bytes: int) -> None:
    worker = OneWorker(section_bytes)
    deal, seen = worker.schedule.deal(), []
    for batch in worker.batches:
        part, only = worker.share.part(batch), range(batch, batch + 1)
        expected = [deal[worker.schedule.positions_in(block, only)] for block in MINE]
        ids = part.rows.slice(0, part.instances).ids.tolist()
        assert ids == np.concatenate(expected).tolist()
        assert ids == [one for each in part.batches() for one in each.rows.ids.tolist()]
        assert part.sizes == [len(each) for each in expected if len(each)]
        seen += ids
    assert sorted(seen) == sorted(np.concatenate([b.ids for b in worker.blocks.values()]).tolist())
    assert worker.share.instances == len(seen)


def test_the_size_of_sections_decides_how_many_there_are() -> None:
    counts = [len(list(OneWorker(size).share.sections())) for size in SECTION_BYTES]
    assert counts == [12, 8, 2, 1]


def test_large_deltas_make_large_sections() -> None:
    app = ToyRegression(400, BATCH_SIZE)
    rows = app.prepare(None, seed=1).with_columns({"x": np.zeros((203, 1))})
    schedule = Schedule.of(len(rows), BATCH_SIZE, BLOCKS, seed=0)
    share = DataShare(app, schedule, deal_blocks(rows, schedule), section_bytes=1)
    assert len(list(share.sections())) == 1


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("section_bytes", SECTION_BYTES)
def test_a_contribution_does_not_depend_on_the_sections(section_bytes: int, sparse: bool) -> None:
    worker, whole = OneWorker(section_bytes, sparse=sparse), OneWorker(sparse=sparse)
    for batch in worker.batches:
        got, expected = worker.delta(batch), whole.delta(batch)
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-12)
        assert got[1] == expected[1]
    np.testing.assert_array_equal(worker.share.select(["visits"])["visits"], 1.0)


@pytest.mark.parametrize("section_bytes", SECTION_BYTES)
def test_the_keys_of_a_part_are_those_of_all_its_batches(section_bytes: int) -> None:
    worker, whole = OneWorker(section_bytes), OneWorker()
    for batch in worker.batches:
        found, expected = worker.share.part(batch).keys, whole.share.part(batch).keys
        assert found.keys is not None
        assert expected.keys is not None
        assert found.keys.tolist() == expected.keys.tolist()


def test_batches_may_be_made_again_at_any_time() -> None:
    forgetful, keeping = OneWorker(1_800, store=ForgetfulStore), OneWorker(1_800)
    keys = [forgetful.share.part(batch).keys for batch in forgetful.batches]
    for batch in forgetful.batches:
        np.testing.assert_array_equal(forgetful.delta(batch)[0], keeping.delta(batch)[0])
        assert forgetful.share.part(batch).keys is keys[batch]
    visits = forgetful.share.select(["visits"])["visits"]
    assert visits.tolist() == [1.0] * forgetful.share.instances


@pytest.mark.parametrize("section_bytes", SECTION_BYTES)
def test_pieces_cover_a_range_of_a_part_section_by_section(section_bytes: int) -> None:
    part = OneWorker(section_bytes).share.part(1)
    ids = part.rows.slice(0, part.instances).ids
    for low, high in [(0, part.instances), (3, 20), (11, 12), (5, 5)]:
        pieces = [each.rows.ids for each in part.pieces(low, high)]
        assert np.concatenate([[], *pieces]).tolist() == ids[low:high].tolist()


@pytest.mark.parametrize("section_bytes", SECTION_BYTES)
def test_blocks_leave_as_they_came_but_for_their_state(section_bytes: int) -> None:
    worker = OneWorker(section_bytes)
    for batch in worker.batches:
        worker.delta(batch)
    found = worker.share.blocks(MINE)
    for number, rows in worker.blocks.items():
        assert found[number].ids.tolist() == rows.ids.tolist()
        np.testing.assert_array_equal(found[number]["x"], rows["x"])
        assert found[number]["visits"].tolist() == [1.0] * len(rows)
    (only,) = worker.share.blocks([5], ["visits"]).values()
    assert list(only.columns) == ["visits"]


@pytest.mark.parametrize("section_bytes", SECTION_BYTES)
def test_overwritten_state_is_that_of_the_block_and_of_its_mini_batches(
    section_bytes: int,
) -> None:
    worker = OneWorker(section_bytes)
    ids = worker.blocks[4].ids
    worker.share.overwrite(4, Rows(ids, {"visits": ids * 1.0}))
    everything = worker.share.select()
    is_written = np.isin(everything.ids, ids)
    assert everything["visits"][is_written].tolist() == everything.ids[is_written].tolist()
    assert not everything["visits"][~is_written].any()
    for batch in worker.batches:
        for each in worker.share.part(batch).batches():
            inside = np.isin(each.rows.ids, ids)
            assert each.rows["visits"][inside].tolist() == each.rows.ids[inside].tolist()


def test_a_worker_without_blocks_has_empty_parts() -> None:
    share = OneWorker(numbers=[]).share
    part = share.part(0)
    assert (share.instances, part.instances, part.sizes) == (0, 0, [])
    assert part.keys.keys is not None
    assert len(part.keys.keys) == 0
    assert len(share.select(["visits"])) == 0
    assert share.blocks([]) == {}
