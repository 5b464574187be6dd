"""Measurements of jobs and machines that a driver would make, as events."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from motet.domain.arrays import Ints
from motet.domain.events import DataSizes, Event, Goal, MachineMeasured, RemainingMeasured
from motet.domain.units import NEVER_US
from motet.engine.state.cluster_state import ClusterState
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.measurement import Meter, RepeatedReports


class Instruments:
    """Measures jobs that continue after this instant; completed jobs report nothing further."""

    def __init__(
        self,
        state: ClusterState,
        paces: MachinePaces,
        meter: Meter | RepeatedReports | None,
        *,
        has_oracle: bool,
        watches_machines: bool,
    ) -> None:
        """`meter`: of losses and speeds. `has_oracle`: whether remaining times are known."""
        self._state, self._paces, self._meter = state, paces, meter
        self._has_oracle, self._watches_machines = has_oracle, watches_machines

    def read(self, now_us: int) -> list[Event]:
        """Measurements of this instant."""
        found: list[Event] = []
        if self._has_oracle:
            found.append(self._remaining(now_us))
        if self._meter is None and not self._watches_machines:
            return found
        table = self._state.table
        runs = (table.jobs.held_gpus > 0) & (table.column("finish_us") != now_us)
        if self._meter is not None:
            found += self._meter.read(table.jobs.number[runs].tolist(), self._state)
        if self._watches_machines:
            trains = runs & (table.jobs.ready_us < now_us)
            found += self._machines(table.jobs.number[trains].tolist())
        return found

    @property
    def next_us(self) -> int:
        """When the next job proposes a size."""
        if not isinstance(self._meter, RepeatedReports):
            return NEVER_US
        jobs = self._state.table.jobs
        return self._meter.next_us(jobs.number[jobs.held_gpus > 0].tolist())

    def goal(self, job: int) -> Goal | None:
        """The end condition that the user of an arriving job specifies; None if it is
        not measured.
        """
        return None if self._meter is None else self._meter.goal(job)

    def data(self, job: int) -> DataSizes | None:
        """The bytes of an arriving job that reports COMP and COMM; None for another one."""
        return None if self._meter is None else self._meter.data(job)

    def tried(self, job: int) -> list[Event]:
        """Measured speeds of an arriving job."""
        return [] if self._meter is None else self._meter.tried(job)

    def capture(self) -> Mapping[int, int]:
        """The measurements reported so far."""
        return {} if self._meter is None else self._meter.capture()

    def restore(self, captured: Mapping[int, int]) -> None:
        """Continue after these reports."""
        if self._meter is not None:
            self._meter.restore(captured)

    def _remaining(self, now_us: int) -> RemainingMeasured:
        """Oracle measurement: remaining training time of jobs at their present speeds."""
        table = self._state.table
        jobs = table.jobs
        finish_us, work_us = table.column("finish_us"), table.column("work_us")
        left_us = _left_us(now_us, jobs.held_gpus, jobs.ready_us, finish_us, work_us)
        return RemainingMeasured(jobs.number.copy(), left_us)

    def _machines(self, jobs: list[int]) -> list[Event]:
        placements = self._state.placements
        busy = sorted({machine for job in jobs for machine in placements[job].machines})
        return [MachineMeasured(machine, self._paces.times_as_long(machine)) for machine in busy]


@njit(cache=True)
def _left_us(now_us: int, held_gpus: Ints, ready_us: Ints, finish_us: Ints, work_us: Ints) -> Ints:
    """`(jobs,)`: until the end of jobs that run, from when they are ready; the work of others."""
    left_us = np.empty_like(work_us)
    for row in range(len(work_us)):
        if held_gpus[row] > 0:
            left_us[row] = finish_us[row] - max(ready_us[row], now_us)
        else:
            left_us[row] = work_us[row]
    return left_us
