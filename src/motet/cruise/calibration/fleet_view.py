"""The machines available to a job: groups, known costs, and blocks."""

from __future__ import annotations

from dataclasses import dataclass

from motet.cruise.calibration.machine_groups import MachineGroup
from motet.estimate.epoch_cost import Configuration, Fleet


@dataclass(frozen=True)
class FleetView:
    """Usable machines, group by group; every group is a type of the fleet."""

    groups: tuple[MachineGroup, ...]
    fleet: Fleet
    current: Configuration

    @property
    def machines(self) -> list[int]:
        """Machine numbers in the fleet's order."""
        return [machine for group in self.groups for machine in group.machines]

    @property
    def type_of(self) -> dict[int, int]:
        """Every machine's type in the fleet."""
        return {m: number for number, group in enumerate(self.groups) for m in group.machines}
