"""The distributed jobs of a log: when they run, and what they need from Aggregators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from heapq import heapreplace

import numpy as np

from motet.aggregation.planner.job_profile import AggregationProfile
from motet.domain.arrays import Floats, Ints
from motet.domain.errors import UnknownName
from motet.domain.units import NEVER_US
from motet.sim.aggregation.models import MODELS, known_model
from motet.sim.workload.workload import Workload

BIG_TENSOR = 1_000_000
"""Parameters above which MXNet's key-value store cuts a tensor into a part for each server
(MXNET_KVSTORE_BIGARRAY_BOUND); what is aggregated is a part."""
_MILLISECOND_NS = 1_000_000
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class JobAssumptions:
    """What a log does not state. `gpus_per_worker`: a larger job has several workers, as in the
    seed's testbed. `servers_per_worker`: parameter servers that its user would ask for; rounded
    up. `least_gpus`: a smaller job has no server. `cpu_ns_per_byte`: time that a whole server
    takes for a byte of one worker's gradients; None: the loads of the models. `spread`: iterations
    of jobs of one model differ by up to this share, uniformly, either way. `queue_limits`:
    LossLimit of the jobs of queues, where it is not the pool's. `link_bps`: bits per second of the
    link of a server and of an Aggregator; None: links are not limited.
    """

    gpus_per_worker: int = 4
    servers_per_worker: float = 1.0
    least_gpus: int = 2
    cpu_ns_per_byte: float | None = None
    spread: float = 0.0
    queue_limits: Mapping[str, float] = field(default_factory=dict)
    link_bps: int | None = None


@dataclass(frozen=True)
class TraceWindow:
    """A part of a log, from its first submission on."""

    start_us: int = 0
    length_us: int = NEVER_US


@dataclass(frozen=True, eq=False)
class ServiceJobs:
    """A row per distributed job, by arrival. `model`: position in MODELS.

    `arrives_us`, `ends_us`: since the start of the window. `queues`, `profiles`: of each job.
    """

    ids: tuple[str, ...]
    queues: tuple[str, ...]
    arrives_us: Ints
    ends_us: Ints
    model: Ints
    gpus: Ints
    servers: Ints
    profiles: Sequence[AggregationProfile] = field(repr=False)

    def __len__(self) -> int:
        return len(self.ids)


def service_jobs(
    workload: Workload, assumed: JobAssumptions, window: TraceWindow, seed: int
) -> ServiceJobs:
    """The distributed jobs that run in the window. A job runs from its submission on, for its
    duration; models that are not in MODELS are drawn. Raises UnknownName for a queue.
    """
    for name in assumed.queue_limits:
        if name not in workload.queue_names:
            raise UnknownName("queue", name, workload.queue_names)
    limits = [assumed.queue_limits.get(name) for name in workload.queue_names]
    random = np.random.default_rng(seed)
    model = _models(workload, random)
    iteration = 1 + assumed.spread * random.uniform(-1, 1, len(workload))
    starts = workload.submit_us - workload.submit_us.min(initial=NEVER_US) - window.start_us
    ends = np.minimum(starts + workload.duration_us, window.length_us)
    starts = np.maximum(starts, 0)
    row = np.flatnonzero((workload.gpus >= assumed.least_gpus) & (starts < ends))
    row = row[np.argsort(starts[row], kind="stable")]
    workers = -(-workload.gpus[row] // assumed.gpus_per_worker)
    servers = np.ceil(workers * assumed.servers_per_worker - 1e-9).astype(np.int64)
    profiled = cache(aggregation_profile)
    profiles = [
        profiled(*columns, assumed.cpu_ns_per_byte, limits[queue], assumed.link_bps)
        for queue, *columns in zip(
            workload.queue[row].tolist(),
            model[row].tolist(),
            workers.tolist(),
            servers.tolist(),
            iteration[row].tolist(),
            strict=True,
        )
    ]
    return ServiceJobs(
        tuple(workload.ids[each] for each in row),
        tuple(workload.queue_names[each] for each in workload.queue[row]),
        starts[row],
        ends[row],
        model[row],
        workload.gpus[row],
        servers,
        profiles,
    )


def aggregation_profile(
    model: int,
    workers: int,
    servers: int,
    scale: float,
    cpu_ns_per_byte: float | None = None,
    loss_limit: float | None = None,
    link_bps: int | None = None,
) -> AggregationProfile:
    """What the job measures on Aggregators of its own. `scale`: of its iteration.

    Servers that cannot follow the workers make the iteration longer: as long as the fullest one
    needs, if each tensor is on the emptiest, the largest first. So do their links, over which each
    worker sends its gradients and receives the values.
    """
    which = MODELS[model]
    alone_ns = scale * which.iteration_ms * _MILLISECOND_NS
    work_ns = which.server_load * alone_ns * workers
    if cpu_ns_per_byte is not None:
        work_ns = cpu_ns_per_byte * which.size_bytes * workers
    parts = _parts(which.tensors, servers)
    tensor_ns = _divided(work_ns, parts)
    iteration_ns = max(int(alone_ns), _fullest(tensor_ns, servers))
    link_ns: Ints | None = None
    if link_bps is not None:
        link_ns = _divided(8 * which.size_bytes * workers * (_SECOND_NS / link_bps), parts)
        iteration_ns = max(iteration_ns, _fullest(link_ns, servers))
    return AggregationProfile(iteration_ns, tensor_ns, servers, loss_limit, link_ns)


def _divided(total_ns: float, parts: Floats) -> Ints:
    """The time of each part, at least 1 ns."""
    divided: Ints = np.maximum(np.rint(total_ns * parts / parts.sum()).astype(np.int64), 1)
    return divided


def _fullest(tensor_ns: Ints, servers: int) -> int:
    loads = [0] * servers
    for taken_ns in sorted(tensor_ns.tolist(), reverse=True):
        heapreplace(loads, loads[0] + taken_ns)
    return max(loads)


def _parts(tensors: Sequence[int], servers: int) -> Floats:
    """Parameters of tensors, and of parts of big ones."""
    sizes = np.array(tensors, np.float64)
    count = np.where(sizes > BIG_TENSOR, servers, 1)
    return np.repeat(sizes / count, count)


def _models(workload: Workload, random: np.random.Generator) -> Ints:
    """The model of each job: by name, or drawn."""
    drawn = random.integers(0, len(MODELS), len(workload))
    named = [known_model(name) for name in workload.model_names]
    known = np.array([-1 if each is None else each for each in [*named, None]], np.int64)
    by_name = known[workload.model]  # UNKNOWN, -1, is the last entry.
    return np.where(by_name >= 0, by_name, drawn)
