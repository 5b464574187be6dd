"""Figures of the memory that a cluster lends, for /metrics."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from motet.interfaces.server.memory.documents import slabs_by_job
from motet.interfaces.server.memory.lender_figures import Family, lender_families
from motet.live.lent_memory.cluster_memory import ClusterMemory


class MemoryMetrics(Collector):
    """The lenders as they were a few seconds before a scrape."""

    def __init__(self, memory: ClusterMemory) -> None:
        self._memory = memory

    def collect(self) -> Iterable[Family]:
        """See prometheus_client. Jobs are counted, not named: there may be many."""
        lenders = self._memory.status().lenders
        views = {each.machine: each.view for each in lenders if each.view is not None}
        states = GaugeMetricFamily(
            "motet_memory_lenders", "Lenders by whether they answer.", labels=("state",)
        )
        states.add_metric(("up",), len(views))
        states.add_metric(("away",), len(lenders) - len(views))
        yield states
        jobs = {name for each in lenders for name in slabs_by_job(each)}
        text = "Attempts of jobs that have slabs."
        yield GaugeMetricFamily("motet_memory_borrowing_jobs", text, value=len(jobs))
        yield from lender_families(views)
