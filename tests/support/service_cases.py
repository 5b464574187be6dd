"""Small logs of jobs for the simulated pool of Aggregators."""

from __future__ import annotations

from collections.abc import Sequence

from motet.aggregation.planner.clusters import ScalingRules
from motet.domain.units import SECOND_US
from motet.sim.aggregation.jobs import JobAssumptions, ServiceJobs, TraceWindow, service_jobs
from motet.sim.aggregation.replay import ServiceRules
from motet.sim.workload.workload import Workload

Row = tuple[str, float, float, int]
"""Model, submission and duration in seconds, GPUs."""


def workload_of(rows: Sequence[Row], queues: Sequence[str] | None = None) -> Workload:
    models, submit_s, duration_s, gpus = zip(*rows, strict=True)
    return Workload.of(
        [f"j{number}" for number in range(len(rows))],
        [int(each * SECOND_US) for each in submit_s],
        [int(each * SECOND_US) for each in duration_s],
        gpus,
        models=models,
        queues=queues,
    )


def jobs_of(rows: Sequence[Row], assumed: JobAssumptions | None = None) -> ServiceJobs:
    return service_jobs(workload_of(rows), assumed or JobAssumptions(), TraceWindow(), seed=0)


def rules(*, period_s: float = 600, on_demand: int = 0, contention: float = 0.0) -> ServiceRules:
    scaling = ScalingRules(10_000, on_demand=on_demand)
    return ServiceRules(scaling, int(period_s * SECOND_US), contention=contention)
