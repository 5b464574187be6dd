"""Figures of the pool of Aggregators for /metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import get_args

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from motet.aggregation.wire.pool_views import JobPhase, PoolView
from motet.domain.errors import MotetError
from motet.live.shared_pool.cluster_pool import ClusterPool

_PHASES: tuple[JobPhase, ...] = get_args(JobPhase)


class PoolMetrics(Collector):
    """The pool at the time of a scrape."""

    def __init__(self, pool: ClusterPool) -> None:
        self._pool = pool

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """See prometheus_client."""
        try:
            view = self._pool.view()
        except MotetError:
            view = None
        text = "Whether pMaster of the pool of Aggregators answers."
        yield GaugeMetricFamily("motet_aggregation_up", text, value=view is not None)
        if view is not None:
            yield from pool_families(view)


def pool_families(view: PoolView) -> Iterable[GaugeMetricFamily]:
    """The figures of a view. Jobs are counted, not named: there may be many."""
    text = "Most Aggregators that may serve tensors."
    yield GaugeMetricFamily("motet_aggregators_most", text, value=view.most_aggregators)
    running = [each for each in view.aggregators if each.is_running]
    states = {
        "serving": sum(each.tensors > 0 for each in running),
        "replicas": sum(each.tensors == 0 for each in running),
        "starting": len(view.aggregators) - len(running),
    }
    yield _by("motet_aggregators", "Aggregators by what they do.", "state", states)
    used = {str(each.number): each.used_share for each in running}
    text = "Share of the cycle of an Aggregator that its jobs use."
    yield _by("motet_aggregator_cycle_used_ratio", text, "aggregator", used)
    busy = {str(each.number): each.link_share for each in running}
    text = "Share of the cycle of an Aggregator in which its link is busy, if links are limited."
    yield _by("motet_aggregator_link_used_ratio", text, "aggregator", busy)
    memory = {str(each.number): float(each.memory_bytes) for each in running}
    yield _by("motet_aggregator_memory_bytes", "Tensors and states.", "aggregator", memory)
    phases = Counter(each.phase for each in view.jobs)
    counts: dict[str, float] = {phase: phases[phase] for phase in _PHASES}
    yield _by("motet_aggregation_jobs", "Jobs of the pool.", "phase", counts)
    losses = [each for each in view.jobs if each.measured_loss is not None]
    largest = max((each.measured_loss or 0.0 for each in losses), default=0.0)
    text = "Largest share of its speed that a job has lost to others."
    yield GaugeMetricFamily("motet_aggregation_loss_ratio", text, value=largest)
    over = sum((each.measured_loss or 0.0) >= each.loss_limit for each in losses)
    text = "Jobs that have lost their limit of speed or more."
    yield GaugeMetricFamily("motet_aggregation_jobs_over_limit", text, value=over)


def _by(name: str, text: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=(label,))
    for each, count in values.items():
        family.add_metric((each,), count)
    return family
