"""Which jobs share machines in each schedule of Harmony's benchmark: pure functions of what runs.

`grouped` is the code by which the policy groups and regroups jobs (`motet.harmony.schedule`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from motet.estimate.colocation.group_time import SubtaskTimes
from motet.harmony.baselines import isolated_grouping
from motet.harmony.preferences.fewer_jobs import preferring_fewer_jobs
from motet.harmony.problem import GroupingProblem, JobCosts
from motet.harmony.schedule.chosen_machines import chosen_machines
from motet.harmony.schedule.held_groups import HeldGroup, Scene
from motet.harmony.schedule.interleaved import interleaved_schedule
from motet.harmony.search import best_grouping, quick_grouping

FEWER_JOBS = 0.02
"""The policy's default."""
Place = tuple[int, ...]
"""The machines of a job, ascending."""


@dataclass(frozen=True)
class ProfiledJob:
    """`times`: of an iteration alone on one machine; `memory_bytes`: on it, all input in memory.
    `iterations`: of the whole training."""

    name: str
    times: SubtaskTimes
    iterations: float
    memory_bytes: float = 0.0


@dataclass
class Running:
    """What is known at a decision. `places`: of the jobs that run; `waiting`: the others that have
    not ended; `ended`: those that have since the last decision, with their places.
    `iterations_left`: of each job; `move_s`: for which one that moves does not train.
    `hosts_per_machine`: each with an equal server, so that COMM is longer on more machines
    (`comm_growth`); None: it is not, as in eq. 4.1."""

    jobs: Sequence[ProfiledJob]
    machines: int
    memory_bytes: float = float("inf")
    places: dict[int, Place] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    ended: dict[int, Place] = field(default_factory=dict)
    is_first: bool = True
    iterations_left: Sequence[float] = ()
    move_s: float = 0.0
    hosts_per_machine: int | None = None

    def idle(self) -> list[int]:
        """Machines without a job."""
        used = {machine for place in self.places.values() for machine in place}
        return [machine for machine in range(self.machines) if machine not in used]

    def seconds_left(self) -> list[float]:
        """Of each job alone on one machine; in a group it takes longer."""
        pairs = zip(self.iterations_left, self.jobs, strict=True)
        return [left * job.times.iteration_s for left, job in pairs]

    def costs(self) -> JobCosts:
        """Of all jobs."""
        times = [job.times for job in self.jobs]
        none, comm_s = np.zeros(len(times)), np.array([each.comm_s for each in times])
        at_most = (
            1.0 if self.hosts_per_machine is None else comm_growth(np.inf, self.hosts_per_machine)
        )
        return JobCosts(
            np.array([each.comp_s for each in times]),
            none,
            at_most * comm_s,
            np.array([job.memory_bytes for job in self.jobs]),
            none,
            np.array([each.outside_s for each in times]),
            local_s=(at_most - 1) * comm_s,
            gap_s=np.array([each.gap_s for each in times]),
        )


def comm_growth(machines: float, hosts_per_machine: int) -> float:
    """COMM on so many machines as times of that on one, of at least two hosts.

    Each host has a server with an equal part of the model, so its worker gets all but that part
    from others: 1/2 of it on two hosts, 3/4 on four.
    """
    return (1 - 1 / (machines * hosts_per_machine)) / (1 - 1 / hosts_per_machine)


Choose = Callable[[Running], Mapping[int, Place]]
"""The places of all jobs that are to run."""


def isolated(now: Running) -> dict[int, Place]:
    """Each job alone; idle machines go to waiting jobs, by the use of their CPUs."""
    places, idle = dict(now.places), now.idle()
    if not idle or not now.waiting:
        return places
    costs = now.costs().rows(now.waiting)
    problem = GroupingProblem(costs, len(idle), now.memory_bytes)
    for group in isolated_grouping(problem).groups:
        (row,) = group.jobs
        places[now.waiting[row]] = tuple(idle[: group.machines])
        idle = idle[group.machines :]
    return places


def by_chance(now: Running) -> dict[int, Place]:
    """A group on each machine; waiting jobs join by chance, each the one with the fewest jobs of
    those that have memory for it. No job moves."""
    places, order = dict(now.places), list(range(len(now.jobs)))
    Random(0).shuffle(order)
    for job in (each for each in order if each in now.waiting):
        found = [
            (len(beside), machine)
            for machine in range(now.machines)
            for beside in [[each for each, place in places.items() if machine in place]]
            if sum(now.jobs[each].memory_bytes for each in [job, *beside]) <= now.memory_bytes
        ]
        if found:
            places[job] = (min(found)[1],)
    return places


def grouped(now: Running) -> dict[int, Place]:
    """As the policy: the first groups by the best search, then repairs after each end."""
    active = sorted([*now.places, *now.waiting])
    if not active:
        return {}
    row_of = {job: row for row, job in enumerate(active)}
    scene = Scene(
        now.costs().rows(active),
        tuple(range(len(active))),
        np.ones(len(active), dtype=np.bool_),
        np.full(len(active), not now.is_first),
        tuple(_held(now, row_of)),
        tuple(range(now.machines)),
        now.memory_bytes,
        seconds_left=np.array(now.seconds_left())[active],
        move_s=now.move_s,
    ).counting_work()
    search, repair = (
        preferring_fewer_jobs(each, FEWER_JOBS) for each in (best_grouping, quick_grouping)
    )
    groups = interleaved_schedule(scene, search, repair).groups
    chosen = chosen_machines(groups, scene.held, scene.machines)
    return {
        active[row]: place
        for group, place in zip(groups, chosen, strict=True)
        for row in group.jobs
    }


def _held(now: Running, row_of: Mapping[int, int]) -> list[HeldGroup]:
    """Present groups, by their first job. Groups without a job that runs are not held."""
    by_place: dict[Place, list[int]] = {}
    for job in sorted(now.places):
        by_place.setdefault(now.places[job], []).append(job)
    found = []
    for place, members in by_place.items():
        gone = [now.jobs[job].times for job, of in now.ended.items() if of == place]
        ended = SubtaskTimes(
            sum(each.comp_s for each in gone) / len(place), sum(each.comm_s for each in gone)
        )
        rows = tuple(row_of[job] for job in members)
        found.append(HeldGroup(rows, place, ended if gone else None))
    return found
