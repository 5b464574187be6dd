"""The state of the live cluster as the start of a simulation. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import NEVER_US
from motet.engine.capture import CapturedEngine
from motet.engine.state.captured_state import CapturedState
from motet.engine.step import Engine
from motet.sim.replay.simulation import Simulation

_COUNTS = ("preemptions", "migrations", "rescales")
"""Of the past; a simulation counts from its start."""


@dataclass(frozen=True, eq=False)
class SimulationStart:
    """The engine of the live cluster at a moment. `recheck_at_us`: as its policy requested.

    Slots of jobs that are being stopped are already those of the jobs that get them. Elastic jobs
    keep the size that they have, or request.
    """

    state: CapturedState
    recheck_at_us: int
    cluster: ClusterSpec

    @classmethod
    def of(cls, engine: Engine) -> SimulationStart:
        """A copy of the present state."""
        captured = engine.state.capture()
        rigid = replace(
            captured,
            columns=_rigid(captured.columns),
            suspended={number: _rigid_row(row) for number, row in captured.suspended.items()},
            has_elastic=False,
        )
        return cls(rigid, engine.recheck_at_us, engine.state.cluster)

    @property
    def now_us(self) -> int:
        """The time of the last step of the engine."""
        return self.state.now_us

    @property
    def rows(self) -> dict[int, Mapping[str, int]]:
        """All columns of the active jobs, suspended ones included, by number."""
        columns = {name: column.tolist() for name, column in self.state.columns.items()}
        names = (*columns,)
        found = (dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True))
        return {**{row["number"]: row for row in found}, **self.state.suspended}

    def without(self, jobs: frozenset[int]) -> SimulationStart:
        """The same without some of the waiting jobs."""
        state = self.state
        is_kept = ~np.isin(state.columns["number"], [*jobs])
        columns = {name: column[is_kept] for name, column in state.columns.items()}
        suspended = {number: row for number, row in state.suspended.items() if number not in jobs}
        return replace(self, state=replace(state, columns=columns, suspended=suspended))

    def begin(
        self,
        simulation: Simulation,
        place_of: Mapping[int, int],
        work_us: Mapping[int, int],
        *,
        keeps_policy: bool,
    ) -> None:
        """Let a simulation continue from here.

        `place_of`: the jobs' numbers in its workload; `work_us`: what is left of the active ones.
        `keeps_policy`: else its policy decides at once. Machines that came later are absent.
        """
        blank = simulation.capture()
        recheck_at_us = self.recheck_at_us if keeps_policy else self.now_us
        later = range(self.cluster.size, simulation.engine.state.cluster.size)
        state = self._renumbered(place_of, work_us, later)
        open_holds = {job: (self.now_us, place) for job, place in state.placements.items()}
        simulation.restore(
            replace(
                blank,
                engine=CapturedEngine(state, recheck_at_us, None, None),
                agenda=(len(state.columns["number"]) + len(state.suspended), 0),
                recorder=replace(
                    blank.recorder, holds=replace(blank.recorder.holds, open=open_holds)
                ),
            )
        )

    def _renumbered(
        self, place_of: Mapping[int, int], work_us: Mapping[int, int], absent: range
    ) -> CapturedState:
        state = self.state
        numbers = state.columns["number"].tolist()
        left_us = np.array([work_us[number] for number in numbers], np.int64)
        runs = state.columns["held_gpus"] > 0
        starts = runs & (state.columns["running_since_us"] == UNKNOWN)
        columns = {
            **state.columns,
            **{name: np.zeros(len(numbers), np.int64) for name in _COUNTS},
            "number": _places(state.columns["number"], place_of),
            "partner": _places(state.columns["partner"], place_of),
            "work_us": left_us,
            "finish_us": np.where(runs, self.now_us + left_us, NEVER_US),
            **{
                name: np.where(starts, self.now_us, state.columns[name])
                for name in ("running_since_us", "ready_us")
            },
        }
        suspended = {
            place_of[number]: {
                **row,
                **dict.fromkeys(_COUNTS, 0),
                "number": place_of[number],
                "work_us": work_us[number],
                "finish_us": NEVER_US,
            }
            for number, row in state.suspended.items()
        }
        placements = {place_of[number]: place for number, place in state.placements.items()}
        return replace(
            state,
            columns=columns,
            suspended=suspended,
            placements=placements,
            closed_machines=(*state.closed_machines, *absent),
        )


def _places(numbers: Ints, place_of: Mapping[int, int]) -> Ints:
    return np.array([place_of.get(each, UNKNOWN) for each in numbers.tolist()], np.int64)


def _rigid(columns: Mapping[str, Ints]) -> dict[str, Ints]:
    found = dict(columns)
    runs = columns["held_gpus"] > 0
    found["gpus"] = np.where(runs, columns["held_gpus"], columns["gpus"])
    for role in ("workers", "servers"):
        found[role] = np.where(runs, columns[f"held_{role}"], columns[role])
        found[f"min_{role}"] = found[f"max_{role}"] = found[role]
    return found


def _rigid_row(row: Mapping[str, int]) -> dict[str, int]:
    roles = ("workers", "servers")
    sizes = {f"{limit}_{role}": row[role] for role in roles for limit in ("min", "max")}
    return {**row, **sizes}
