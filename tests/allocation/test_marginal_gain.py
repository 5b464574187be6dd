"""Units go to whom they help most."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from demands import column, demand, linear_speeds, speeds
from example_count import examples
from motet.allocation.marginal_gain import allot
from motet.allocation.marginal_utility import Speeds, Worth, speed_of, utilities
from motet.allocation.max_min_share import Demand, RoleAllocation
from motet.estimate.speed_function import SpeedMode, speed

MOST_WORKERS = 6


def allotted(wanted: Demand, utility: Worth, gpus: int) -> RoleAllocation:
    rows = np.arange(len(wanted.workers))
    return allot(rows, wanted, rows, utility, gpus)


def utility_of_gains(gains: list[list[float]]) -> Worth:
    """The n-th worker of a job is utility its n-th gain."""
    values = np.cumsum(np.column_stack([np.zeros(len(gains)), np.array(gains)]), axis=1)
    steps = np.tile(np.arange(values.shape[1], dtype=np.float64), (len(gains), 1))
    return Worth.of_points(linear_speeds(len(gains)), 1.0, steps, values)


def best_total(utility: Worth, most: list[int], gpus: int) -> float:
    """Of every allocation there is."""
    none = np.zeros(len(most), dtype=np.int64)
    every = (np.array(each) for each in product(*(range(1, limit + 1) for limit in most)))
    fitting = (workers for workers in every if workers.sum() <= gpus)
    return max(float(utilities(utility, workers, none).sum()) for workers in fitting)


gains = st.lists(
    st.lists(st.floats(0, 10), min_size=MOST_WORKERS, max_size=MOST_WORKERS).map(
        lambda each: sorted(each, reverse=True)
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=examples(60))
@given(gains=gains, data=st.data())
def test_no_allocation_is_worth_more_where_gains_become_less(gains: Any, data: Any) -> None:
    size = len(gains)
    limits = st.lists(st.integers(1, MOST_WORKERS), min_size=size, max_size=size)
    most, gpus = data.draw(limits), data.draw(st.integers(size, 12))
    utility = utility_of_gains(gains)
    found = allotted(demand(size, max_workers=most), utility, gpus)
    total = utilities(utility, found.workers, found.servers).sum()
    assert total == pytest.approx(best_total(utility, most, gpus), abs=1e-9)


@settings(max_examples=examples(60))
@given(left=st.lists(st.floats(1, 1000), min_size=1, max_size=4), gpus=st.integers(4, 12))
def test_no_allocation_of_workers_ends_sooner_on_average(left: list[float], gpus: int) -> None:
    utility = Worth.of_time(linear_speeds(len(left)), np.array(left))
    most = [MOST_WORKERS] * len(left)
    found = allotted(demand(len(left), max_workers=most), utility, gpus)
    total = utilities(utility, found.workers, found.servers).sum()
    assert total == pytest.approx(best_total(utility, most, gpus), rel=1e-9)


def test_optimus_example_gives_the_longer_job_more() -> None:
    """Seconds left are 90 / w and 10 / w: workers save 45, 15, 7.5, ... and 5, 1.7, ..."""
    utility = Worth.of_time(linear_speeds(2), np.array([90.0, 10.0]))
    found = allotted(demand(2, max_workers=9), utility, 6)
    assert found.workers.tolist() == [4, 2]
    assert found.gpus.tolist() == [4, 2]


def test_a_job_gets_no_unit_that_makes_it_slower() -> None:
    """Steps take 4/w + w seconds: two workers are best."""
    utility = Worth.of_time(
        speeds([(int(SpeedMode.SYNC), (4.0, 0.0, 0.0, 1.0, 0.0, 1.0))]), np.array([10.0])
    )
    found = allotted(demand(1, max_workers=9), utility, 9)
    assert (found.workers[0], found.free_gpus) == (2, 7)


def test_servers_that_take_no_gpus_are_given_while_they_help() -> None:
    """Steps take 4/p + p + 1/w seconds."""
    mode = int(SpeedMode.SYNC)
    utility = Worth.of_time(speeds([(mode, (1.0, 0.0, 4.0, 0.0, 1.0, 1.0))]), np.array([10.0]))
    wanted = demand(1, min_servers=1, max_servers=9, servers=1)
    found = allotted(wanted, utility, 1)
    assert (found.workers[0], found.servers[0], found.free_gpus) == (1, 2, 0)


def test_without_any_gain_units_are_dealt_evenly() -> None:
    utility = utility_of_gains([[0.0] * MOST_WORKERS] * 3)
    assert allotted(demand(3, max_workers=6), utility, 8).workers.tolist() == [3, 3, 2]


speed_functions = st.tuples(
    st.sampled_from([int(SpeedMode.ASYNC), int(SpeedMode.SYNC)]),
    st.tuples(*[st.floats(0.001, 2.0)] * 5, st.floats(1, 8)),
)
jobs = st.lists(
    st.tuples(
        st.tuples(st.integers(1, 3), st.integers(0, 4)),
        st.tuples(st.integers(0, 2), st.integers(0, 3)),
        st.tuples(st.integers(1, 3), st.integers(0, 2)),
        speed_functions,
        st.floats(0.5, 100),
    ),
    min_size=1,
    max_size=6,
)


def tables(rows: Any) -> tuple[Demand, Worth]:
    size = len(rows)
    wanted = demand(
        size,
        min_workers=[row[0][0] for row in rows],
        max_workers=[sum(row[0]) for row in rows],
        min_servers=[row[1][0] for row in rows],
        max_servers=[sum(row[1]) if row[1][0] else 0 for row in rows],
        worker_gpus=[row[2][0] for row in rows],
        server_gpus=[row[2][1] for row in rows],
    )
    functions = speeds([row[3] for row in rows])
    return wanted, Worth.of_time(functions, np.array([row[4] for row in rows]))


@settings(max_examples=examples(80))
@given(rows=jobs, gpus=st.integers(1, 30))
def test_allocations_keep_within_the_cluster_and_the_jobs_limits(rows: Any, gpus: int) -> None:
    wanted, utility = tables(rows)
    found = allotted(wanted, utility, gpus)
    runs = found.gpus > 0
    assert found.free_gpus == gpus - found.gpus.sum() >= 0
    np.testing.assert_array_equal(runs, found.reasons.code == 0)
    used = found.workers * wanted.worker_gpus + found.servers * wanted.server_gpus
    np.testing.assert_array_equal(found.gpus, used)
    for roles in ("workers", "servers"):
        has = getattr(found, roles)[runs]
        assert (getattr(wanted, f"min_{roles}")[runs] <= has).all()
        assert (has <= getattr(wanted, f"max_{roles}")[runs]).all()


@settings(max_examples=examples(80))
@given(rows=jobs, gpus=st.integers(1, 30))
def test_nothing_is_left_over_that_makes_a_job_faster(rows: Any, gpus: int) -> None:
    wanted, utility = tables(rows)
    found = allotted(wanted, utility, gpus)
    for row in np.flatnonzero(found.gpus).tolist():
        has = int(found.workers[row]), int(found.servers[row])
        now = speed_of(utility.speeds, row, *has)
        if has[0] < wanted.max_workers[row] and wanted.worker_gpus[row] <= found.free_gpus:
            assert speed_of(utility.speeds, row, has[0] + 1, has[1]) <= now
        if has[1] < wanted.max_servers[row] and wanted.server_gpus[row] <= found.free_gpus:
            assert speed_of(utility.speeds, row, has[0], has[1] + 1) <= now


@settings(max_examples=examples(40))
@given(rows=jobs, gpus=st.integers(1, 30), data=st.data())
def test_the_order_of_the_rows_changes_nothing(rows: Any, gpus: int, data: Any) -> None:
    assume(len(rows) > 1)
    shuffled = np.array(data.draw(st.permutations(range(len(rows)))))
    wanted, utility = tables(rows)
    one = allotted(wanted, utility, gpus)
    moved = Demand(*(column(len(rows), each[shuffled]) for each in wanted))
    functions = Speeds(utility.speeds.mode[shuffled], utility.speeds.parameters[shuffled])
    other_worth = Worth.of_time(functions, utility.steps_left[shuffled])
    line = np.argsort(shuffled)
    other = allot(line, moved, column(len(rows), shuffled), other_worth, gpus)
    np.testing.assert_array_equal(one.workers[shuffled], other.workers)
    np.testing.assert_array_equal(one.servers[shuffled], other.servers)


def test_several_workers_are_added_at_once_if_the_second_alone_has_no_gain() -> None:
    """Without servers w workers make w / (1 + 4 (w - 1) / w) steps per second: 1, 0.67, 0.82, 1,
    1.19, ..."""
    ring = speeds([(int(SpeedMode.ASYNC), (1.0, 4.0, 0.0, 0.0, 0.0, 1.0))])
    utility = Worth.of_time(ring, np.array([100.0]))
    for gpus, workers in ((1, 1), (3, 1), (4, 1), (5, 5), (8, 8)):
        found = allotted(demand(1, max_workers=8), utility, gpus)
        assert found.workers.tolist() == [workers]
        assert found.free_gpus == gpus - workers


@settings(max_examples=examples(60))
@given(rows=jobs)
def test_compiled_speeds_are_those_of_the_speed_function(rows: Any) -> None:
    """Numba does not notice that a function of another file has changed: `make clean`."""
    wanted, utility = tables(rows)
    for row in range(len(rows)):
        has = int(wanted.max_workers[row]), int(wanted.max_servers[row])
        known = speed(int(utility.speeds.mode[row]), utility.speeds.parameters[row], *has)
        assert speed_of(utility.speeds, row, *has) == pytest.approx(known, rel=1e-12)
