"""What the API, the page and the metrics show of the pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from motet.aggregation.wire.job_credentials import job_of_cluster
from motet.aggregation.wire.pool_views import AggregatorView, JobPlacement, PoolJobView, PoolView
from motet.live.master.state import LiveState


@dataclass(frozen=True)
class ClusterNames:
    """Names of what the pool knows by others. `jobs`: numbers and names of live jobs, by names in
    the pool. `machine_of`: of an Aggregator."""

    jobs: Mapping[str, tuple[int, str]]
    machine_of: Callable[[int], str]

    @classmethod
    def of(
        cls, state: LiveState, numbers: Mapping[str, int], machine_of: Callable[[int], str]
    ) -> ClusterNames:
        """`numbers`: of live jobs, by their names in the pool."""
        jobs = {
            name: (number, state.jobs[number].spec.name)
            for name, number in numbers.items()
            if number in state.jobs
        }
        return cls(jobs, machine_of)

    def job(self, pool_job: str) -> tuple[int, str] | None:
        """None: it does not run any more."""
        return self.jobs.get(job_of_cluster(pool_job))


def pool_document(view: PoolView, names: ClusterNames) -> dict[str, Any]:
    """Fields as in `PoolView`, with the names of the cluster."""
    return {
        "aggregators": [_aggregator_document(each, names) for each in view.aggregators],
        "jobs": [_job_document(each, names) for each in view.jobs],
        "clusters": [list(each) for each in view.clusters],
        "most_aggregators": view.most_aggregators,
        "loss_limit": view.loss_limit,
    }


def placement_document(placement: JobPlacement, names: ClusterNames) -> dict[str, Any]:
    """A job and its tensors."""
    tensors = [_plain(each) for each in placement.tensors]
    return {"job": _job_document(placement.job, names), "tensors": tensors}


def _aggregator_document(aggregator: AggregatorView, names: ClusterNames) -> dict[str, Any]:
    found = [names.job(each) for each in aggregator.jobs]
    return {
        **_plain(aggregator),
        "machine": names.machine_of(aggregator.number),
        "job_ids": [str(each[0]) for each in found if each is not None],
    }


def _job_document(job: PoolJobView, names: ClusterNames) -> dict[str, Any]:
    found = names.job(job.name)
    number, name = ("", "") if found is None else (str(found[0]), found[1])
    return {**_plain(job), "id": number or None, "job_name": name}


def _plain(view: Any) -> dict[str, Any]:
    """Tuples are lists, as JSON has them."""
    fields = asdict(view).items()
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields}
