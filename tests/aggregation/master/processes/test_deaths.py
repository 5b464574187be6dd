"""Real Aggregators that are killed while jobs train on them: no step is lost, none counts twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from motet.aggregation.master.processes.pool import LocalPool, PoolSettings
from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.aggregation.wire.pool_views import PoolView
from motet.interfaces.cli.aggregator.pool_client import PoolClient
from pool_training import Finish, PoolWorker, alone
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.soak]


def view(pool: LocalPool) -> PoolView:
    with PoolClient.find(pool.folder.address) as client:
        return client.describe()


def is_safe(pool: LocalPool) -> bool:
    """Whether each tensor has a replica, and every job is where the plan has it."""
    found = view(pool)
    return (
        bool(found.jobs)
        and all(job.phase == "placed" and len(job.aggregators) == 1 for job in found.jobs)
        and sum(each.replicas for each in found.aggregators) == 2 * len(found.jobs)
    )


def process_with_tensors(pool: LocalPool, has_tensors: bool) -> int:
    wait_until(lambda: is_safe(pool))
    chosen = next(each for each in view(pool).aggregators if bool(each.tensors) == has_tensors)
    return pool.aggregator_ids()[chosen.number]


def check_training(folder: Path, *faults: Callable[[LocalPool], None]) -> None:
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


def kill_home(pool: LocalPool) -> None:
    os.kill(process_with_tensors(pool, True), signal.SIGKILL)


def kill_replica(pool: LocalPool) -> None:
    os.kill(process_with_tensors(pool, False), signal.SIGKILL)


def kill_pmaster_and_home(pool: LocalPool) -> None:
    home, first = process_with_tensors(pool, True), pool.master_id
    os.kill(first, signal.SIGKILL)
    os.kill(home, signal.SIGKILL)
    wait_until(lambda: pool.master_id != first)


def test_aggregators_with_tensors_or_replicas_may_die(tmp_path: Path) -> None:
    check_training(tmp_path, kill_home, kill_replica, kill_home)


def test_pmaster_and_an_aggregator_may_die_at_the_same_time(tmp_path: Path) -> None:
    check_training(tmp_path, kill_pmaster_and_home)
