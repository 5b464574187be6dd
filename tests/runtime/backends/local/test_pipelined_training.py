"""Asynchronous training in processes of their own, one of which is killed in mid-epoch."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.consistency import Async
from motet.runtime.core.options import TrainOptions
from soak_cases import others_in_soak
from toy_app import CountingInstances, KilledOnce

pytestmark = pytest.mark.cluster
EPOCHS, BATCHES, INSTANCES = 6, 11, 203


@pytest.mark.parametrize("servers", others_in_soak([1, 3], [3]))
def test_the_kill_of_a_worker_loses_and_repeats_no_update(
    local_cluster: LocalCluster, tmp_path: Path, servers: int
) -> None:
    """It dies while it pushes and pulls; with 3 servers each worker's process has one."""
    app = KilledOnce(str(tmp_path), killed_at=3 * BATCHES + 5)
    options = TrainOptions(
        machines=3,
        workers=3,
        servers=servers,
        epochs=EPOCHS,
        consistency=Async(),
        checkpoint_every=2,
    )
    result = Job(app, app.prepare(None, seed=1), options, local_cluster).run()
    assert [recovery.resumed_from_epoch for recovery in result.recoveries] == [2]
    assert set(result.app.coef_) == {float(EPOCHS * INSTANCES)}
    assert set(result.app.visits_) == {float(EPOCHS)}


def test_two_jobs_that_take_turns_on_a_machine_lose_and_repeat_no_update() -> None:
    """Each process has a thread that waits for the CPU token and one for that of the network."""
    options = TrainOptions(machines=1, workers=1, servers=1, epochs=40, consistency=Async())
    with LocalCluster(1, interleaves=True) as machine, ThreadPoolExecutor(2) as threads:

        def trained(_: int) -> set[float]:
            app = CountingInstances()
            return set(Job(app, app.prepare(None, seed=1), options, machine).run().app.coef_)

        assert list(threads.map(trained, range(2))) == [{40.0 * INSTANCES}] * 2
