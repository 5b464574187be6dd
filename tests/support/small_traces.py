"""Small workloads, clusters and results for tests of the simulator's outside."""

from __future__ import annotations

from pathlib import Path

from elastic_workloads import elastic_workload, linear
from motet.domain.cluster import ClusterSpec
from motet.domain.units import SECOND_US
from motet.interfaces.simulation_runs import Scenario, run_one
from motet.sim.experiment import Experiment
from motet.sim.metrics.results import SimulationResult
from motet.sim.workload.workload import Workload

Rows = list[tuple[int, int, int]]
"""(submit, duration, GPUs) in seconds."""

QUEUE_OF_THREE: Rows = [(0, 100, 2), (0, 50, 2), (10, 10, 1)]
"""On two GPUs under `fifo` they run one after the other: 0-100, 100-150, 150-160."""

_SIMPLE = {"placement": "count", "preemption_cost": "0"}
HEADER = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval"


def workload_of(rows: Rows) -> Workload:
    """Jobs "j0", "j1", ..."""
    return Workload.of(
        [f"j{number}" for number in range(len(rows))],
        [submit * SECOND_US for submit, _, _ in rows],
        [duration * SECOND_US for _, duration, _ in rows],
        [gpus for _, _, gpus in rows],
    )


def scenario_of(rows: Rows, gpus: int) -> Scenario:
    """On one machine."""
    return Scenario(workload_of(rows), "0" * 64, ClusterSpec.uniform(1, gpus))


def result_of(
    rows: Rows, gpus: int = 2, policy: str = "fifo", seed: int = 0, **settings: str
) -> SimulationResult:
    """Without placement and with free preemptions, unless the settings ask for others."""
    experiment = Experiment(policy, {**_SIMPLE, **settings}, seed)
    return run_one(experiment, scenario_of(rows, gpus))


def elastic_result(policy: str, seed: int = 0) -> SimulationResult:
    """Six jobs with loss curves, ten seconds apart, on four GPUs; the seed draws their steps."""
    rows = [linear(10 * job, 40 + (7 * seed + 13 * job) % 50, 1, 4) for job in range(6)]
    scenario = Scenario(elastic_workload(rows), f"{seed:064}", ClusterSpec.uniform(1, 4))
    return run_one(Experiment(policy, _SIMPLE, seed), scenario)


def write_trace(path: Path, rows: Rows) -> Path:
    """As a CSV of the Tiresias simulator."""
    lines = [
        f"{number},{gpus},{submit},10,vgg19,{duration},0"
        for number, (submit, duration, gpus) in enumerate(rows)
    ]
    path.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    return path
