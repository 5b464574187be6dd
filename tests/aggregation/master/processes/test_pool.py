"""Real processes: trainings go on when pMaster is killed, and nothing stays behind."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest

from marked_process import new_motet_process
from motet.aggregation.control.pool_client import PoolClient
from motet.aggregation.master.processes.pool import LocalPool, PoolSettings
from motet.aggregation.master.processes.pool_folder import PoolFolder
from pool_training import Finish, PoolWorker, alone
from waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.mark.soak
def test_a_training_goes_on_while_pmaster_is_away_and_nothing_stays_behind(tmp_path: Path) -> None:
    folder = PoolFolder(tmp_path / "pool")
    with LocalPool(folder, PoolSettings(4, link_bps=10**10)) as pool:
        first = pool.master_id

        def kill_pmaster(step: int) -> None:
            if step == 5:
                os.kill(first, signal.SIGKILL)
            if step == 10:
                wait_until(lambda: pool.master_id != first)

        workers = [
            PoolWorker(folder.address, 0, 2, Finish(60), kill_pmaster),
            PoolWorker(folder.address, 1, 2, Finish(60)),
        ]
        results = [worker.result() for worker in workers]
        wait_until(lambda: not pool.aggregator_ids())
        with PoolClient.find(folder.address) as client:
            assert client.describe().jobs == ()
        last = pool.master_id
    for values in results:
        for value, expected in zip(values, alone(2, 60), strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
    assert not psutil.pid_exists(last)
    assert sorted(path.name for path in folder.path.iterdir()) == ["lock", "pool.log"]


@pytest.mark.soak
def test_nothing_stays_behind_when_the_command_is_killed(tmp_path: Path) -> None:
    folder = PoolFolder(tmp_path / "pool")
    process = new_motet_process("aggregator", "start", "--state-dir", folder.path)
    assert process.first_line() == f"export MOTET_AGGREGATION={folder.address}"
    started = threading.Event()
    PoolWorker(folder.address, 0, 1, Finish(), lambda step: started.set())
    assert started.wait(120.0)
    assert len(process.descendants()) >= 3
    process.process.kill()
    process.wait_until(lambda: not process.descendants())
