"""Dealing GPUs out evenly."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from elastic_workloads import Row, rows_on
from motet.allocation.max_min_share import RoleAllocation, first_round, share_evenly
from motet.domain.arrays import read_only
from motet.domain.snapshot import JobTable
from motet.engine.state.table import JOB_COLUMNS

GPUS = 10


def table_of(rows: list[Row], held: list[int] | None = None) -> JobTable:
    def column(values: Any) -> Any:
        return np.broadcast_to(np.array(values, dtype=np.int64), (len(rows),)).copy()

    columns = {name: column(0) for name in JOB_COLUMNS} | {
        "number": column(range(len(rows))),
        "gpus": column([row.gpus for row in rows]),
        "workers": column([row.workers for row in rows]),
        "servers": column([row.servers for row in rows]),
        "min_workers": column([1 if row.steps else row.workers for row in rows]),
        "max_workers": column([row.most_workers for row in rows]),
        "min_servers": column([min(row.servers, 1) for row in rows]),
        "max_servers": column([row.most_servers for row in rows]),
        "worker_gpus": column(1),
        "server_gpus": column([row.server_gpus for row in rows]),
        "held_gpus": column(held or 0),
    }
    return JobTable(**columns)


def dealt(rows: list[Row], gpus: int = GPUS, held: list[int] | None = None) -> RoleAllocation:
    return share_evenly(np.arange(len(rows)), table_of(rows, held), gpus)


@given(rows=rows_on(GPUS))
def test_every_awarded_gpu_is_usable_and_no_usable_gpu_is_left(rows: list[Row]) -> None:
    found = dealt(rows)
    jobs = table_of(rows)
    assert found.free_gpus == GPUS - found.gpus.sum() >= 0
    runs = found.gpus > 0
    np.testing.assert_array_equal(runs, found.reasons.code == 0)
    np.testing.assert_array_equal(
        found.gpus, found.workers * jobs.worker_gpus + found.servers * jobs.server_gpus
    )
    for name in ("workers", "servers"):
        has = getattr(found, name)[runs]
        assert (has >= getattr(jobs, f"min_{name}")[runs]).all()
        assert (has <= getattr(jobs, f"max_{name}")[runs]).all()
    if found.free_gpus:
        assert (found.workers[runs] == jobs.max_workers[runs]).all()
        assert (found.servers[runs] == jobs.max_servers[runs]).all()


@given(most=st.lists(st.integers(1, 12), min_size=1, max_size=10))
def test_shares_of_jobs_without_servers_are_as_even_as_they_can_be(most: list[int]) -> None:
    found = dealt([Row(0, 9, limit, limit) for limit in most])
    for one, limit in zip(found.gpus.tolist(), most, strict=True):
        assert one == limit or one >= found.gpus.max() - 1


def test_a_remainder_stays_where_it_is() -> None:
    rows = [Row(0, 9, 8, 8)] * 3
    assert dealt(rows).gpus.tolist() == [4, 3, 3]
    assert dealt(rows, held=[3, 3, 4]).gpus.tolist() == [3, 3, 4]


def test_servers_keep_up_with_workers() -> None:
    found = dealt([Row(0, 9, 4, 8, 2, 4, server_gpus=1)], gpus=9)
    assert (found.workers[0], found.servers[0]) == (6, 3)


def test_a_gang_that_does_not_fit_is_overtaken() -> None:
    rows = [Row(0, 9, 8, 8), Row(0, 0, 10, 10), Row(0, 0, 2, 2)]
    assert dealt(rows).gpus.tolist() == [8, 0, 2]


def test_jobs_whose_columns_can_be_written_need_no_further_compilation() -> None:
    jobs = table_of([Row(0, 1, 1, 2)])
    seen = JobTable(**{name: read_only(getattr(jobs, name)) for name in JOB_COLUMNS})
    share_evenly(read_only(np.arange(1)), seen, GPUS)
    compiled = set(first_round.signatures)
    share_evenly(np.arange(1), jobs, GPUS)
    assert set(first_round.signatures) == compiled
