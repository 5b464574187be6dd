"""What a policy looks at it cannot change."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import MotetError
from motet.interfaces.simulation_pool import run_all
from motet.interfaces.simulation_runs import SimulationTask
from motet.sim.experiment import Experiment
from own_policies import FAULT_LINE, own_policy
from small_traces import QUEUE_OF_THREE, scenario_of

WRITES = [
    "jobs.gpus[:] = 1",
    "jobs.number[:] = 0",
    "jobs.held_gpus.fill(0)",
    "np.add.at(jobs.attained_gpu_us, 0, 1)",
    "jobs.waiting_us.sort()",
    "snapshot.free_gpus[:] = 0",
    "snapshot.placements.clear()",
    "snapshot.memory['seen'] += 1",
    "snapshot.cluster.gpus[:] = 9",
    "snapshot.cluster.rack[:] = 9",
    "snapshot.queues.limits = ()",
    "snapshot.history.gpus.resize(3)",
    "snapshot.history.sorted_service_gpu_us.flags.writeable or 1 / 0",
]


@pytest.mark.parametrize("write", WRITES)
def test_writing_to_the_snapshot_names_the_line(tmp_path: Path, write: str) -> None:
    mine = own_policy(tmp_path, write)
    with pytest.raises(MotetError, match=f"mine.py:{FAULT_LINE} in decide: "):
        run_all([SimulationTask(Experiment(str(mine)), scenario_of(QUEUE_OF_THREE, 2))])


def test_a_write_error_names_the_alternative(tmp_path: Path) -> None:
    mine = own_policy(tmp_path, "jobs.gpus[:] = 1")
    with pytest.raises(MotetError, match="a policy cannot change its snapshot; change a copy"):
        run_all([SimulationTask(Experiment(str(mine)), scenario_of(QUEUE_OF_THREE, 2))])


def test_a_copy_may_be_changed(tmp_path: Path) -> None:
    mine = own_policy(tmp_path, "jobs.gpus.copy()[:] = 1")
    (result,) = run_all([SimulationTask(Experiment(str(mine)), scenario_of(QUEUE_OF_THREE, 2))])
    assert result.summary["finished"] == 3
