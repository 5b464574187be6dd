"""What is known about a job's machines: measured while they worked, remembered when they do not."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from motet.cruise.averages import Average, Calibrated, MovingAverages, Queue, calibrated
from motet.cruise.link_queue import measured_queue
from motet.cruise.machine_state import MachineState
from motet.cruise.machine_types import Alike, CandidateMachine, types_of
from motet.estimate.epoch_cost import Configuration, Fleet, MachineType, Profile, exchange_s

_OTHER_LINK = 1.5
_DIFFERENT = 1.3
"""So many times the bytes on the busiest link tell bandwidth and latency apart."""
_MOST_LATENCY = 0.8
"""Of the shortest exchange: more would be trusting few points too far."""


@dataclass(frozen=True)
class FleetView:
    """The machines that may be used, type by type, and what they hold now."""

    types: tuple[Alike, ...]
    fleet: Fleet
    current: Configuration

    @property
    def machines(self) -> list[int]:
        """In the fleet's order."""
        return [machine for alike in self.types for machine in alike.machines]

    @property
    def type_of(self) -> dict[int, int]:
        """Every machine's type."""
        return {m: kind for kind, alike in enumerate(self.types) for m in alike.machines}


class Memory:
    """COMP and bandwidth of machines when they last worked.

    A server's speed is unknown until it has worked: it is taken for one of its kind.
    """

    def __init__(self) -> None:
        self._comp_s: dict[int, Average] = {}
        self._bandwidth: dict[int, float] = {}
        self._exchanges: dict[int, float] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been measured yet."""
        return not self._comp_s

    def view(
        self,
        machines: Sequence[CandidateMachine],
        states: Iterable[MachineState],
        measured: Mapping[int, Average],
    ) -> FleetView:
        """The machines as they were last known; `measured`: COMP of those that work now."""
        comp_s = {**self._comp_s, **measured}
        types = types_of(machines, comp_s)
        kinds = tuple(
            MachineType(alike.name, len(alike.machines), _mean(alike, means_of(comp_s)))
            for alike in types
        )
        rows = tuple((_mean(alike, self._bandwidth),) * len(types) for alike in types)
        held = {state.machine: state for state in states}
        order = [machine for alike in types for machine in alike.machines]
        current = Configuration(
            tuple(len(held[m].data_blocks) if m in held else 0 for m in order),
            tuple(len(held[m].model_blocks) if m in held else 0 for m in order),
        )
        return FleetView(types, Fleet(kinds, rows), current)

    def calibrate(
        self, view: FleetView, profile: Profile, averages: MovingAverages
    ) -> tuple[FleetView, Calibrated]:
        """The view with what its workers measure now, which is remembered.

        What exchanges take beside the bytes that they move is in neither.
        """
        queue = self._queue(view, profile, averages)
        found = calibrated(profile, view.fleet, view.current, view.type_of, averages, queue)
        working = averages.comp_s()
        bandwidths = _by_kind(view, found.fleet.bandwidths.mean(axis=1), working)
        rows = tuple((bandwidth,) * len(view.types) for bandwidth in bandwidths)
        found = replace(found, fleet=Fleet(found.fleet.types, rows))
        self._comp_s |= working
        for bandwidth, alike in zip(bandwidths, view.types, strict=True):
            self._bandwidth |= {m: bandwidth for m in alike.machines if m in working}
        return replace(view, fleet=found.fleet), found

    def forget_exchanges(self) -> None:
        """What they took is no longer true."""
        self._exchanges.clear()

    def _queue(self, view: FleetView, profile: Profile, averages: MovingAverages) -> Queue:
        """See `measured_queue`; the latency, once it is known from several configurations."""
        equal = Fleet(view.fleet.types, ((1.0,) * len(view.types),) * len(view.types))
        is_worker = np.array(view.current.data_blocks) > 0
        link_bytes = float(exchange_s(profile, equal, view.current)[is_worker].mean())
        queue = measured_queue(averages, link_bytes)
        took_s = queue.factor * float(np.mean(list(means_of(averages.exchange_s()).values())))
        self._exchanges[round(link_bytes)] = took_s
        sizes, times_s = np.array([*self._exchanges]), np.array([*self._exchanges.values()])
        is_one_kind = len({alike.kind for alike in view.types}) == 1
        if not is_one_kind or sizes.max() <= _DIFFERENT * sizes.min():
            return queue
        # A line through what exchanges took, over the bytes on the busiest link.
        slope, start_s = np.polyfit(sizes, times_s, 1)
        if slope <= 0:
            return queue
        return replace(queue, latency_s=float(np.clip(start_s, 0.0, _MOST_LATENCY * times_s.min())))


def _by_kind(
    view: FleetView, bandwidths: NDArray[np.float64], working: Container[int]
) -> list[float]:
    """Machines of a kind have equal links unless they differ a lot: what a worker measures
    depends also on the order in which workers come.
    """
    usual: dict[str, float] = {}
    for kind in {alike.kind for alike in view.types}:
        known = [
            bandwidth
            for bandwidth, alike in zip(bandwidths.tolist(), view.types, strict=True)
            for machine in alike.machines
            if alike.kind == kind and machine in working
        ]
        if known:
            usual[kind] = float(np.median(known))
    evened = []
    for bandwidth, alike in zip(bandwidths.tolist(), view.types, strict=True):
        normal = usual.get(alike.kind, bandwidth)
        is_other = not 1 / _OTHER_LINK < bandwidth / normal < _OTHER_LINK
        evened.append(bandwidth if is_other else normal)
    return evened


def means_of(averages: Mapping[int, Average]) -> dict[int, float]:
    """Without their errors."""
    return {machine: average.mean_s for machine, average in averages.items()}


def _mean(alike: Alike, known: Mapping[int, float]) -> float:
    """Of those that are known; where none is, of all machines."""
    values = [known[m] for m in alike.machines if m in known] or list(known.values())
    return float(np.exp(np.mean(np.log(values)))) if values else 1.0
