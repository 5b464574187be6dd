"""Blocks on disk: the bound by which loading stays hidden, and the least that fit into memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.harmony.spill_ratio import SpillableJob, first_disk_blocks

JOBS = st.lists(
    st.builds(
        SpillableJob,
        st.floats(0, 100),
        st.floats(0, 20),
        st.integers(1, 12),
        st.floats(0.1, 10),
        st.floats(0.1, 10),
    ),
    min_size=1,
    max_size=4,
)


def job(input_bytes: float = 100.0, process_s: float = 1.0, load_s: float = 2.0) -> SpillableJob:
    return SpillableJob(input_bytes, 10.0, 11, process_s, load_s)


def test_half_of_the_blocks_load_unnoticed_at_half_the_speed() -> None:
    assert job().most_disk_blocks == 6  # 1 s x 10 >= 2 s x 5
    assert job(load_s=0.5).most_disk_blocks == 11
    assert job(load_s=100.0).most_disk_blocks == 1


@given(JOBS)
def test_the_bound_is_the_largest_number_for_which_the_inequality_holds(
    jobs: list[SpillableJob],
) -> None:
    for each in jobs:
        hidden = [
            disk
            for disk in range(1, each.blocks + 1)
            if each.process_s * (each.blocks - 1) * (1 + 1e-9) >= each.load_s * (disk - 1)
        ]
        assert each.most_disk_blocks == max(hidden)


def test_nothing_is_on_disk_where_memory_suffices() -> None:
    assert first_disk_blocks([job(), job()], 220.0) == [0, 0]


def test_jobs_have_about_the_same_ratio_up_to_their_bounds() -> None:
    slow = job(load_s=10.0)  # At most 2 blocks.
    assert first_disk_blocks([job(), job()], 180.0) == [3, 3]
    assert first_disk_blocks([job(), slow], 155.0) == [6, 2]
    assert first_disk_blocks([slow, slow], 155.0) is None


@given(JOBS, st.floats(0, 400))
def test_the_fewest_blocks_of_a_common_ratio_are_on_disk(
    jobs: list[SpillableJob], memory_bytes: float
) -> None:
    found = first_disk_blocks(jobs, memory_bytes)
    if found is None:
        assert sum(each.least_bytes for each in jobs) > memory_bytes
        return
    resident = [each.resident_bytes(disk) for each, disk in zip(jobs, found, strict=True)]
    assert sum(resident) <= memory_bytes
    assert all(disk <= each.most_disk_blocks for each, disk in zip(jobs, found, strict=True))
    ratio = max((disk / each.blocks for each, disk in zip(jobs, found, strict=True)), default=0)
    if ratio:
        smaller = [
            disk - (disk / each.blocks >= ratio - 1e-9)
            for each, disk in zip(jobs, found, strict=True)
        ]
        less = [each.resident_bytes(disk) for each, disk in zip(jobs, smaller, strict=True)]
        assert sum(less) > memory_bytes


def test_jobs_without_meaning_are_refused() -> None:
    with pytest.raises(BadInput, match="blocks=0: an input has at least 1"):
        SpillableJob(1.0, 1.0, 0, 1.0, 1.0)
    with pytest.raises(BadInput, match=r"load_s=0\.0: must be above 0"):
        SpillableJob(1.0, 1.0, 1, 1.0, 0.0)
    with pytest.raises(BadInput, match=r"input_bytes=-1\.0: must be 0 or more"):
        SpillableJob(-1.0, 1.0, 1, 1.0, 1.0)
