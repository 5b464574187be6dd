"""Figures of this machine's lender and devices in the form of Prometheus, without a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from motet.interfaces.server.memory.lender_figures import Family, lender_families
from motet.remote_memory.core.device_geometry import PAGE_BYTES
from motet.remote_memory.swap.local_memory import LocalDevice, LocalMemory
from motet.remote_memory.wire.memory_views import DeviceView

_BEGIN = "motet_memory_device_"
_VALUES: dict[str, tuple[str, Callable[[DeviceView], float]]] = {
    "bytes": ("Size of the device.", lambda view: view.size_bytes),
    "remote_bytes": (
        "Pages of the device that lenders have.",
        lambda view: view.remote_pages * PAGE_BYTES,
    ),
    "pending_bytes": (
        "Writes that the disk does not have yet.",
        lambda view: view.pending_pages * PAGE_BYTES,
    ),
    "clients": ("Connections to the device.", lambda view: view.clients),
    "disk_failing": (
        "1 while writes to the disk of the backup fail.",
        lambda view: bool(view.disk_error),
    ),
}
_PARTS: dict[str, tuple[str, str, Callable[[DeviceView], dict[str, float]]]] = {
    "slabs": (
        "state",
        "Slabs of the device by whether a lender has them.",
        lambda view: {"mapped": view.mapped_slabs, "unmapped": view.slabs - view.mapped_slabs},
    ),
    "lenders": (
        "state",
        "Lenders of the device by whether they answer.",
        lambda view: {"up": len(view.lenders) - len(view.away), "away": len(view.away)},
    ),
    "borrowed_slabs": (
        "lender",
        "Slabs of the device by the lender that has them.",
        lambda view: dict(view.lenders),
    ),
}
_COUNTS: dict[str, tuple[str, Callable[[DeviceView], float]]] = {
    "read_remote_pages": ("Pages read from lenders.", lambda view: view.read_remote_pages),
    "read_disk_pages": (
        "Pages read from the disk, or from writes on their way there.",
        lambda view: view.read_local_pages,
    ),
    "written_pages": ("Pages written.", lambda view: view.written_pages),
    "evictions": ("Slabs that the device has left for a lender.", lambda view: view.evictions),
}


class LocalFigures(Collector):
    """Lender and devices at the time of a scrape."""

    def __init__(self, machine: str, ask: Callable[[], LocalMemory]) -> None:
        self._machine, self._ask = machine, ask

    def collect(self) -> Iterable[Family]:
        """See prometheus_client."""
        memory = self._ask()
        if memory.lender is not None:
            yield from lender_families({self._machine: memory.lender})
        yield from device_families(self._machine, memory.devices)


def local_text(machine: str, ask: Callable[[], LocalMemory]) -> str:
    """All figures in the text format."""
    registry = CollectorRegistry()
    registry.register(LocalFigures(machine, ask))
    return generate_latest(registry).decode()


def device_families(machine: str, devices: Sequence[LocalDevice]) -> Iterator[Family]:
    """A device that does not answer has `up` 0, and its swap space."""
    labels = ("machine", "device")
    views = {(machine, each.name): each.view for each in devices if each.view is not None}
    up = GaugeMetricFamily(f"{_BEGIN}up", "1: the device answers.", labels=labels)
    swap = GaugeMetricFamily(f"{_BEGIN}swapped_bytes", "Used swap space on it.", labels=labels)
    for each in devices:
        up.add_metric((machine, each.name), each.view is not None)
        if each.swap is not None:
            swap.add_metric((machine, each.name), each.swap.used_bytes)
    yield up
    yield swap
    for name, (text, value) in _VALUES.items():
        gauge = GaugeMetricFamily(_BEGIN + name, text, labels=labels)
        for place, view in views.items():
            gauge.add_metric(place, value(view))
        yield gauge
    for name, (label, text, parts) in _PARTS.items():
        gauge = GaugeMetricFamily(_BEGIN + name, text, labels=(*labels, label))
        for place, view in views.items():
            for part, number in parts(view).items():
                gauge.add_metric((*place, part), number)
        yield gauge
    for name, (text, value) in _COUNTS.items():
        counter = CounterMetricFamily(_BEGIN + name, text, labels=labels)
        for place, view in views.items():
            counter.add_metric(place, value(view))
        yield counter
