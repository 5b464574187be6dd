"""A workload under a policy in virtual time.

At one instant: completions, then arrivals, then one decision. Between instants nothing happens, so
the clock jumps from one to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import MotetError
from motet.domain.model_profile import ModelProfile
from motet.domain.policy import Policy
from motet.domain.snapshot import UNKNOWN, Queues
from motet.domain.units import NEVER_US, seconds
from motet.domain.wait import Wait
from motet.engine.machine_monitor import MachineMonitor
from motet.engine.measurements import Measurements
from motet.engine.ports import Journal
from motet.engine.state import ClusterState
from motet.engine.step import Engine
from motet.placement.planner import Planner
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.measurement import Meter
from motet.sim.replay.outcome import Outcome, Recorder
from motet.sim.replay.running_jobs import RunningJobs
from motet.sim.replay.step_progress import StepProgress
from motet.sim.speeds.speed_model import Imbalance, SpeedModel, balanced
from motet.sim.workload.workload import Workload

Progress: TypeAlias = Callable[[int, int], None]
"""Told now and then how many jobs have finished, and how many there are."""

DECISIONS_BETWEEN_REPORTS = 1000
FUTILE_DECISIONS = 100_000
"""After so many without a job that trained, came or went, none ever will."""
_WAITS = tuple(f"waited_{code.key}_us" for code in Wait)
_OWN = {
    "finish_us": NEVER_US,
    "work_us": 0,
    "company": UNKNOWN,
    "overhead_us": 0,
    "preemptions": 0,
    "migrations": 0,
    "rescales": 0,
    "wait_code": 0,
    **dict.fromkeys(_WAITS, 0),
}
_ARRIVING = {
    "queue": "queue",
    "experiment": "experiment",
    "submit_us": "submit_us",
    "model": "model",
    "gpus": "gpus",
    "cpus": "cpus",
    "memory_bytes": "memory_bytes",
    "work_us": "duration_us",
}
"""Columns of a job that arrives, and what they are called in a workload."""


class EndlessSimulation(MotetError):
    """Jobs only take GPUs from each other and never train."""


def _nobody(finished: int, jobs: int) -> None:
    """Nobody wants to know."""


class Simulation:
    """One run. `run` may be called once."""

    def __init__(
        self,
        workload: Workload,
        cluster: ClusterSpec,
        policy: Policy,
        planner: Planner,
        speeds: SpeedModel,
        *,
        queues: Queues | None = None,
        journal: Journal | None = None,
        measurements: Measurements | None = None,
        models: Sequence[ModelProfile] = (),
        imbalance: Imbalance = balanced,
        paces: MachinePaces | None = None,
    ) -> None:
        """`measurements`: with fitters, for a policy that wants estimates. `models`: what it may
        know of the workload's models. `imbalance`: of the jobs' servers. `paces`: of machines that
        are slow at times.
        """
        self._workload = workload
        self._paces = paces or MachinePaces()
        is_watched = self._paces.is_active and policy.wants_machine_speeds
        self._monitor = MachineMonitor(cluster.size) if is_watched else None
        self._tells_durations = policy.knows_durations
        known = queues or Queues()
        self._state = ClusterState(cluster, dict(policy.memory_columns), _OWN, known, models)
        self._progress = StepProgress(workload.work, imbalance)
        self._running = RunningJobs(self._state, speeds, self._progress, self._paces)
        name_of = workload.ids.__getitem__
        self._engine = Engine(
            policy, planner, self._state, journal, name_of, measurements, self._monitor
        )
        book, work = self._engine.measurements, workload.work
        self._meter = (
            None if book is None or work is None else Meter(work, self._progress, book, self._paces)
        )
        self._arriving = np.stack([getattr(workload, name) for name in _ARRIVING.values()], axis=1)
        self._recorder = Recorder(workload, cluster, speeds.together_gpus)
        self._journal = journal
        self._next = 0
        self._recheck_us = NEVER_US
        self._futile = 0

    def run(self, report: Progress = _nobody) -> Outcome:
        """Until no job is left that can ever run. Raises EndlessSimulation."""
        until_report = DECISIONS_BETWEEN_REPORTS
        while (now_us := self._next_instant_us()) < NEVER_US:
            self._advance(now_us)
            self._complete()
            self._arrive()
            self._decide()
            self._check_that_somebody_trains()
            until_report -= 1
            if not until_report:
                report(self._next - len(self._state.table), len(self._workload))
                until_report = DECISIONS_BETWEEN_REPORTS
        return self._recorder.outcome(self._state, self._progress)

    def _check_that_somebody_trains(self) -> None:
        self._futile = 0 if self._running.has_trained else self._futile + 1
        self._running.has_trained = False
        if self._futile <= FUTILE_DECISIONS:
            return
        jobs, now_us = self._state.jobs, self._state.now_us
        if ((jobs.held_gpus > 0) & (jobs.ready_us < now_us)).any():
            self._futile = 0
            return
        raise EndlessSimulation(
            f"{FUTILE_DECISIONS:,} decisions, the last {seconds(now_us):g} s after the first "
            "submission, in which no job trained, came or went: jobs lose their GPUs before they "
            "are restored; lower preemption_cost, or let the policy preempt less often (a larger "
            "promote_knob, quantum_s or lease_s)"
        )

    # -- one instant -------------------------------------------------------------------------------

    def _next_instant_us(self) -> int:
        """Machines that become slow, or fast again, before that are dealt with on the way."""
        next_us = self._next_event_us()
        while self._paces.next_us < next_us < NEVER_US:
            self._change_pace()
            next_us = self._next_event_us()
        return next_us

    def _change_pace(self) -> None:
        """Of a machine: jobs on it run at another speed from now on. Nobody is told."""
        change_us, jobs = self._paces.next_us, self._paces.change()
        if jobs:
            self._advance(change_us)
            self._running.adapt_to_machines(jobs)

    def _next_event_us(self) -> int:
        has_arrivals = self._next < len(self._workload)
        finish = self._state.table.column("finish_us")
        if not len(finish) and not has_arrivals:
            return NEVER_US
        arrival_us = int(self._workload.submit_us[self._next]) if has_arrivals else NEVER_US
        finish_us = int(finish.min()) if len(finish) else NEVER_US
        return min(arrival_us, finish_us, self._recheck_us)

    def _advance(self, now_us: int) -> None:
        passed_us = now_us - self._state.now_us
        table = self._state.table
        if passed_us and len(table):
            table.add_by_code(_WAITS[0], table.column("wait_code"), passed_us)
        self._state.advance(now_us)

    def _complete(self) -> None:
        table = self._state.table
        done = table.column("finish_us") == self._state.now_us
        for number in sorted(table.jobs.number[done].tolist()):
            self._futile = 0
            self._running.finished(number)
            self._recorder.finished(number, self._state)
            if self._journal is not None:
                overhead_us = int(table.column("overhead_us")[table.row_of(number)])
                self._journal.finished(self._state.now_us, number, overhead_us)
            self._engine.finished(number)

    def _arrive(self) -> None:
        jobs, now_us = self._workload, self._state.now_us
        while self._next < len(jobs) and jobs.submit_us[self._next] == now_us:
            number = self._next
            known = dict(zip(_ARRIVING, self._arriving[number].tolist(), strict=True))
            self._state.submitted({"number": number, **known, **self._progress.arrived(number)})
            if self._meter is not None and number in self._progress:
                self._meter.arrived(number)
            self._next += 1
            self._futile = 0

    def _decide(self) -> None:
        if self._tells_durations:
            self._measure()
        if self._meter is not None:
            self._meter.read(self._state)
        if self._monitor is not None:
            self._paces.measure(self._state, self._monitor)
        decision, actions = self._engine.decide()
        for action in actions:
            self._running.carry_out(action)
        if self._state.has_shared:
            self._running.adapt_to_company()
        table = self._state.table
        table.column("wait_code")[:] = decision.reasons.code
        self._recheck_us = decision.recheck_at_us
        self._recorder.decided(self._state, decision, actions)

    def _measure(self) -> None:
        """What an oracle knows of the jobs: the time that they will still train as they do now."""
        table, now_us = self._state.table, self._state.now_us
        jobs = table.jobs
        left_us = table.column("finish_us") - np.maximum(jobs.ready_us, now_us)
        jobs.remaining_us[:] = np.where(jobs.held_gpus > 0, left_us, table.column("work_us"))
