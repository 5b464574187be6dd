"""Many elastic jobs in the middle of their training, as a policy sees them."""

from __future__ import annotations

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.estimates import Estimates
from motet.domain.snapshot import JobTable, Queues, Snapshot
from motet.engine.measurements.fitters import fitted_measurements
from motet.engine.state.history import FinishedJobs
from motet.engine.state.table import JOB_COLUMNS
from motet.estimate.speed_function import SpeedMode, speed
from motet.policies.slaq import Slaq
from motet.sim.curves import bundled_curve, bundled_names

_TRIED = ((1, 1), (1, 8), (8, 1), (8, 8), (4, 4))


def elastic_snapshot(
    jobs: int, *, machines: int, gpus: int, servers: int, most: int, seed: int = 0
) -> Snapshot:
    """An empty cluster, and jobs that wait for it: `most` workers and, with `servers`, as many of
    these for each. Their losses are known up to a random point of a real curve."""
    rng = np.random.default_rng(seed)
    table = _table(jobs, servers, most)
    cluster = ClusterSpec.uniform(machines, gpus)
    return Snapshot(
        now_us=0,
        jobs=table,
        cluster=cluster,
        gpu_count=cluster.gpu_count,
        free_gpus=cluster.gpus,
        placements={},
        memory={name: np.full(jobs, new) for name, new in Slaq.memory_columns.items()},
        history=FinishedJobs().history,
        queues=Queues(),
        estimates=estimates_of(table, rng),
    )


def _table(jobs: int, servers: int, most: int) -> JobTable:
    zeros, ones = np.zeros(jobs, dtype=np.int64), np.ones(jobs, dtype=np.int64)
    columns = dict.fromkeys(JOB_COLUMNS, zeros) | {
        "number": np.arange(jobs),
        "gpus": ones * (4 + 4 * servers),
        "workers": ones * 4,
        "servers": ones * 4 * servers,
        "min_workers": ones,
        "max_workers": ones * most,
        "min_servers": ones * servers,
        "max_servers": ones * most * servers,
        "worker_gpus": ones,
        "server_gpus": ones * servers,
    }
    return JobTable(**columns)


def estimates_of(table: JobTable, rng: np.random.Generator) -> Estimates:
    """Losses up to a random point of a real curve, and speeds with some workers and servers."""
    book = fitted_measurements()
    names = bundled_names()
    for job in table.number.tolist():
        curve = bundled_curve(names[job % len(names)]).losses
        done = int(rng.integers(10, len(curve) - 1))
        book.arrived(job, planned_steps=len(curve) - 1)
        book.trained(job, done, [(step, float(curve[step])) for step in range(done + 1)])
        step_s = rng.lognormal(1.0, 1.0)
        parameters = [step_s, 0.002 * step_s, 0.01 * step_s, 2e-4 * step_s, 2e-4 * step_s, 1.0]
        for workers, servers in _TRIED:
            held = servers if table.max_servers[job] else 0
            found = speed(int(SpeedMode.SYNC), parameters, workers, held)
            book.ran(job, workers, held, found)
    return book.estimates(table)
