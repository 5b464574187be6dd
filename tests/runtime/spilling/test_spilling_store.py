"""A store that spills gives what a store in memory gives, and keeps only a part in memory."""

from __future__ import annotations

import mmap
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.errors import JobFailed
from motet.runtime.core.application import Batch
from motet.runtime.core.options import SpillOptions
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import Schedule, deal_blocks
from motet.runtime.spilling.disk_share import FixedShare
from motet.runtime.spilling.section_image import SpillBuffer
from motet.runtime.spilling.section_memory import SECTIONS_AHEAD
from motet.runtime.spilling.section_transfer import new_buffer
from motet.runtime.spilling.spilled_storage import SpilledParking
from motet.runtime.spilling.spilling_store import SpillingBlockStore
from motet.runtime.spilling.targets.spill_file import SpillFile
from motet.runtime.spilling.targets.spill_targets import SpillTargets
from motet.runtime.worker.block_store import MakeBatch, MemoryBlockStore
from motet.runtime.worker.local_training import LocalTraining
from motet.runtime.worker.share import DataShare
from toy_app import ToyRegression
from waiting import wait_until

DISK = Path("/var/tmp")
SECTIONS, EACH = 6, 50


class FailingFile(SpillFile):
    """Reads fail once `fails` is set."""

    fails = False

    def read(self, place: int, data: SpillBuffer) -> None:
        if self.fails:
            raise JobFailed("spilling data: Input/output error")
        super().read(place, data)


class NoRoom(FixedShare):
    """There is no memory to read ahead into."""

    def has_room(self, nbytes: int) -> bool:
        return False


class RoomFor(FixedShare):
    """There is memory for so many sections, once `store` is known."""

    store: SpillingBlockStore | None = None
    limit = SECTIONS

    def has_room(self, nbytes: int) -> bool:
        return self.store is None or used(self.store) + (nbytes > 0) <= self.limit


def section(number: int) -> Rows:
    rng = np.random.default_rng(number)
    columns = {"x": rng.random((EACH, 4)), "state": np.zeros(EACH)}
    return Rows(np.arange(EACH) + EACH * number, columns)


def filled(
    share: float, file: type[SpillFile] = SpillFile, choose: type[FixedShare] = FixedShare
) -> SpillingBlockStore:
    store = SpillingBlockStore(Batch, ["state"], lambda: file(DISK), choose(share))
    store.will_hold(SECTIONS, 0)
    for number in range(SECTIONS):
        assert store.add(section(number)) == number
    return store


def in_memory(store: SpillingBlockStore) -> int:
    return sum(each.buffer is not None for each in store.memory._sections)


def used(store: SpillingBlockStore) -> int:
    """Sections in memory, and the memory that is kept for a read."""
    return in_memory(store) + bool(store.memory._transfer.spare_bytes)


@settings(max_examples=examples(100))
@given(
    share=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    told=st.lists(st.integers(0, SECTIONS - 1), max_size=12),
    uses=st.lists(
        st.tuples(st.integers(0, SECTIONS - 1), st.integers(0, EACH - 1), st.booleans()),
        max_size=30,
    ),
)
def test_any_order_of_uses_gives_what_memory_gives(
    share: float, told: list[int], uses: list[tuple[int, int, bool]]
) -> None:
    """Also when other uses were told, or none."""
    store, memory = filled(share), MemoryBlockStore(Batch)
    for number in range(SECTIONS):
        memory.add(section(number))
    store.will_read(told)
    for step, (number, low, writes) in enumerate(uses):
        with store.using(number, writes=writes):
            found, expected = store.batch(number, low, EACH), memory.batch(number, low, EACH)
            for name in ("x", "state"):
                np.testing.assert_array_equal(found.rows[name], expected.rows[name])
            if writes:
                for each in (found, expected):
                    each.rows["state"][:] += step + 1
            del found
    for number in range(SECTIONS):
        np.testing.assert_array_equal(
            store.lasting(number, ["state"])["state"], memory.lasting(number, ["state"])["state"]
        )
    store.close()


def test_only_the_next_sections_and_the_used_one_are_in_memory() -> None:
    store = filled(1.0)
    assert in_memory(store) == 0
    store.will_read(range(SECTIONS))
    for number in range(SECTIONS):
        with store.using(number):
            ahead = min(SECTIONS_AHEAD, SECTIONS - 1 - number)
            wait_until(lambda ahead=ahead: in_memory(store) == 1 + ahead)
    wait_until(lambda: in_memory(store) == 0)
    store.close()


def test_without_room_sections_are_read_when_they_are_used() -> None:
    store = filled(1.0, choose=NoRoom)
    store.will_read([*range(SECTIONS), *range(SECTIONS)])
    for number in [*range(SECTIONS), *range(SECTIONS)]:
        with store.using(number):
            np.testing.assert_array_equal(store.rows(number)["x"], section(number)["x"])
        wait_until(lambda: in_memory(store) == 0)
    store.close()


def test_room_is_made_before_a_section_is_read() -> None:
    share, most = RoomFor(0.5), []

    class CountingFile(SpillFile):
        def read(self, place: int, data: SpillBuffer) -> None:
            most.append(in_memory(store) + 1)
            super().read(place, data)

    store = SpillingBlockStore(Batch, ["state"], lambda: CountingFile(DISK), share)
    store.will_hold(SECTIONS, 0)
    for number in range(SECTIONS):
        store.add(section(number))
    share.store, share.limit = store, 3
    store.will_read(range(SECTIONS))
    for number in range(SECTIONS):
        with store.using(number):
            np.testing.assert_array_equal(store.rows(number)["x"], section(number)["x"])
    assert max(most) == 3
    assert store.memory.on_disk > SECTIONS // 2
    assert 0 < store.room_us <= store.waited_us
    store.close()


def test_waiting_for_the_disk_alone_is_no_waiting_for_memory() -> None:
    store = filled(1.0)
    for number in range(SECTIONS):
        with store.using(number):
            pass
    assert store.waited_us > 0
    assert store.room_us == 0
    store.close()


def test_a_section_that_was_to_stay_is_freed_if_there_is_no_room_any_more() -> None:
    share = RoomFor(1.0)
    store = filled(1.0)
    store.memory._has_room = share.has_room
    share.store, share.limit = store, 1
    store.memory.spill(0)
    for number in range(SECTIONS):
        with store.using(number):
            pass
    wait_until(lambda: in_memory(store) <= 1)
    assert store.memory.on_disk >= SECTIONS - 1
    store.close()


@pytest.mark.parametrize(("limit", "has_room"), [(4, True), (1, True), (0, False)])
def test_sections_make_room_for_others(limit: int, has_room: bool) -> None:
    share, store = RoomFor(0.0), filled(0.0)
    store.memory._has_room = share.has_room
    share.store, share.limit = store, limit
    assert store.make_room(1) == has_room
    assert in_memory(store) == max(limit - 1, 0)
    assert store.memory.on_disk == SECTIONS - in_memory(store)
    store.close()


def test_a_closed_store_makes_no_room() -> None:
    store = filled(0.0)
    store.close()
    assert not store.make_room(1)


def test_what_is_about_to_be_freed_is_neither_used_nor_used_next() -> None:
    store = filled(0.0)
    each = store.memory._sections[0].image.nbytes
    store.will_read(range(SECTIONS))
    with store.using(0), store.using(1):
        store.memory._thread = threading.current_thread()  # Nothing is freed yet.
        store.memory.spill(SECTIONS)
        assert store.memory.pending_bytes == (SECTIONS - 2 - SECTIONS_AHEAD) * each
    store.memory._thread = None
    store.close()


def test_sections_ahead_are_read_before_they_are_used() -> None:
    store = filled(1.0)
    store.will_read(range(SECTIONS))
    wait_until(lambda: in_memory(store) == SECTIONS_AHEAD)
    with store.using(0), store.using(1):
        pass
    assert store.waited_us == 0
    store.close()


def test_a_section_with_views_stays_in_memory_and_keeps_what_is_written() -> None:
    store = filled(1.0)
    with store.using(0, writes=True):
        kept = store.rows(0)["state"]
    with store.using(1):
        pass
    wait_until(lambda: in_memory(store) == 1)
    kept[:] = 7
    with store.using(0, writes=True):
        assert store.rows(0)["state"].tolist() == [7.0] * EACH
    del kept
    with store.using(1):
        pass
    wait_until(lambda: in_memory(store) == 0)
    assert store.lasting(0, ["state"])["state"].tolist() == [7.0] * EACH
    store.close()


def test_constant_columns_are_written_once() -> None:
    store = filled(1.0)
    first = store.memory.written_bytes
    for number in range(SECTIONS):
        with store.using(number):
            pass
    with store.using(0, writes=True):
        store.rows(0)["state"][:] = 1
    wait_until(lambda: in_memory(store) == 0)
    image = store._images[0]
    assert store.memory.written_bytes - first == image.nbytes - image.state_offset
    store.close()


def test_a_failing_disk_is_an_error_of_the_use_and_of_all_later_ones() -> None:
    files: list[FailingFile] = []

    def made() -> FailingFile:
        files.append(FailingFile(DISK))
        return files[0]

    store = SpillingBlockStore(Batch, ["state"], made, FixedShare(1.0))
    store.will_hold(SECTIONS, 0)
    for number in range(SECTIONS):
        store.add(section(number))
    files[0].fails = True
    for number in (3, 4):
        with pytest.raises(JobFailed, match="Input/output error"), store.using(number):
            pass
    store.close()


def test_several_threads_use_sections_at_a_time() -> None:
    store = filled(1.0)
    sums: list[float] = []

    def work(seed: int) -> None:
        for number in np.random.default_rng(seed).integers(0, SECTIONS, 50).tolist():
            with store.using(number):
                sums.append(store.rows(number)["x"].sum() - section(number)["x"].sum())

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sums == [0.0] * 150
    store.close()


def test_a_closed_store_has_no_thread_and_no_memory() -> None:
    before = threading.active_count()
    store = filled(0.5)
    assert threading.active_count() == before + 1
    store.close()
    assert threading.active_count() == before
    assert in_memory(store) == 0


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_model_does_not_depend_on_the_share(share: float) -> None:
    def trained(own_share: float) -> tuple[bytes, list[float]]:
        app = ToyRegression(10, 60, sparse=True)
        rows = app.prepare(None, seed=1)
        training = LocalTraining(
            app,
            rows,
            0,
            lambda make: SpillingBlockStore(
                make, app.state_columns, lambda: SpillFile(DISK), FixedShare(own_share)
            ),
        )
        losses = [each.loss for each in training.epochs(3)]
        return training.model.values.tobytes(), losses

    assert trained(share) == trained(0.0)


def test_parked_blocks_make_the_same_share() -> None:
    app = ToyRegression(10, 60, sparse=True)
    rows = app.prepare(None, seed=1)
    schedule = Schedule.of(len(rows), 60, 8, seed=0)
    parking = SpilledParking(SpillTargets(SpillOptions(1.0, DISK)))
    dealt = deal_blocks(rows, schedule)
    parked = {number: parking.park(block) for number, block in dealt.items()}
    parking.clear()
    for section_bytes in (1, 2_000, 1 << 30):
        shares = [
            DataShare(app, schedule, each, MemoryBlockStore, section_bytes)
            for each in (dealt, parked)
        ]
        left, right = (each.select().ordered_by_id() for each in shares)
        for (_, one), (_, other) in zip(left.arrays(), right.arrays(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_search_for_keys_writes_no_section_back() -> None:
    app = ToyRegression(10, 60, sparse=True)
    rows = app.prepare(None, seed=1)
    schedule = Schedule.of(len(rows), 60, 8, seed=0)
    stores: list[SpillingBlockStore] = []

    def make_store(make_batch: MakeBatch) -> SpillingBlockStore:
        columns = app.state_columns
        stores.append(
            SpillingBlockStore(make_batch, columns, lambda: SpillFile(DISK), FixedShare(1.0))
        )
        return stores[0]

    share = DataShare(app, schedule, deal_blocks(rows, schedule), make_store, 1)
    written = stores[0].memory.written_bytes
    parts = [share.part(batch) for batch in range(schedule.batch_count)]
    assert all(part.keys.keys is not None for part in parts)
    wait_until(lambda: in_memory(stores[0]) == 0)
    assert stores[0].memory.written_bytes == written
    for batch in parts[0].batches():
        del batch  # A view would keep the section in memory.
    wait_until(lambda: in_memory(stores[0]) == 0)
    assert stores[0].memory.written_bytes > written
    share.close()


def test_the_memory_of_a_freed_section_is_used_for_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The system fills new memory with zeros, which takes longer than the rest of a read."""
    store, made = filled(1.0), []

    def counted(nbytes: int) -> mmap.mmap:
        made.append(nbytes)
        return new_buffer(nbytes)

    monkeypatch.setattr("motet.runtime.spilling.section_transfer.new_buffer", counted)
    for _ in range(3):
        store.will_read(range(SECTIONS))
        for number in range(SECTIONS):
            ahead = min(SECTIONS_AHEAD, SECTIONS - 1 - number)
            with store.using(number):
                np.testing.assert_array_equal(store.rows(number)["x"], section(number)["x"])
                wait_until(lambda ahead=ahead: in_memory(store) == 1 + ahead)
            wait_until(lambda ahead=ahead: in_memory(store) == ahead)
    assert len(made) <= 3 * (1 + SECTIONS_AHEAD) < 3 * SECTIONS
    assert used(store) == 1
    store.close()
    assert used(store) == 0


def test_without_room_no_memory_is_kept_for_the_next_read() -> None:
    store = filled(1.0, choose=NoRoom)
    store.will_read(range(SECTIONS))
    for number in range(SECTIONS):
        with store.using(number):
            pass
        wait_until(lambda: used(store) == 0)
    store.close()


def test_the_memory_of_a_freed_section_is_used_for_one_of_another_size() -> None:
    store = SpillingBlockStore(Batch, ["state"], lambda: SpillFile(DISK), FixedShare(1.0))
    sizes = [50, 5000, 500, 20000]
    rows = [
        Rows(np.arange(size), {"x": np.full((size, 4), size), "state": np.zeros(size)})
        for size in sizes
    ]
    store.will_hold(len(rows), 0)
    for each in rows:
        store.add(each)
    order = [0, 3, 1, 2, 3, 0]
    store.will_read(order)
    for number in order:
        with store.using(number, writes=True):
            np.testing.assert_array_equal(store.rows(number)["x"], rows[number]["x"])
            store.rows(number)["state"][:] += number
    for number in order[2:]:
        with store.using(number):
            np.testing.assert_array_equal(store.rows(number)["state"], number * order.count(number))
    store.close()
