"""Figures of lenders in the form of Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from motet.remote_memory.wire.memory_views import LenderView

Family: TypeAlias = GaugeMetricFamily | CounterMetricFamily


class LenderFigures(Collector):
    """One lender at the time of a scrape."""

    def __init__(self, machine: str, view: Callable[[], LenderView]) -> None:
        self._machine, self._view = machine, view

    def collect(self) -> Iterable[Family]:
        """See prometheus_client."""
        return lender_families({self._machine: self._view()})


def lender_families(views: Mapping[str, LenderView]) -> Iterable[Family]:
    """`views`: by machine."""
    slabs = GaugeMetricFamily(
        "motet_memory_slabs", "Slabs of lenders.", labels=("machine", "state")
    )
    for machine, view in views.items():
        slabs.add_metric((machine, "free"), view.free_slabs)
        slabs.add_metric((machine, "lent"), view.mapped_slabs - view.evicting_slabs)
        slabs.add_metric((machine, "evicting"), view.evicting_slabs)
    yield slabs
    gauges = {
        "slab_bytes": "Size of a slab.",
        "total_bytes": "Memory of the machine or of its control group.",
        "used_bytes": "Memory that everything but lending uses, as a moving average.",
        "requested_bytes": "Memory that jobs have requested and do not use yet.",
        "head_room_bytes": "Memory that stays free.",
    }
    for name, text in gauges.items():
        gauge = GaugeMetricFamily(f"motet_memory_{name}", text, labels=("machine",))
        for machine, view in views.items():
            gauge.add_metric((machine,), getattr(view, name))
        yield gauge
    counters = {
        "evicted": "Slabs that borrowers have left because the machine needed them.",
        "revoked": "Slabs that were taken from borrowers that did not answer.",
    }
    for name, text in counters.items():
        counter = CounterMetricFamily(f"motet_memory_{name}_slabs", text, labels=("machine",))
        for machine, view in views.items():
            counter.add_metric((machine,), getattr(view, name))
        yield counter
