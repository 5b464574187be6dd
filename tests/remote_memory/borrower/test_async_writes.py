"""How many requests a disk has at a time. The writes themselves: `test_backup_file.py`."""

from __future__ import annotations

import pytest

from motet.remote_memory.borrower.async_writes import LEAST_DEPTH, MOST_DEPTH, depth_for


@pytest.mark.parametrize(
    ("per_s", "depth"), [(500, LEAST_DEPTH), (5_000, 20), (20_000, 80), (1_000_000, MOST_DEPTH)]
)
def test_a_slow_disk_has_few_requests_at_a_time_because_reads_wait_behind_them(
    per_s: int, depth: int
) -> None:
    assert depth_for(1000, 1000 / per_s) == depth


def test_a_batch_that_took_no_time_is_that_of_a_fast_disk() -> None:
    assert depth_for(1000, 0.0) == MOST_DEPTH
