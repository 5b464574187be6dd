"""Statistics of a trace: numbers, sizes, durations, burstiness, and load on a cluster."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import HOUR_US, SECOND_US, microseconds
from motet.sim.traces.trace import Trace
from motet.sim.workload.elastic_work import WorkModels
from motet.sim.workload.workload import Workload

_QUANTILES = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95, "p99": 99}


@dataclass(frozen=True)
class SizeClass:
    """Jobs with one GPU count."""

    gpus: int
    jobs: int
    gpu_hours: float


@dataclass(frozen=True)
class ClusterLoad:
    """`load`: requested GPU time over available GPU time during the arrivals; above 1 queues grow.

    None if all jobs arrive at once. `shortest_makespan_s`: without idle GPUs.
    """

    machines: int
    gpus: int
    load: float | None
    shortest_makespan_s: float


@dataclass(frozen=True)
class ElasticJobs:
    """Counts of elastic jobs by their properties."""

    jobs: int
    with_curve: int
    with_target: int
    with_servers: int


@dataclass(frozen=True)
class Experiments:
    """Counts of experiments and of their jobs."""

    experiments: int
    jobs: int


@dataclass(frozen=True)
class RequestStatistics:
    """Statistics of a requested resource over the jobs that request it."""

    jobs: int
    min: int
    median: float
    max: int


@dataclass(frozen=True)
class LoggedTimes:
    """What the jobs with a known end experienced where the log was written, in seconds.

    `jct_s`: from the submission to the end; `delay_s`: the part of it without GPUs.
    """

    jobs: int
    jct_s: dict[str, float]
    delay_s: dict[str, float]


@dataclass(frozen=True)
class TraceSummary:
    """`interarrival_s["cv"]`: deviation over mean of the gaps; 1 is Poisson, more is bursty.

    `demand_gpus`: busy GPUs if every job started at its submission. None: there are none.
    """

    jobs: int
    span_s: float
    gpu_hours: float
    users: int
    queues: int
    models: int
    sizes: tuple[SizeClass, ...]
    duration_s: dict[str, float]
    interarrival_s: dict[str, float | None]
    demand_gpus: dict[str, float]
    cluster: ClusterLoad | None
    elastic: ElasticJobs | None
    experiments: Experiments | None
    cpus: RequestStatistics | None
    memory_bytes: RequestStatistics | None
    logged: LoggedTimes | None

    def document(self) -> dict[str, Any]:
        """The fields for JSON."""
        return asdict(self)


def summarise(trace: Trace, cluster: tuple[int, int] | None = None) -> TraceSummary:
    """`cluster`: machines and total GPUs."""
    jobs = trace.workload
    span_us = int(jobs.submit_us[-1] - jobs.submit_us[0])
    gpu_us = float((jobs.gpus.astype(float) * jobs.duration_us).sum())
    _, busy = demand(jobs)
    return TraceSummary(
        jobs=len(jobs),
        span_s=span_us / SECOND_US,
        gpu_hours=gpu_us / HOUR_US,
        users=len({user for user in jobs.users if user}),
        queues=len(jobs.queue_names),
        models=len(jobs.model_names),
        sizes=_sizes(jobs),
        duration_s=_distribution(jobs.duration_us),
        interarrival_s=_gaps(jobs.submit_us),
        demand_gpus={"mean": _mean_demand(jobs, gpu_us), "peak": float(busy.max())},
        cluster=None if cluster is None else _load(cluster, gpu_us, span_us),
        elastic=_elastic(jobs.work),
        experiments=_experiments(jobs),
        cpus=_request_statistics(jobs.cpus),
        memory_bytes=_request_statistics(jobs.memory_bytes),
        logged=logged_times(trace),
    )


def logged_times(trace: Trace) -> LoggedTimes | None:
    """None if the log has no ends of jobs."""
    jobs = trace.workload
    texts = trace.more.get("end_time", ())
    known = [job for job, text in enumerate(texts) if text]
    if not known:
        return None
    ends_us = np.array([microseconds(texts[job]) for job in known], dtype=np.int64)
    jct_us = ends_us - jobs.submit_us[known]
    delay_us = np.maximum(jct_us - jobs.duration_us[known], 0)
    return LoggedTimes(len(known), _distribution(jct_us), _distribution(delay_us))


def demand(jobs: Workload) -> tuple[Ints, Ints]:
    """GPUs busy from each time on (microseconds), if every job started at its submission."""
    times = np.concatenate([jobs.submit_us, jobs.submit_us + jobs.duration_us])
    changes = np.concatenate([jobs.gpus, -jobs.gpus])
    at, which = np.unique(times, return_inverse=True)
    change = np.zeros(len(at), dtype=np.int64)
    np.add.at(change, which, changes)
    return at, np.cumsum(change)


def _mean_demand(jobs: Workload, gpu_us: float) -> float:
    whole_us = int((jobs.submit_us + jobs.duration_us).max() - jobs.submit_us[0])
    return gpu_us / whole_us if whole_us else 0.0


def _sizes(jobs: Workload) -> tuple[SizeClass, ...]:
    hours: Counter[int] = Counter()
    counts = Counter(jobs.gpus.tolist())
    for gpus in counts:
        hours[gpus] = int(jobs.duration_us[jobs.gpus == gpus].sum()) * gpus
    return tuple(SizeClass(gpus, counts[gpus], hours[gpus] / HOUR_US) for gpus in sorted(counts))


def _elastic(work: WorkModels | None) -> ElasticJobs | None:
    if work is None or not work.is_modelled.any():
        return None
    elastic = work.take(np.flatnonzero(work.is_modelled))
    return ElasticJobs(
        jobs=len(elastic),
        with_curve=int((elastic.curve != UNKNOWN).sum()),
        with_target=int(np.isfinite(elastic.target_loss).sum()),
        with_servers=int((elastic.max_servers > 0).sum()),
    )


def _experiments(jobs: Workload) -> Experiments | None:
    if not jobs.experiment_names:
        return None
    return Experiments(len(jobs.experiment_names), int((jobs.experiment != UNKNOWN).sum()))


def _request_statistics(demands: Ints) -> RequestStatistics | None:
    some = demands[demands > 0]
    if not len(some):
        return None
    return RequestStatistics(len(some), int(some.min()), float(np.median(some)), int(some.max()))


def _distribution(times_us: Ints) -> dict[str, float]:
    quantiles = np.percentile(times_us, list(_QUANTILES.values())) / SECOND_US
    return {
        "mean": float(times_us.mean()) / SECOND_US,
        "min": int(times_us.min()) / SECOND_US,
        **dict(zip(_QUANTILES, quantiles.tolist(), strict=True)),
        "max": int(times_us.max()) / SECOND_US,
    }


def _gaps(submit_us: Ints) -> dict[str, float | None]:
    gaps = np.diff(submit_us)
    if not len(gaps) or not gaps.any():
        return {"mean": 0.0, "median": 0.0, "max": 0.0, "cv": None}
    return {
        "mean": float(gaps.mean()) / SECOND_US,
        "median": float(np.median(gaps)) / SECOND_US,
        "max": int(gaps.max()) / SECOND_US,
        "cv": float(gaps.std() / gaps.mean()),
    }


def _load(cluster: tuple[int, int], gpu_us: float, span_us: int) -> ClusterLoad:
    machines, gpus = cluster
    load = gpu_us / (gpus * span_us) if span_us else None
    return ClusterLoad(machines, gpus, load, gpu_us / gpus / SECOND_US)
