"""Checks for invalid jobs and for jobs that exceed a cluster."""

from __future__ import annotations

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.queues.queue_limits import Queues, check_guarantees, largest_job, limit_words
from motet.domain.units import GIGA, NEVER_US
from motet.placement.room import ResourceDemand, gpus_of_empty
from motet.report.rendering.quantities import count_text
from motet.sim.workload.elastic_work import FULL_REQUEST_MUST_FIT
from motet.sim.workload.workload import Workload


def check_sizes(workload: Workload, cluster: ClusterSpec) -> None:
    """Raises BadInput for the first invalid job."""
    for job, text in workload.work.complaints() if workload.work else ():
        raise BadInput(f"job {workload.ids[job]}: {text}")
    too_large = workload.gpus > cluster.gpu_count
    if too_large.any():
        number = int(too_large.argmax())
        is_elastic = workload.work is not None and workload.work.is_modelled[number]
        raise BadInput(
            f"job {workload.ids[number]} needs {workload.gpus[number]} GPUs, the cluster has "
            f"{cluster.gpu_count}{f'; {FULL_REQUEST_MUST_FIT}' if is_elastic else ''}; give a "
            "larger --cluster; --skip-bad-rows leaves such jobs of a file out"
        )
    _check_demands(workload, cluster)


def check_queues(workload: Workload, cluster: ClusterSpec, queues: Queues) -> None:
    """Raises BadInput for guarantees above the cluster, and for a job that its queue never runs."""
    limits = dict(zip(queues.names, queues.limits, strict=True))
    check_guarantees(limits, cluster.gpu_count)
    largest = np.array(
        [largest_job(queue, queues.limits, cluster.gpu_count) for queue in range(len(limits))]
    )
    too_large = workload.gpus > largest[workload.queue]
    if too_large.any():
        number = int(too_large.argmax())
        queue = int(workload.queue[number])
        raise BadInput(
            f"job {workload.ids[number]} needs {workload.gpus[number]} GPUs, a job of queue "
            f"{queues.names[queue]} gets {largest[queue]} at most ({limit_words(queues, queue)}); "
            "change --queues"
        )


def _check_demands(workload: Workload, cluster: ClusterSpec) -> None:
    """Check CPUs and memory, once per distinct request."""
    columns = np.column_stack([workload.gpus, workload.cpus, workload.memory_bytes])
    kinds, first = np.unique(columns, axis=0, return_index=True)
    for number, (gpus, cpus, memory_bytes) in sorted(
        zip(first.tolist(), kinds.tolist(), strict=True)
    ):
        name = f"job {workload.ids[number]}"
        if min(gpus, cpus, memory_bytes) < 0 or gpus * max(cpus, memory_bytes) >= NEVER_US:
            raise BadInput(
                f"{name}: {gpus} GPUs, {cpus} CPUs and {memory_bytes} bytes are out of range; "
                "give smaller amounts, at least 0"
            )
        demand = ResourceDemand(gpus, cpus, memory_bytes)
        if gpus > gpus_of_empty(cluster, demand).sum():
            raise BadInput(
                f"{name} needs {_needs(cpus, memory_bytes)} on {count_text(gpus, 'GPU')}: no "
                "machines of the cluster have as much beside them; give a --cluster with more"
            )


def _needs(cpus: int, memory_bytes: int) -> str:
    """The request in words, without zero amounts."""
    parts = [count_text(cpus, "CPU")] if cpus else []
    return " and ".join(parts + ([f"{memory_bytes / GIGA:g} GB"] if memory_bytes else []))
