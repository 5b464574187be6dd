"""A period of the live cluster as a simulation: its start, then what users and machines did. Pure.

Times are Unix microseconds, so that policies which decide at multiples of a time do so at the same
moments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.events import (
    Cancelled,
    Drained,
    Event,
    MachineAdded,
    MachineCame,
    MachineLeft,
    PolicyChanged,
    ProgressMeasured,
    QueueLimited,
    Resumed,
    SizeProposed,
    SpeedMeasured,
    Submitted,
    SubtasksMeasured,
    Suspended,
    Updated,
)
from motet.domain.model_profile import SKEW_PROFILES, ModelMeasured
from motet.domain.policy import JobInput
from motet.domain.queues.queue_limits import Queues
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import NEVER_US, exact_seconds, microseconds
from motet.engine.policy_loading.engine_settings import ENGINE_SETTINGS
from motet.engine.ports import Journal
from motet.interfaces.forecasts.draws.past_failures import PastFailures
from motet.interfaces.forecasts.draws.past_starts import PastStarts
from motet.interfaces.forecasts.draws.past_stops import PastStops
from motet.interfaces.forecasts.simulation_start import SimulationStart
from motet.interfaces.forecasts.sizes.sized_trainings import SizedTrainings
from motet.live.master.policy_choice import policy_of
from motet.placement.planners import KnownSkewPlanner, SkewPlanner
from motet.sim.experiment import Experiment
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.workload.interventions import TimedEvent
from motet.sim.workload.job_reports import JobReports, WorkReport
from motet.sim.workload.measured_work import MeasuredJob, MeasuredWork
from motet.sim.workload.workload import Workload


@dataclass(frozen=True)
class PolicyInForce:
    """A policy and its parameters as text."""

    policy: str
    settings: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class ReplayedPeriod:
    """`jobs`: the live numbers of the workload's jobs, in its order. `cluster`: with all machines
    that there ever were. `starts`: how long they take, `stops`: how long stops do.
    `failures`: where jobs fail. `resize_us`: the cost of every resize beside its start."""

    start: SimulationStart
    jobs: tuple[int, ...]
    workload: Workload
    timeline: Sequence[TimedEvent]
    cluster: ClusterSpec
    work_us: Mapping[int, int]
    starts: PastStarts
    in_force: PolicyInForce
    queues: Queues
    resize_us: int
    reports: JobReports | None = None
    stops: PastStops = field(default_factory=PastStops)
    failures: PastFailures = field(default_factory=PastFailures)

    @classmethod
    def of(
        cls,
        start: SimulationStart,
        happened: Sequence[tuple[int, Event]],
        cluster: ClusterSpec,
        queues: Queues,
        users: Mapping[int, str],
        work_us: Mapping[int, int],
        starts: PastStarts,
        in_force: PolicyInForce,
        sized: SizedTrainings | None = None,
        stops: PastStops | None = None,
        failures: PastFailures | None = None,
    ) -> ReplayedPeriod:
        """`happened`: after the start, with its Unix times. `work_us`: by job, after the start,
        without start-ups. `queues`: all, with their limits at the start. `sized`: trainings whose
        size may change; None: all jobs keep their sizes. `stops`: None: they take no time.
        `failures`: None: there are none. Jobs that request more slots than `cluster` has are left
        out."""
        resized = {} if sized is None else sized.jobs
        start = start.with_sizes({number: job.roles for number, job in resized.items()})
        work_us = {**work_us, **{number: _alone_us(job) for number, job in resized.items()}}
        new = {
            event.job: _arriving(at_us, event.columns, resized.get(event.job))
            for at_us, event in happened
            if isinstance(event, Submitted)
        }
        rows = {**start.rows, **new}
        slots = cluster.gpu_count
        too_large = frozenset(number for number, row in rows.items() if row["gpus"] > slots)
        arrived = sorted(start.rows.keys() - too_large)
        arriving = sorted(new.keys() - too_large, key=lambda job: (new[job]["arrival_us"], job))
        jobs = (*arrived, *arriving)
        place_of = {number: place for place, number in enumerate(jobs)}
        chosen = [rows[number] for number in jobs]
        ran_us = [row.get("executed_us", 0) for row in chosen]
        duration_us = [ran + work_us[number] for ran, number in zip(ran_us, jobs, strict=True)]
        workload = _workload(jobs, chosen, duration_us, queues.names, users)
        if resized:
            work = MeasuredWork.of_jobs([resized.get(number) for number in jobs])
            workload = replace(workload, work=work)
        return cls(
            start.without(too_large),
            jobs,
            workload,
            [*_timeline(happened, place_of)],
            cluster,
            work_us,
            starts,
            in_force,
            queues,
            0 if sized is None else sized.lost_us,
            None if sized is None or not resized else _reports(sized, place_of),
            stops or PastStops(),
            failures or PastFailures(),
        )

    @property
    def last_given_us(self) -> int:
        """When the last of what users and machines do happens, without jobs that others hold."""
        arrives_us = self.workload.submit_us if (own := self.workload.arrival_us) is None else own
        known_us = arrives_us[arrives_us < NEVER_US]
        return max([int(known_us.max(initial=0)), *(at_us for at_us, _ in self.timeline)])

    def simulated(
        self, policy: PolicyInForce, changes: Sequence[tuple[int, PolicyInForce]] = ()
    ) -> Outcome:
        """The outcome under a policy, and then under those of `changes`, from these Unix times on.
        Raises UnknownName, BadInput, BrokenPolicy."""
        return self.simulation(policy, changes=changes).run()

    def simulation(
        self,
        policy: PolicyInForce,
        journal: Journal | None = None,
        changes: Sequence[tuple[int, PolicyInForce]] = (),
    ) -> Simulation:
        """The simulation at its start. `changes`: as in `simulated`. Raises UnknownName,
        BadInput."""
        experiment = self.experiment(policy, [each for _, each in changes])
        chosen = ((at_us, PolicyChanged(it.policy, dict(it.settings))) for at_us, it in changes)
        simulation = experiment.simulation(
            self.workload, self.cluster, journal, [*self.timeline, *chosen], self.reports
        )
        place_of = {number: place for place, number in enumerate(self.jobs)}
        keeps_policy = policy == self.in_force
        start = self.start
        if self.reports is not None and not (keeps_policy or _groups_jobs(experiment)):
            start = start.apart()
        start.begin(simulation, place_of, self.work_us, keeps_policy=keeps_policy)
        simulation.take_time_to_start(self.starts.times(self.jobs))
        simulation.take_time_to_stop(self.stops.times(self.jobs), self.stops.finishes(self.jobs))
        if self.stops.lost_us:
            simulation.take_time_to_lose(self.stops.loss_times(self.jobs))
        simulation.take_failures(self.failures.of_places(self.jobs))
        return simulation

    def with_work(self, work_us: Mapping[int, int]) -> ReplayedPeriod:
        """The same jobs with other remaining times."""
        more_us = [work_us[number] - self.work_us[number] for number in self.jobs]
        duration_us = self.workload.duration_us + np.array(more_us, np.int64)
        workload = replace(self.workload, duration_us=duration_us)
        return replace(self, work_us=work_us, workload=workload)

    def experiment(self, policy: PolicyInForce, later: Sequence[PolicyInForce] = ()) -> Experiment:
        """The policy with the live cluster's planner and the measured cost of a resize. `later`:
        policies that follow it."""
        settings = {
            "placement": "count",
            "preemption_cost": exact_seconds(0),  # Starts take their time, see `simulation`.
            "rescale_cost": exact_seconds(self.resize_us),
            **{name: policy.settings.get(name, usual) for name, usual in ENGINE_SETTINGS.items()},
        }
        own = policy_of(policy.policy, policy.settings)
        return Experiment(
            policy.policy,
            settings,
            given=own,
            label=policy.policy,
            queues=self.queues,
            planner=KnownSkewPlanner(SkewPlanner(SKEW_PROFILES)),
            models=SKEW_PROFILES,
            later=[policy_of(each.policy, each.settings) for each in later],
        )


def _groups_jobs(experiment: Experiment) -> bool:
    """Whether the policy may let trainings share machines, as `harmony` does."""
    return JobInput.SUBTASKS in experiment.policy_class.needed_inputs


def _arriving(
    at_us: int, columns: Mapping[str, int], resized: MeasuredJob | None
) -> Mapping[str, int]:
    """Jobs of an array arrive when they are released, and have the place of the first of them."""
    usual = {"queue": 0, "experiment": UNKNOWN, "model": UNKNOWN}
    found = {**usual, **columns, "arrival_us": at_us}
    if resized is not None:
        found["gpus"] = resized.gpus
        for demand in ("cpus", "memory_bytes"):  # The same for each of its slots.
            found[demand] = columns.get(demand, 0) * resized.gpus // columns["gpus"]
    return found


def _alone_us(job: MeasuredJob) -> int:
    """The time that its work takes on its full request."""
    return max(microseconds(job.steps / job.full_speed), 1)


def _reports(sized: SizedTrainings, place_of: Mapping[int, int]) -> JobReports:
    """What trainings reported, by their places."""
    reports: dict[int, list[WorkReport]] = {}
    for number, events in sized.reports.items():
        if (place := place_of.get(number)) is not None:
            reports[place] = [(steps, _renumbered(event, place)) for steps, event in events]
    goals = {place_of[it]: each for it, each in sized.goals.items() if it in place_of}
    data = {place_of[it]: each for it, each in sized.data.items() if it in place_of}
    return JobReports(reports, goals, data)


def _renumbered(event: Event, place: int) -> Event:
    match event:
        case ProgressMeasured() | SpeedMeasured() | SubtasksMeasured() | SizeProposed():
            return replace(event, job=place)
    return event


def _timeline(
    happened: Sequence[tuple[int, Event]], place_of: Mapping[int, int]
) -> Iterator[TimedEvent]:
    for at_us, event in happened:
        match event:
            case Submitted(job, columns) if job in place_of and columns.get("priority"):
                yield at_us, Updated(place_of[job], {"priority": columns["priority"]})
            case Updated(job, columns) if job in place_of:
                yield at_us, Updated(place_of[job], columns)
            case ModelMeasured(job) if job in place_of:
                yield at_us, replace(event, job=place_of[job])
            case Cancelled(job) | Suspended(job) | Resumed(job) if job in place_of:
                yield at_us, type(event)(place_of[job])
            case MachineAdded(machine):
                yield at_us, MachineCame(machine)
            case MachineCame() | Drained() | MachineLeft() | QueueLimited():
                yield at_us, event


def _workload(
    jobs: Sequence[int],
    rows: Sequence[Mapping[str, int]],
    duration_us: Sequence[int],
    queues: Sequence[str],
    users: Mapping[int, str],
) -> Workload:
    def column(name: str) -> Ints:
        return np.array([row.get(name, 0) for row in rows], np.int64)

    experiment = column("experiment")
    experiments = int(experiment.max(initial=UNKNOWN)) + 1
    return Workload(
        ids=tuple(map(str, jobs)),
        submit_us=column("submit_us"),
        duration_us=np.array(duration_us, np.int64),
        gpus=column("gpus"),
        queue=column("queue"),
        queue_names=tuple(queues),
        model=np.full(len(jobs), UNKNOWN, np.int64),
        model_names=(),
        users=tuple(users[number] for number in jobs),
        cpus=column("cpus"),
        memory_bytes=column("memory_bytes"),
        work=None,
        arrival_us=column("arrival_us"),
        experiment=experiment,
        experiment_names=tuple(map(str, range(experiments))),
    )
