"""Current speeds of machines, and the jobs that a change affects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from motet.domain.snapshot import Placement
from motet.domain.units import NEVER_US
from motet.estimate.stragglers import speed_at_paces
from motet.sim.replay.slow_machines import PaceChange
from motet.sim.replay.step_progress import StepProgress
from motet.sim.speeds.speed_model import Slowdown

_NEVER = PaceChange(NEVER_US, 0, 1.0)


class MachinePaces:
    """Machines with changing speeds; without changes all have normal speed.

    `next_us`: time of the next change. `passed`: number of past changes. `is_active`: whether there
    are any.
    """

    def __init__(self, changes: Iterator[PaceChange] | None = None) -> None:
        """`changes`: ordered by time."""
        self._changes = changes or iter(())
        self._coming = next(self._changes, _NEVER)
        self.next_us = self._coming.time_us
        self.is_active = self._coming is not _NEVER
        self.passed = 0
        self._slow: dict[int, float] = {}
        self._jobs_on: dict[int, set[int]] = {}
        self._places: dict[int, Placement] = {}

    def change(self) -> list[int]:
        """Apply the next change. Returns the jobs that hold GPUs on the machine, ascending."""
        _, machine, times_as_long = self._coming
        self.passed += 1
        self._slow.pop(machine, None)
        if times_as_long > 1:
            self._slow[machine] = times_as_long
        self._coming = next(self._changes, _NEVER)
        self.next_us = self._coming.time_us
        return sorted(self._jobs_on.get(machine, ()))

    def restore(self, passed: int, placements: Mapping[int, Placement]) -> None:
        """Apply this number of changes and register these placements."""
        while self.passed < passed:
            self.change()
        for job, place in placements.items():
            self.came(job, place)

    # -- placements --------------------------------------------------------------------------------

    def came(self, job: int, place: Placement) -> None:
        """Register the job's placement, replacing any earlier one."""
        if self.is_active:
            self.left(job)
            self._places[job] = place
            for machine in place.machines:
                self._jobs_on.setdefault(machine, set()).add(job)

    def left(self, job: int) -> None:
        """Remove the job's placement."""
        if job in self._places:
            for machine in self._places.pop(job).machines:
                self._jobs_on[machine].discard(job)

    # -- speeds ------------------------------------------------------------------------------------

    def touch(self, place: Placement) -> bool:
        """Whether one of these machines is slow."""
        return bool(self._slow) and not self._slow.keys().isdisjoint(place.machines)

    def slowest(self, place: Placement) -> float:
        """Factor of the computing time on the slowest machine, which determines a gang's speed."""
        return max(self._slow.get(machine, 1.0) for machine in place.machines)

    def times_as_long(self, machine: int) -> float:
        """Factor of the computing time on this machine, relative to normal."""
        return self._slow.get(machine, 1.0)

    def steps_per_s(
        self,
        progress: StepProgress,
        job: int,
        roles: tuple[int, int],
        slowdown: Slowdown,
        place: Placement,
    ) -> float:
        """Steps per second of a job with a work model."""

        def speed(times_as_long: float) -> float:
            computing = slowdown.computing * times_as_long
            return progress.speed(job, *roles, *slowdown._replace(computing=computing))

        times = [self._slow.get(machine, 1.0) for machine in place.machines]
        return speed_at_paces(progress.mode(job), place.counts, times, speed)
