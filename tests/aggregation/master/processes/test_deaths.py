"""Real Aggregators that die, stop or leave while jobs train on them: no step is lost, none counts
twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motet.aggregation.master.processes.pool import LocalPool, PoolSettings
from motet.aggregation.master.processes.pool_folder import PoolFolder
from pool_faults import (
    Fault,
    drain_home,
    is_safe,
    kill_home,
    kill_pmaster_and_home,
    kill_pmaster_and_replica,
    kill_replica,
    stop_home,
    stop_replica,
)
from pool_training import Finish, PoolWorker, alone
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.soak]


def check_training(folder: Path, *faults: Fault) -> None:
    """Train with two workers while the faults happen; the result is that without faults."""
    with LocalPool(PoolFolder(folder / "pool"), PoolSettings(4)) as pool:
        finish = Finish()
        workers = [PoolWorker(pool.folder.address, rank, 2, finish) for rank in range(2)]
        for fault in faults:
            wait_until(lambda: is_safe(pool))
            fault(pool)
            seen = workers[0].steps
            wait_until(lambda: workers[0].steps > seen + 1)  # noqa: B023 - called here
        finish.step = workers[0].steps + 20
        results = [worker.result() for worker in workers]
    for values in results:
        for value, expected in zip(values, alone(2, finish.step), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)


def test_aggregators_with_tensors_or_replicas_may_die(tmp_path: Path) -> None:
    check_training(tmp_path, kill_home, kill_replica, kill_home)


def test_aggregators_that_are_stopped_are_replaced(tmp_path: Path) -> None:
    check_training(tmp_path, stop_home, stop_replica)


def test_aggregators_that_leave_take_nothing_along(tmp_path: Path) -> None:
    check_training(tmp_path, drain_home, drain_home)


def test_pmaster_and_an_aggregator_may_die_at_the_same_time(tmp_path: Path) -> None:
    check_training(tmp_path, kill_pmaster_and_home, kill_pmaster_and_replica)
