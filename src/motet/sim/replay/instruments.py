"""What a driver would measure of jobs and machines, as events."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from motet.domain.events import Event, Goal, MachineMeasured, RemainingMeasured
from motet.engine.state import ClusterState
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.measurement import Meter


class Instruments:
    """Reads the jobs that run on after this instant: those that are done report nothing more."""

    def __init__(
        self,
        state: ClusterState,
        paces: MachinePaces,
        meter: Meter | None,
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

    def goal(self, job: int) -> Goal | None:
        """What the user of a job that arrives says of its end; None if it is not measured."""
        return None if self._meter is None else self._meter.goal(job)

    def tried(self, job: int) -> list[Event]:
        """Speeds of a job that arrives."""
        return [] if self._meter is None else self._meter.tried(job)

    def capture(self) -> Mapping[int, int]:
        """What has been reported."""
        return {} if self._meter is None else self._meter.capture()

    def restore(self, captured: Mapping[int, int]) -> None:
        """That has been reported."""
        if self._meter is not None:
            self._meter.restore(captured)

    def _remaining(self, now_us: int) -> RemainingMeasured:
        """What an oracle knows: the time that jobs will still train as they do now."""
        table = self._state.table
        jobs = table.jobs
        left_us = table.column("finish_us") - np.maximum(jobs.ready_us, now_us)
        left_us = np.where(jobs.held_gpus > 0, left_us, table.column("work_us"))
        return RemainingMeasured(jobs.number.copy(), left_us)

    def _machines(self, jobs: list[int]) -> list[Event]:
        placements = self._state.placements
        busy = sorted({machine for job in jobs for machine in placements[job].machines})
        return [MachineMeasured(machine, self._paces.times_as_long(machine)) for machine in busy]
