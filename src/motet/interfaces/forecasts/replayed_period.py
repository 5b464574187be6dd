"""A period of the live cluster as a simulation: its start, then what users and machines did. Pure.

Times are Unix microseconds, so that policies which decide at multiples of a time do so at the same
moments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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
    QueueLimited,
    Resumed,
    Submitted,
    Suspended,
    Updated,
)
from motet.domain.queues.queue_limits import Queues
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import exact_seconds
from motet.engine.policy_loading.engine_settings import ENGINE_SETTINGS
from motet.engine.ports import Journal
from motet.interfaces.forecasts.simulation_start import SimulationStart
from motet.live.master.policy_choice import policy_of
from motet.sim.experiment import Experiment
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Simulation
from motet.sim.workload.interventions import TimedEvent
from motet.sim.workload.workload import Workload


@dataclass(frozen=True)
class PolicyInForce:
    """A policy and its parameters as text."""

    policy: str
    settings: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class ReplayedPeriod:
    """`jobs`: the live numbers of the workload's jobs, in its order. `cluster`: with all machines
    that there ever were. `restart_us`: the cost of every further start of a job."""

    start: SimulationStart
    jobs: tuple[int, ...]
    workload: Workload
    timeline: Sequence[TimedEvent]
    cluster: ClusterSpec
    work_us: Mapping[int, int]
    restart_us: int
    in_force: PolicyInForce
    queues: Queues

    @classmethod
    def of(
        cls,
        start: SimulationStart,
        happened: Sequence[tuple[int, Event]],
        cluster: ClusterSpec,
        queues: Queues,
        users: Mapping[int, str],
        work_us: Mapping[int, int],
        restart_us: int,
        in_force: PolicyInForce,
    ) -> ReplayedPeriod:
        """`happened`: after the start, with its Unix times. `work_us`: by job, after the start.
        `queues`: all, with
        their limits at the start. Jobs that request more slots than `cluster` has are left out."""
        new = {
            event.job: _arriving(at_us, event.columns)
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
        return cls(
            start.without(too_large),
            jobs,
            workload,
            [*_timeline(happened, place_of)],
            cluster,
            work_us,
            restart_us,
            in_force,
            queues,
        )

    def simulated(self, policy: PolicyInForce) -> Outcome:
        """The outcome under a policy. Raises UnknownName, BadInput, BrokenPolicy."""
        return self.simulation(policy).run()

    def simulation(self, policy: PolicyInForce, journal: Journal | None = None) -> Simulation:
        """The simulation at its start. Raises UnknownName, BadInput."""
        experiment = self.experiment(policy)
        simulation = experiment.simulation(self.workload, self.cluster, journal, self.timeline)
        place_of = {number: place for place, number in enumerate(self.jobs)}
        keeps_policy = policy == self.in_force
        self.start.begin(simulation, place_of, self.work_us, keeps_policy=keeps_policy)
        return simulation

    def with_work(self, work_us: Mapping[int, int]) -> ReplayedPeriod:
        """The same jobs with other remaining times."""
        more_us = [work_us[number] - self.work_us[number] for number in self.jobs]
        duration_us = self.workload.duration_us + np.array(more_us, np.int64)
        workload = replace(self.workload, duration_us=duration_us)
        return replace(self, work_us=work_us, workload=workload)

    def experiment(self, policy: PolicyInForce) -> Experiment:
        """The policy with the live cluster's planner and the measured cost of a restart."""
        settings = {
            "placement": "count",
            "preemption_cost": exact_seconds(self.restart_us),
            **{name: policy.settings.get(name, usual) for name, usual in ENGINE_SETTINGS.items()},
        }
        own = policy_of(policy.policy, policy.settings)
        return Experiment(
            policy.policy, settings, given=own, label=policy.policy, queues=self.queues
        )


def _arriving(at_us: int, columns: Mapping[str, int]) -> Mapping[str, int]:
    """Jobs of an array arrive when they are released, and have the place of the first of them."""
    usual = {"queue": 0, "experiment": UNKNOWN, "model": UNKNOWN}
    return {**usual, **columns, "arrival_us": at_us}


def _timeline(
    happened: Sequence[tuple[int, Event]], place_of: Mapping[int, int]
) -> Iterator[TimedEvent]:
    for at_us, event in happened:
        match event:
            case Submitted(job, columns) if job in place_of and columns.get("priority"):
                yield at_us, Updated(place_of[job], {"priority": columns["priority"]})
            case Updated(job, columns) if job in place_of:
                yield at_us, Updated(place_of[job], columns)
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
