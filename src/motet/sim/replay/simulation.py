"""A workload under a policy in virtual time.

At one instant: completions, then arrivals and interventions, then machine events, then one
decision. The clock jumps from instant to instant.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TypeAlias

from motet.domain.actions import Action, Preempt
from motet.domain.arrays import Floats
from motet.domain.cluster import ClusterSpec
from motet.domain.events import (
    Cancelled,
    Delayed,
    Event,
    Finished,
    MachineLeft,
    Resumed,
    Stopped,
    Submitted,
    Suspended,
    Tick,
    Updated,
)
from motet.domain.model_profile import ModelProfile
from motet.domain.policy import Policy
from motet.domain.snapshot import Queues
from motet.domain.units import NEVER_US
from motet.domain.wait import Wait
from motet.engine.actions.preemption_limits import PreemptionLimits
from motet.engine.actions.requests import PendingRequests
from motet.engine.measurements.job_measurements import Measurements
from motet.engine.measurements.machine_monitor import MachineMonitor
from motet.engine.ports import Journal
from motet.engine.state.barred_jobs import are_all_barred, barred_jobs
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import NO_LIMITS, Engine
from motet.placement.planner import Planner
from motet.sim.replay.agenda import Agenda, Completions
from motet.sim.replay.attempts.failures import FailurePoint, Failures
from motet.sim.replay.attempts.start_ups import (
    FinishTest,
    LossTime,
    StartUps,
    StartUpTime,
    StopTime,
)
from motet.sim.replay.captured import CapturedSimulation
from motet.sim.replay.instruments import Instruments
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.measurement import Meter, RepeatedReports
from motet.sim.replay.outcome import Outcome, Recorder
from motet.sim.replay.progress_watch import ProgressWatch
from motet.sim.replay.running_jobs import DRIVER_COLUMNS, RunningJobs
from motet.sim.replay.step_progress import StepProgress
from motet.sim.speeds.speed_model import Imbalance, SpeedModel, balanced
from motet.sim.workload.interventions import TimedEvent
from motet.sim.workload.job_reports import JobReports
from motet.sim.workload.workload import Workload

ProgressCallback: TypeAlias = Callable[[int, int], None]
"""Called occasionally with the number of finished jobs and the number of all jobs."""

DECISIONS_BETWEEN_REPORTS = 1000

_TICK = Tick()


def _ignore_progress(finished: int, jobs: int) -> None:
    """Progress callback that does nothing."""


class Simulation:
    """One run. `run` may be called again after it stopped at a given time."""

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
        timeline: Sequence[TimedEvent] = (),
        limits: PreemptionLimits = NO_LIMITS,
        subtask_errors: Floats | None = None,
        reports: JobReports | None = None,
        later: Sequence[Policy] = (),
    ) -> None:
        """`measurements`: with fitters, for a policy that requires estimates. `models`: profiles
        that the policy may use. `imbalance`: of the jobs' servers. `paces`: of machines that are
        slow at times. `timeline`: machine events, ordered by time. `limits`: see `Engine`.
        `subtask_errors`: see `Meter`. `reports`: what jobs reported once, instead of measurements.
        `later`: policies that the timeline puts in force.
        """
        self._paces, policies = paces or MachinePaces(), (policy, *later)
        is_watched = self._paces.is_active and any(it.wants_machine_speeds for it in policies)
        monitor = MachineMonitor(cluster.size) if is_watched else None
        known = queues or Queues()
        state = ClusterState(cluster, dict(policy.memory_columns), DRIVER_COLUMNS, known, models)
        self._state = state
        self._progress = StepProgress(workload.work, imbalance)
        self._starts = StartUps()
        self._completions, self._failures = Completions(state), Failures()
        self._running = RunningJobs(
            state,
            speeds,
            self._progress,
            self._paces,
            self._starts,
            self._completions,
            self._failures,
            workload.duration_us,
        )
        name_of = workload.ids.__getitem__
        helpers = measurements, monitor, limits
        self.engine = Engine(policy, planner, state, journal, name_of, *helpers)
        work = workload.work
        meter: Meter | RepeatedReports | None = None
        if reports is not None:
            meter = RepeatedReports(reports, self._progress)
        elif work is not None and any(each.wants_estimates for each in policies):
            meter = Meter(work, self._progress, self._paces, subtask_errors)
        self._recorder = Recorder(workload, cluster, speeds.together_gpus)
        oracle = any(each.knows_durations for each in policies)
        self._instruments = Instruments(
            state, self._paces, meter, has_oracle=oracle, watches_machines=is_watched
        )
        self._agenda = Agenda(workload, timeline, with_durations=oracle)
        self._watch = ProgressWatch(policy, state)

    def run(self, report: ProgressCallback = _ignore_progress, until_us: int = NEVER_US) -> Outcome:
        """Run until no job can make progress, or until no event remains before the given time.

        Raises EndlessSimulation.
        """
        until_report = DECISIONS_BETWEEN_REPORTS
        while (now_us := self._next_instant_us(until_us)) < until_us:
            self._process_instant(now_us)
            self._watch.decided(has_trained=self._running.has_trained)
            self._running.has_trained = False
            until_report -= 1
            if not until_report:
                report(self._agenda.arrived - len(self._state.table), self._agenda.job_count)
                until_report = DECISIONS_BETWEEN_REPORTS
        return self._recorder.outcome(self._state, self._progress)

    @property
    def barred(self) -> Mapping[int, Wait]:
        """Waiting jobs that can never start, with the reason, as queues and machines are now."""
        return barred_jobs(self._state, keeps_requests=self.engine.policy.keeps_requests)

    def release(self, at_us: int, columns: Mapping[str, int]) -> None:
        """Let the next of the jobs that the workload never lets arrive do so at a time, not before
        the present instant. `columns`: `submit_us` and `priority`, where they differ."""
        self._agenda.release(at_us, columns)

    def take_time_to_start(self, time_us: StartUpTime) -> None:
        """From now on a start takes this time, in which its job holds its slots without attaining
        service. Starts that are not done belong to no capture."""
        self._starts.take(time_us)

    def take_time_to_stop(self, time_us: StopTime, finishes: FinishTest) -> None:
        """From now on a preemption takes this time, in which its job holds its slots without making
        progress; a job that `finishes` with what is left of its work has completed then."""
        self._starts.take_stops(time_us, finishes)

    def take_time_to_lose(self, time_us: LossTime) -> None:
        """From now on a job that loses a machine holds its slots for this time, and gets others
        only then."""
        self._starts.take_losses(time_us)

    def take_failures(self, points: Mapping[int, Sequence[FailurePoint]]) -> None:
        """From now on jobs fail at these points of their work, by number: they keep their place in
        line, and wait for a further attempt. They belong to no capture."""
        self._running.fail_at(points)

    # -- from instant to instant -------------------------------------------------------------------

    def _next_instant_us(self, until_us: int) -> int:
        """The next instant; applies changes of machine speeds before it."""
        next_us = self._next_event_us()
        while next_us < NEVER_US and self._paces.next_us < min(next_us, until_us):
            self._change_pace()
            next_us = self._next_event_us()
        return next_us

    def _change_pace(self) -> None:
        """Apply a change of a machine's speed to its jobs; it triggers no decision."""
        change_us, jobs = self._paces.next_us, self._paces.change()
        if jobs:
            self._state.advance(change_us)
            self.engine.step(change_us, self._running.adapt_to_machines(jobs))

    def _next_event_us(self) -> int:
        if not (len(self._state.table) or self._agenda.has_arrivals or self._can_resume):
            return NEVER_US
        next_us = min(self._agenda.next_us, self._completions.next_us, self._starts.next_us)
        next_us = min(next_us, self._failures.next_us)
        if next_us == NEVER_US and self._is_over:
            return NEVER_US
        return min(next_us, self.engine.recheck_at_us, self._instruments.next_us)

    @property
    def _is_over(self) -> bool:
        """Whether no decision lets a job start, where nothing else happens any more."""
        has_asked = self.engine.recheck_at_us < NEVER_US
        if not has_asked or self._state.placements:
            return False
        return are_all_barred(self._state, keeps_requests=self.engine.policy.keeps_requests)

    @property
    def _can_resume(self) -> bool:
        return bool(self._state.suspended) and self._agenda.has_timeline

    # -- one instant -------------------------------------------------------------------------------

    def _process_instant(self, now_us: int) -> None:
        """Process all events of an instant, then one decision, whose actions take no time.

        The state advances before the step, as measurements and the records of jobs that leave
        need the accounts of this instant.
        """
        self._state.advance(now_us)
        events = self._instruments.read(now_us)
        for number, failure in self._failures.due(now_us).items():
            events += self._failure(number, failure.delay_us)
        done, arrived = self._completions.take(now_us), self._agenda.arrivals(now_us)
        events += self._executed(self._starts.due(now_us))
        events += [self._completion(number) for number in done]
        for number in arrived:
            events += self._submission(number)
        for event in self._agenda.timeline(now_us):
            if self._has_effect(event, done, arrived):
                events += self._intervention(event)
        if now_us == self.engine.recheck_at_us:
            events.append(_TICK)
        actions = self.engine.step(now_us, events)
        decision, changes = self.engine.decision, self.engine.changes
        self._running.arrived(arrived)
        self._running.decided(changes)
        self._carry_out(now_us, actions)
        while self._state.has_shared and (changed := self._running.adapt_to_partners()):
            self._carry_out(now_us, self.engine.step(now_us, changed))
        if decision is not None:
            self._recorder.decided(self._state, decision, changes)

    def _carry_out(self, now_us: int, actions: list[Action]) -> None:
        """Carry out actions, and those for which they make room; starts that take time later."""
        while actions := self._starts.ready(now_us, actions):
            actions = self.engine.step(now_us, self._executed(actions))

    def _executed(self, actions: list[Action]) -> list[Event]:
        """The results of actions, in their order."""
        return [
            self._finish_instead(action.job)
            if isinstance(action, Preempt) and self._finishes(action.job)
            else self._running.carried_out(action)
            for action in actions
        ]

    def _finishes(self, job: int) -> bool:
        """Whether a job completes that was to be preempted; one that has left does not."""
        table = self._state.table
        if job not in table:
            return False
        return self._starts.finishes(job, int(table.column("work_us")[table.row_of(job)]))

    def _finish_instead(self, job: int) -> Event:
        """The job was not preempted after all."""
        table = self._state.table
        table.column("preemptions")[table.row_of(job)] -= 1
        return self._completion(job)

    def _completion(self, number: int) -> Event:
        self._watch.event()
        self._running.left(number)
        self._recorder.finished(number, self._state)
        table = self._state.table
        return Finished(number, int(table.column("overhead_us")[table.row_of(number)]))

    def _failure(self, number: int, delay_us: int) -> list[Event]:
        self._watch.event()
        self._stop(number)
        delay = [Delayed(number, self._state.now_us + delay_us)] if delay_us else []
        return [Stopped(number), *delay]

    def _stop(self, number: int) -> None:
        """A job loses its slots without a decision."""
        self._running.stop(number)
        self._starts.withdraw([number])
        self._recorder.stopped(number, self._state)

    def _loses(self, number: int) -> bool:
        """A job has lost a machine; returns whether it holds its slots for some time yet."""
        if not self._starts.lost(number):
            return False
        self._running.stop(number)
        self._recorder.stopped(number, self._state)
        return True

    def _submission(self, number: int) -> list[Event]:
        self._watch.event()
        columns = self._agenda.submitted(number) | self._progress.arrived(number)
        return [
            Submitted(
                number, columns, self._instruments.goal(number), self._instruments.data(number)
            ),
            *self._instruments.tried(number),
        ]

    def _has_effect(self, event: Event, done: Container[int], arrived: Container[int]) -> bool:
        """Whether an intervention applies; on ended or suspended jobs it may have no effect."""
        state = self._state
        match event:
            case Suspended(job):
                return (job in state.table or job in arrived) and job not in done
            case Resumed(job):
                return job in state.suspended
            case Cancelled(job) | Updated(job):
                return (state.is_active(job) or job in arrived) and job not in done
            case _:
                return True

    def _intervention(self, event: Event) -> list[Event]:
        """Apply an intervention or machine event; jobs that lose their processes stop
        immediately.
        """
        self._watch.event()
        state, stops = self._state, list[int]()
        match event:
            case Cancelled(job) | Suspended(job):
                stops = [job] if job in state.placements else []
            case MachineLeft(machine):
                stops = [job for job in state.on_machine(machine) if not self._loses(job)]
        for number in stops:
            self._stop(number)
        if isinstance(event, Cancelled):
            self._recorder.cancelled(event.job, state)
            self._running.left(event.job)
        return [event, *map(Stopped, stops)]

    # -- capture and restore -----------------------------------------------------------------------

    def capture(self) -> CapturedSimulation:
        """The complete state between two instants, from which another simulation can continue."""
        return CapturedSimulation(
            self.engine.capture(),
            self._agenda.capture(),
            self._paces.passed,
            self._progress.capture(),
            self._recorder.capture(),
            self._instruments.capture(),
        )

    def restore(self, captured: CapturedSimulation) -> None:
        """Continue from the captured state of a simulation of the same workload and cluster.

        Call this before the first `run`. The policy may differ; its planner starts without history.
        """
        self.engine.restore(captured.engine)
        self._agenda.restore(captured.agenda)
        self._progress.restore(captured.progress)
        self._recorder.restore(captured.recorder)
        self._instruments.restore(captured.instruments)
        self._completions.restore()
        self._paces.restore(captured.pace_changes, self._state.placements)

    def continue_jobs(
        self, actions: Iterable[tuple[int, Action]], pending: PendingRequests
    ) -> None:
        """After `restore` from what another driver left: jobs with a work model begin their work
        here, those that hold slots at once. `actions`: starts and stops that are carried out, with
        the times at which they are done; `pending`: of the engine."""
        self.engine.continue_with(pending)
        self._starts.continue_with(actions)
        state = self._state
        for number in (*state.jobs.number.tolist(), *state.suspended):
            self._progress.arrived(number)
        if events := self._running.adapt_to_slots():
            self.engine.step(state.now_us, events)
