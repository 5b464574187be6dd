"""Costs of machines: measured for working machines, remembered for the others."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from motet.cruise.calibration.averages import Average, MovingAverages, means_of
from motet.cruise.calibration.calibrated_fleet import CalibratedFleet, calibrate_fleet
from motet.cruise.calibration.fleet_view import FleetView
from motet.cruise.calibration.link_queue import LinkQueue, measured_queue
from motet.cruise.calibration.machine_groups import CandidateMachine, MachineGroup, group_machines
from motet.cruise.machine_state import MachineState
from motet.estimate.epoch_cost import Configuration, Fleet, MachineType, Profile, exchange_s

_OTHER_LINK = 1.5
"""A bandwidth that differs from that of its kind by this factor is a property of the machines."""
_DIFFERENT_BYTES = 1.3
"""Ratio of bytes on the busiest link from which latency and bandwidth can be separated."""
_MOST_LATENCY = 0.8
"""Fraction of the shortest exchange; few measured points do not support more."""


class FleetMemory:
    """COMP and bandwidth of machines when they last worked.

    A machine that has only served gets the values of its kind.
    """

    def __init__(self) -> None:
        self._comp_s: dict[int, Average] = {}
        self._bandwidth: dict[int, float] = {}
        self._exchange_s_by_bytes: dict[int, float] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there are no measurements yet."""
        return not self._comp_s

    def view(
        self,
        machines: Sequence[CandidateMachine],
        states: Iterable[MachineState],
        measured: Mapping[int, Average],
    ) -> FleetView:
        """The machines with their last known costs; `measured`: COMP of the working machines."""
        comp_s = {**self._comp_s, **measured}
        groups = group_machines(machines, comp_s)
        kinds = tuple(
            MachineType(group.name, len(group.machines), _typical(group, means_of(comp_s)))
            for group in groups
        )
        rows = tuple((_typical(group, self._bandwidth),) * len(groups) for group in groups)
        return FleetView(groups, Fleet(kinds, rows), _held_by(groups, states))

    def calibrate(
        self, view: FleetView, profile: Profile, averages: MovingAverages
    ) -> tuple[FleetView, CalibratedFleet]:
        """The view with its workers' present measurements, which are remembered.

        Neither result includes the latency of exchanges.
        """
        queue = self._queue(view, profile, averages)
        found = calibrate_fleet(profile, view.fleet, view.current, view.type_of, averages, queue)
        working = averages.comp_s()
        bandwidths = _evened_by_kind(view, found.fleet.bandwidths.mean(axis=1).tolist(), working)
        rows = tuple((bandwidth,) * len(view.groups) for bandwidth in bandwidths)
        found = replace(found, fleet=Fleet(found.fleet.types, rows))
        self._comp_s |= working
        for bandwidth, group in zip(bandwidths, view.groups, strict=True):
            self._bandwidth |= {m: bandwidth for m in group.machines if m in working}
        return replace(view, fleet=found.fleet), found

    def forget_exchanges(self) -> None:
        """Drop the outdated exchanges of earlier configurations."""
        self._exchange_s_by_bytes.clear()

    def _queue(self, view: FleetView, profile: Profile, averages: MovingAverages) -> LinkQueue:
        """See `measured_queue`. The latency requires measurements of several configurations."""
        link_bytes = _bytes_on_busiest_link(view, profile)
        queue = measured_queue(averages, link_bytes)
        took_s = queue.factor * float(np.mean(list(means_of(averages.exchange_s()).values())))
        self._exchange_s_by_bytes[round(link_bytes)] = took_s
        is_one_kind = len({group.kind for group in view.groups}) == 1
        latency_s = _latency_s(self._exchange_s_by_bytes) if is_one_kind else None
        return queue if latency_s is None else replace(queue, latency_s=latency_s)


def _held_by(groups: Iterable[MachineGroup], states: Iterable[MachineState]) -> Configuration:
    """The blocks of every machine, in the order of the groups."""
    held = {state.machine: (len(state.data_blocks), len(state.model_blocks)) for state in states}
    counts = [held.get(machine, (0, 0)) for group in groups for machine in group.machines]
    return Configuration(tuple(data for data, _ in counts), tuple(model for _, model in counts))


def _bytes_on_busiest_link(view: FleetView, profile: Profile) -> float:
    """Mean over workers of the bytes per mini-batch on the busiest link of each."""
    types = len(view.fleet.types)
    bytes_as_seconds = Fleet(view.fleet.types, ((1.0,) * types,) * types)
    is_worker = np.array(view.current.data_blocks) > 0
    return float(exchange_s(profile, bytes_as_seconds, view.current)[is_worker].mean())


def _latency_s(exchange_s_by_bytes: Mapping[int, float]) -> float | None:
    """Intercept of a line through the exchange times over their bytes; None for too few points."""
    sizes = np.array([*exchange_s_by_bytes])
    times_s = np.array([*exchange_s_by_bytes.values()])
    if sizes.max() <= _DIFFERENT_BYTES * sizes.min():
        return None
    slope, start_s = np.polyfit(sizes, times_s, 1)
    if slope <= 0:
        return None
    return float(np.clip(start_s, 0.0, _MOST_LATENCY * times_s.min()))


def _evened_by_kind(
    view: FleetView, bandwidths: Sequence[float], working: Container[int]
) -> list[float]:
    """Median bandwidth of each group's kind, unless the group's own differs significantly.

    Measurements also depend on the order in which servers serve workers, so smaller differences
    between machines of a kind are noise.
    """
    usual: dict[str, float] = {}
    for kind in {group.kind for group in view.groups}:
        known = [
            bandwidth
            for bandwidth, group in zip(bandwidths, view.groups, strict=True)
            for machine in group.machines
            if group.kind == kind and machine in working
        ]
        if known:
            usual[kind] = float(np.median(known))
    evened = []
    for bandwidth, group in zip(bandwidths, view.groups, strict=True):
        normal = usual.get(group.kind, bandwidth)
        is_other = not 1 / _OTHER_LINK < bandwidth / normal < _OTHER_LINK
        evened.append(bandwidth if is_other else normal)
    return evened


def _typical(group: MachineGroup, known: Mapping[int, float]) -> float:
    """Geometric mean of the group's known values; without one, of all machines' values."""
    values = [known[m] for m in group.machines if m in known] or list(known.values())
    return float(np.exp(np.mean(np.log(values)))) if values else 1.0
