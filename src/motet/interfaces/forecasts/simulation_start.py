"""The state of the live cluster as the start of a simulation. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from motet.domain.actions import Action, Preempt, Start
from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import NEVER_US
from motet.engine.actions.requests import PendingRequests
from motet.engine.capture import CapturedEngine
from motet.engine.measurements.job_measurements import Measurements
from motet.engine.state.captured_state import CapturedState
from motet.engine.state.proposed_sizes import TAKES_PROPOSALS
from motet.engine.state.sharing import SHARED_SET
from motet.engine.step import Engine
from motet.sim.replay.simulation import Simulation

_COUNTS = ("preemptions", "migrations", "rescales")
"""Of the past; a simulation counts from its start."""
_ROLES = ("workers", "servers")
_SIZES = (*_ROLES, *(f"{limit}_{role}" for role in _ROLES for limit in ("min", "max")))


@dataclass(frozen=True, eq=False)
class SimulationStart:
    """The engine of the live cluster at a moment. `recheck_at_us`: as its policy requested.

    `reported`: what elastic jobs have reported, of those that a simulation resizes. `requested`:
    the engine's actions that are not done, `done_us`: by number, when the stop or start of a job
    will be that is carried out. None: a simulation takes all of them to be done: slots of jobs that
    are being stopped are already those of the jobs that get them.
    """

    state: CapturedState
    recheck_at_us: int
    cluster: ClusterSpec
    reported: Measurements | None = None
    requested: PendingRequests = field(default_factory=PendingRequests)
    done_us: Mapping[int, int] | None = None

    @classmethod
    def of(cls, engine: Engine) -> SimulationStart:
        """A copy of the present state."""
        reported = engine.measurements and engine.measurements.copy()
        captured = engine.state.capture()
        recheck_at_us, cluster = engine.recheck_at_us, engine.state.cluster
        return cls(captured, recheck_at_us, cluster, reported, engine.pending)

    def with_actions(self, done_us: Mapping[int, int]) -> SimulationStart:
        """The same, in which these actions are not done yet."""
        return replace(self, done_us=done_us)

    def with_sizes(self, roles: Mapping[int, Mapping[str, int]]) -> SimulationStart:
        """The same with these requests and limits, by number, but for jobs that propose their size;
        all other elastic jobs keep the size that they have, or request, and propose none."""
        columns, suspended = self.state.columns, self.state.suspended
        state = replace(
            self.state,
            columns=_sized(columns, roles),
            suspended={number: _sized_row(number, row, roles) for number, row in suspended.items()},
            has_elastic=bool(roles),
        )
        return replace(self, state=state, reported=self.reported if roles else None)

    @property
    def now_us(self) -> int:
        """The time of the last step of the engine."""
        return self.state.now_us

    @property
    def closed_slots(self) -> int:
        """Slots of machines that take no jobs."""
        return int(self.cluster.gpus[[*self.state.closed_machines]].sum())

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

    def apart(self) -> SimulationStart:
        """The same, but of jobs on the same slots only the first holds them, and the others wait:
        for a policy that knows no jobs which share slots."""
        state, numbers = self.state, self.state.columns["number"]
        sets = state.columns[SHARED_SET]
        _, first = np.unique(sets, return_index=True)
        shares = sets != UNKNOWN
        waits = shares.copy()
        waits[first] = False
        columns = {name: column.copy() for name, column in state.columns.items()}
        for name in ("held_gpus", "held_workers", "held_servers"):
            columns[name][waits] = 0
        columns["running_since_us"][waits], columns["ready_us"][waits] = UNKNOWN, NEVER_US
        columns["partner"][shares] = columns[SHARED_SET][shares] = UNKNOWN
        columns["sharers"][shares] = 1
        waiting = {*numbers[waits].tolist()}
        placements = {job: place for job, place in state.placements.items() if job not in waiting}
        state = replace(state, columns=columns, placements=placements, has_shared=False)
        return replace(self, state=state)

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
        reported = self.reported and self.reported.renumbered(place_of)
        open_holds = {job: (self.now_us, place) for job, place in state.placements.items()}
        simulation.restore(
            replace(
                blank,
                engine=CapturedEngine(state, recheck_at_us, reported, None),
                agenda=(len(state.columns["number"]) + len(state.suspended), 0),
                recorder=replace(
                    blank.recorder, holds=replace(blank.recorder.holds, open=open_holds)
                ),
            )
        )
        simulation.continue_jobs(*self._actions(place_of))

    def _pending(self) -> PendingRequests:
        """The requests that are not done, of jobs whose stops are known."""
        if self.done_us is None:
            return PendingRequests()
        stopping = {job: it for job, it in self.requested.stopping.items() if job in self.done_us}
        return PendingRequests(stopping, self.requested.waiting)

    def _starting(self) -> dict[int, int]:
        """Jobs whose processes are being started, and when that will be done."""
        pending, known = self._pending(), self.done_us or {}
        others = {*pending.stopping, *pending.waiting}
        return {
            job: known[job] for job in self.state.placements.keys() & known if job not in others
        }

    def _actions(
        self, place_of: Mapping[int, int]
    ) -> tuple[list[tuple[int, Action]], PendingRequests]:
        """For a simulation of these jobs: what is carried out, and the pending requests."""
        pending, known = self._pending(), self.done_us or {}
        stops = [
            (known[job], Preempt(place_of[job])) for job in pending.stopping if job in place_of
        ]
        starts = [(at_us, self._start(job, place_of)) for job, at_us in self._starting().items()]
        return [*stops, *starts], PendingRequests(
            {place_of[job]: it for job, it in pending.stopping.items() if job in place_of},
            {
                place_of[job]: action._replace(job=place_of[job])
                for job, action in pending.waiting.items()
            },
        )

    def _start(self, job: int, place_of: Mapping[int, int]) -> Start:
        row = self.rows[job]
        roles = row["held_workers"], row["held_servers"]
        mode = bool(row["is_asynchronous"])
        return Start(place_of[job], self.state.placements[job], *roles, mode)

    def _renumbered(
        self, place_of: Mapping[int, int], work_us: Mapping[int, int], absent: range
    ) -> CapturedState:
        state = self.state
        numbers = state.columns["number"].tolist()
        left_us = np.array([work_us[number] for number in numbers], np.int64)
        unready = [*self._starting(), *self._pending().waiting]
        runs = (state.columns["held_gpus"] > 0) & ~np.isin(state.columns["number"], unready)
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


def _sized(columns: Mapping[str, Ints], roles: Mapping[int, Mapping[str, int]]) -> dict[str, Ints]:
    """Columns of the active jobs with these limits; jobs without any are rigid."""
    found = {name: column.copy() for name, column in columns.items()}
    fixed, runs = ~np.isin(columns["number"], [*roles]), columns["held_gpus"] > 0
    holds = fixed & runs
    found["gpus"][holds] = columns["held_gpus"][holds]
    for role in _ROLES:
        found[role][holds] = columns[f"held_{role}"][holds]
        for limit in ("min", "max"):
            found[f"{limit}_{role}"][fixed] = found[role][fixed]
    found[TAKES_PROPOSALS][fixed] = 0
    for place in np.flatnonzero(~fixed & (columns[TAKES_PROPOSALS] == 0)).tolist():
        for name, value in _request(roles[int(columns["number"][place])]).items():
            found[name][place] = value
    return found


def _request(roles: Mapping[str, int]) -> dict[str, int]:
    """Columns of a request and of its limits."""
    gpus = sum(roles[f"{role}s"] * roles[f"{role}_gpus"] for role in ("worker", "server"))
    return {**{name: roles[name] for name in _SIZES}, "gpus": gpus}


def _sized_row(
    number: int, row: Mapping[str, int], roles: Mapping[int, Mapping[str, int]]
) -> Mapping[str, int]:
    """The same for a suspended job. One that proposes its size has the limits of its proposal."""
    if number not in roles:
        limits = {f"{limit}_{role}": row[role] for role in _ROLES for limit in ("min", "max")}
        return {**row, **limits, TAKES_PROPOSALS: 0}
    return {**row, **({} if row[TAKES_PROPOSALS] else _request(roles[number]))}
