"""What is known about a job's machines: measured while they worked, remembered when they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from motet.cruise.averages import Average, Calibrated, MovingAverages, calibrated
from motet.cruise.machine_types import Alike, Machine, types_of
from motet.cruise.plan import Holding
from motet.estimate.epoch_cost import Configuration, Fleet, MachineType, Profile


@dataclass(frozen=True)
class FleetView:
    """The machines that may be used, type by type, and what they hold now."""

    types: tuple[Alike, ...]
    fleet: Fleet
    current: Configuration

    @property
    def names(self) -> list[str]:
        """In the fleet's order."""
        return [name for alike in self.types for name in alike.machines]

    @property
    def type_of(self) -> dict[str, int]:
        """Every machine's type."""
        return {name: kind for kind, alike in enumerate(self.types) for name in alike.machines}


class Memory:
    """COMP and bandwidth of machines when they last worked.

    A server's speed is unknown until it has worked: it is taken for one of its kind.
    """

    def __init__(self) -> None:
        self._comp_s: dict[str, Average] = {}
        self._bandwidth: dict[str, float] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been measured yet."""
        return not self._comp_s

    def view(
        self,
        machines: Sequence[Machine],
        holdings: Iterable[Holding],
        measured: Mapping[str, Average],
    ) -> FleetView:
        """The machines as they were last known; `measured`: COMP of those that work now."""
        comp_s = {**self._comp_s, **measured}
        types = types_of(machines, comp_s)
        kinds = tuple(
            MachineType(alike.name, len(alike.machines), _mean(alike, means_of(comp_s)))
            for alike in types
        )
        rows = tuple((_mean(alike, self._bandwidth),) * len(types) for alike in types)
        held = {holding.machine: holding for holding in holdings}
        names = [name for alike in types for name in alike.machines]
        current = Configuration(
            tuple(len(held[name].data_blocks) if name in held else 0 for name in names),
            tuple(len(held[name].model_blocks) if name in held else 0 for name in names),
        )
        return FleetView(types, Fleet(kinds, rows), current)

    def calibrate(
        self, view: FleetView, profile: Profile, averages: MovingAverages
    ) -> tuple[FleetView, Calibrated]:
        """The view with what its workers measure now, which is remembered."""
        found = calibrated(profile, view.fleet, view.current, view.type_of, averages)
        self._comp_s |= averages.comp_s()
        working = averages.comp_s().keys()
        for kind, alike in enumerate(view.types):
            bandwidth = float(found.fleet.bandwidths[kind].mean())
            self._bandwidth |= {name: bandwidth for name in alike.machines if name in working}
        return replace(view, fleet=found.fleet), found


def means_of(averages: Mapping[str, Average]) -> dict[str, float]:
    """Without their errors."""
    return {name: average.mean_s for name, average in averages.items()}


def _mean(alike: Alike, known: Mapping[str, float]) -> float:
    """Of those that are known; where none is, of all machines."""
    values = [known[name] for name in alike.machines if name in known] or list(known.values())
    return float(np.exp(np.mean(np.log(values)))) if values else 1.0
