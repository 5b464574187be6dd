"""A crowded cluster as a policy sees it: jobs run on all GPUs, and ten times as many jobs wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.estimates import Estimates
from motet.domain.model_profile import ModelProfile
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, History, JobTable, Placement, Queues, Snapshot
from motet.domain.units import SECOND_US
from motet.engine.measurements.array_rows import rows_of
from motet.engine.measurements.job_measurements import Measurements
from motet.engine.state.history import FinishedJobs
from motet.engine.state.table import JOB_COLUMNS
from motet.placement.machines import consolidated
from motet.placement.room import ResourceDemand, Room
from support.elastic_snapshots import estimates_of

RUNNING, WAITING = 1_000, 10_000
MACHINE_GPUS, MACHINE_CPUS, MACHINE_BYTES = 8, 64, 512 * 10**9
NOW_US = 36_000 * SECOND_US
"""A multiple of every time slice, so that policies that take turns decide anew."""
_GPUS, _GPUS_OFTEN = (1, 2, 4, 8, 16), (0.45, 0.2, 0.2, 0.1, 0.05)
_SEARCH_JOBS = 8
_FINISHED, _FITTED, _FREE_MACHINES = 5_000, 500, 0.2
_MODELS = tuple(ModelProfile(f"m{mb}", 100.0, 10, float(mb)) for mb in range(5, 100, 10))


@dataclass(frozen=True)
class Crowd:
    """What the jobs are. `queues`: names with slashes in them make queues in queues.
    `has_searches`: eight jobs in a row are one experiment. `has_demands`: every job needs other
    numbers of CPUs and bytes. `is_elastic`: every job has 1 worker at least, and up to 16."""

    queues: tuple[str, ...] = ("default",)
    has_searches: bool = False
    has_demands: bool = False
    is_elastic: bool = False
    running: int = RUNNING
    waiting: int = WAITING


def crowded(crowd: Crowd, seed: int = 0) -> Snapshot:
    """The same for the same crowd and seed. The jobs with the lowest numbers run."""
    rng = np.random.default_rng(seed)
    jobs = _jobs(crowd, rng)
    cluster = _cluster(int(jobs.held_gpus.sum()))
    free, placements = cluster.gpus.copy(), _placements(jobs, cluster)
    for place in placements.values():
        free[list(place.machines)] -= place.counts
    snapshot = Snapshot(
        now_us=NOW_US,
        jobs=jobs,
        cluster=cluster,
        gpu_count=cluster.gpu_count,
        free_gpus=free,
        placements=placements,
        memory={},
        history=_history(rng),
        queues=Queues.without_quotas(crowd.queues),
        models=_MODELS,
        estimates=_estimates(jobs, crowd, rng),
    )
    return _with_demands(snapshot) if crowd.has_demands else snapshot


def seen_by(policy: Policy, snapshot: Snapshot) -> Snapshot:
    """With the policy's own columns, and estimates only if it wants them. No job is remembered."""
    size = len(snapshot.jobs)
    memory = {name: np.full(size, new) for name, new in policy.memory_columns.items()}
    estimates = snapshot.estimates if policy.wants_estimates else None
    return replace(snapshot, memory=memory, estimates=estimates)


def _jobs(crowd: Crowd, rng: np.random.Generator) -> JobTable:
    size = crowd.running + crowd.waiting
    number, zeros = np.arange(size), np.zeros(size, dtype=np.int64)
    gpus = rng.choice(_GPUS, size, p=_GPUS_OFTEN)
    runs = number < crowd.running
    executed_us = _seconds(rng.lognormal(6.0, 1.5, size)) * (runs | (rng.random(size) < 0.3))
    submit_us = np.sort(rng.integers(0, NOW_US, size))
    columns: dict[str, Ints] = dict.fromkeys(JOB_COLUMNS, zeros) | {
        "number": number,
        "queue": rng.integers(0, len(crowd.queues), size),
        "experiment": number // _SEARCH_JOBS if crowd.has_searches else zeros + UNKNOWN,
        "submit_us": submit_us,
        "model": rng.integers(0, 10, size),
        "gpus": gpus,
        "first_start_us": np.where(executed_us > 0, submit_us, UNKNOWN),
        "last_start_us": np.where(executed_us > 0, np.maximum(submit_us, NOW_US // 2), UNKNOWN),
        "held_gpus": np.where(runs, gpus, 0),
        "executed_us": executed_us,
        "attained_gpu_us": executed_us * gpus,
        "waiting_us": np.maximum(NOW_US - submit_us - executed_us, 0),
        "partner": zeros + UNKNOWN,
        "sharers": zeros + 1,
        "remaining_us": _seconds(rng.lognormal(7.0, 1.5, size)),
        "rate": zeros + 10_000,
        "alone_rate": zeros + 10_000,
        **_demands(crowd, gpus, rng),
        **_roles(crowd, gpus, runs),
    }
    return JobTable(**columns)


def _seconds(column: np.ndarray) -> Ints:
    whole: Ints = (column * SECOND_US).astype(np.int64)
    return whole


def _demands(crowd: Crowd, gpus: Ints, rng: np.random.Generator) -> Mapping[str, Ints]:
    if not crowd.has_demands:
        return {}
    cpus = gpus * rng.integers(1, 9, len(gpus))
    return {"cpus": cpus, "memory_bytes": gpus * rng.integers(10**9, 64 * 10**9, len(gpus))}


def _roles(crowd: Crowd, gpus: Ints, runs: Ints) -> Mapping[str, Ints]:
    """A rigid job has a worker per GPU; an elastic one as many workers as servers, at least one."""
    ones, zeros = np.ones_like(gpus), np.zeros_like(gpus)
    if not crowd.is_elastic:
        every = dict.fromkeys(("workers", "min_workers", "max_workers"), gpus)
        return {**every, "worker_gpus": ones, "held_workers": np.where(runs, gpus, 0)}
    roles = np.maximum(gpus // 2, 1)
    return {
        "gpus": 2 * roles,
        "held_gpus": np.where(runs, 2 * roles, 0),
        "attained_gpu_us": zeros,
        **dict.fromkeys(("workers", "servers"), roles),
        **dict.fromkeys(("min_workers", "min_servers", "worker_gpus", "server_gpus"), ones),
        **dict.fromkeys(("max_workers", "max_servers"), 16 * ones),
        **dict.fromkeys(("held_workers", "held_servers"), np.where(runs, roles, 0)),
    }


def _cluster(held_gpus: int) -> ClusterSpec:
    """With a fifth more machines than the jobs hold."""
    machines = round(held_gpus / MACHINE_GPUS * (1 + _FREE_MACHINES))
    return ClusterSpec.of([MACHINE_GPUS] * machines, cpus=MACHINE_CPUS, memory_bytes=MACHINE_BYTES)


def _placements(jobs: JobTable, cluster: ClusterSpec) -> dict[int, Placement]:
    free, found = cluster.gpus.copy(), {}
    for row in np.flatnonzero(jobs.held_gpus).tolist():
        place = consolidated(free, int(jobs.held_gpus[row]))
        free[list(place.machines)] -= place.counts
        found[int(jobs.number[row])] = place
    return found


def _history(rng: np.random.Generator) -> History:
    finished = FinishedJobs()
    for service_s, gpus in zip(
        rng.lognormal(7.0, 1.5, _FINISHED), rng.choice(_GPUS, _FINISHED), strict=True
    ):
        finished.add(int(service_s * gpus * SECOND_US), int(gpus))
    return finished.history


def _estimates(jobs: JobTable, crowd: Crowd, rng: np.random.Generator) -> Estimates:
    """Of rigid jobs nothing is measured. Fits of some elastic jobs stand for those of all."""
    if not crowd.is_elastic:
        return Measurements().estimates(jobs)
    some = rows_of(jobs, jobs.number[:_FITTED])
    fitted, like = estimates_of(some, rng), jobs.number % len(some)
    columns = {
        each.name: getattr(fitted, each.name)[like]
        for each in fields(fitted)
        if each.name != "forecasts"
    }
    return Estimates(**columns, forecasts=rows_of(fitted.forecasts, like))


def _with_demands(snapshot: Snapshot) -> Snapshot:
    room, jobs = Room.of(snapshot.cluster), snapshot.jobs
    for row in np.flatnonzero(jobs.held_gpus).tolist():
        room.take(snapshot.placements[int(jobs.number[row])], ResourceDemand.of(jobs, row))
    return replace(snapshot, free_cpus=room.cpus, free_memory_bytes=room.memory_bytes)
