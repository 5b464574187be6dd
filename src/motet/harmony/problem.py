"""Jobs to group and the machines for them, as arrays; groupings and their utilisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Floats
from motet.domain.errors import BadInput
from motet.estimate.colocation.group_time import (
    CPU_WEIGHT,
    SubtaskTimes,
    Utilisation,
    cluster_utilisation,
    longest_term_s,
    own_term_s,
    utilisation_of,
)
from motet.estimate.colocation.subtask_profile import SubtaskProfile

OUTSIDE = -1
"""The group of a job that is in no group."""


class JobCosts(NamedTuple):
    """Columns `(jobs,)`: COMP on m machines takes `divided_s` / m + `constant_s`, COMM `comm_s` -
    `local_s` / m, because each machine has a server with its part of the model, to which its own
    worker needs no network (empty: COMM is constant, as in the source);
    `memory_bytes`: of input, model and working memory, over all machines of the job's group;
    `fixed_bytes`: on each of its machines in addition, however many there are. `outside_s`: see
    SubtaskTimes. `work_s`: what an iteration is worth, the same on all numbers of machines; empty:
    the use of CPU and network in eq. 4.3. `gap_s`, `overlaps` (1 or 0): see SubtaskTimes; empty: no
    job has gaps, or overlaps. Compiled functions take the costs of a `GroupingProblem` only: there
    `overlaps` is never empty.
    """

    divided_s: Floats
    constant_s: Floats
    comm_s: Floats
    memory_bytes: Floats
    fixed_bytes: Floats
    outside_s: Floats
    work_s: Floats = np.zeros(0)
    local_s: Floats = np.zeros(0)
    gap_s: Floats = np.zeros(0)
    overlaps: Floats = np.zeros(0)

    def rows(self, chosen: Sequence[int]) -> JobCosts:
        """The columns of some jobs, in this order."""
        return JobCosts(*(column[list(chosen)] if len(column) else column for column in self))

    def bytes_on(self, jobs: Sequence[int], machines: int) -> float:
        """What these jobs need together on so many machines, which they share."""
        fixed = float(self.fixed_bytes[list(jobs)].sum())
        return float(self.memory_bytes[list(jobs)].sum()) + machines * fixed

    def least_machines(self, job: int, machine_memory_bytes: float) -> float:
        """On which it fits alone, at least 1; infinity: on no number of them."""
        room = machine_memory_bytes - float(self.fixed_bytes[job])
        if room <= 0:
            return math.inf
        return max(1, math.ceil(float(self.memory_bytes[job]) / room))


class JobGroup(NamedTuple):
    """Rows of the jobs that share these machines; DoP is another word for `machines`."""

    jobs: tuple[int, ...]
    machines: int


@dataclass(frozen=True)
class Grouping:
    """Groups of jobs; a job is in one group or in none."""

    groups: tuple[JobGroup, ...] = ()

    @property
    def jobs(self) -> tuple[int, ...]:
        """Rows of all jobs that run, ascending."""
        return tuple(sorted(job for group in self.groups for job in group.jobs))

    @property
    def machines(self) -> int:
        """Machines of all groups."""
        return sum(group.machines for group in self.groups)


@dataclass(frozen=True, eq=False)
class GroupingProblem:
    """`machines`: number of equal machines. `machine_memory_bytes`: of each; infinity: no limit.
    `cpu_weight`: of the CPU in the utilisation that is maximised. `iterations_left`: of each job
    until its predicted end, NaN where unknown; None: ends do not count.

    The rows of `costs` are in the order in which jobs are considered: profiled, paused, running.
    """

    costs: JobCosts
    machines: int
    machine_memory_bytes: float = float("inf")
    cpu_weight: float = CPU_WEIGHT
    iterations_left: Floats | None = None

    def __post_init__(self) -> None:
        if self.machines < 1:
            raise BadInput(f"machines={self.machines}: groups need at least 1")
        if not 0.5 <= self.cpu_weight <= 1:
            raise BadInput(f"cpu_weight={self.cpu_weight}: must be from 0.5 to 1")
        if not len(self.costs.overlaps):  # One test less in the inner loops of the searches.
            costs = self.costs._replace(overlaps=np.zeros(len(self)))
            object.__setattr__(self, "costs", costs)

    @classmethod
    def of(
        cls,
        profiles: Sequence[SubtaskProfile],
        machines: int,
        memory_bytes: Sequence[float] | None = None,
        machine_memory_bytes: float = float("inf"),
        cpu_weight: float = CPU_WEIGHT,
    ) -> GroupingProblem:
        """The problem of jobs with these profiles; without `memory_bytes` they need none."""
        memory = np.zeros(len(profiles)) if memory_bytes is None else np.array(memory_bytes, float)
        costs = JobCosts(
            np.array([profile.comp.divided_s for profile in profiles], dtype=float),
            np.array([profile.comp.constant_s for profile in profiles], dtype=float),
            np.array([profile.comm_s for profile in profiles], dtype=float),
            memory,
            np.zeros(len(profiles)),
            np.array([profile.outside_s for profile in profiles], dtype=float),
        )
        return cls(costs, machines, machine_memory_bytes, cpu_weight)

    def __len__(self) -> int:
        return len(self.costs.comm_s)

    def part(self, rows: Sequence[int], machines: int) -> GroupingProblem:
        """These jobs alone, in this order, on so many machines."""
        left = self.iterations_left
        return replace(
            self,
            costs=self.costs.rows(rows),
            machines=machines,
            iterations_left=None if left is None else left[list(rows)],
        )

    def times(self, job: int, machines: int) -> SubtaskTimes:
        """The seconds of an iteration of a job on this many machines."""
        costs = self.costs
        comp_s = float(costs.divided_s[job]) / machines + float(costs.constant_s[job])
        outside_s, gap_s = float(costs.outside_s[job]), float(gap_of(costs, job))
        comm_s, overlaps = comm_on(costs, job, machines), bool(overlap_of(costs, job))
        return SubtaskTimes(comp_s, comm_s, outside_s, gap_s, overlaps)

    def utilisation(self, grouping: Grouping) -> Utilisation:
        """U of the cluster (eq. 4.4); machines without a group are idle."""
        uses = [
            (
                group.machines,
                utilisation_of([self.times(job, group.machines) for job in group.jobs]),
            )
            for group in grouping.groups
        ]
        idle = (self.machines - grouping.machines, Utilisation(0.0, 0.0))
        return cluster_utilisation([*uses, idle])

    def score(self, grouping: Grouping) -> float:
        """The scalar by which groupings are compared: U, or the work that is done per second."""
        return sum(self.worth(group) for group in grouping.groups) / self.machines

    def worth(self, group: JobGroup) -> float:
        """Machines times the scalar use of a group, or its work per second: at most its machines.

        A group whose jobs have come to need more memory than its machines have would count more.
        The gap of a job counts as if it delayed all jobs of the group: in truth only itself.
        """
        times = [self.times(job, group.machines) for job in group.jobs]
        work_s = sum(work_of(self.costs, job) for job in group.jobs)
        longest_s = max((each.iteration_s for each in times), default=0.0)
        sums = sum(each.cpu_s for each in times), sum(each.comm_s for each in times)
        return float(
            machine_worth(*sums, longest_s, group.machines, self.cpu_weight, float(work_s))
        )

    def fits(self, grouping: Grouping) -> bool:
        """Whether all groups fit on the cluster and into the memory of their machines."""
        return grouping.machines <= self.machines and all(
            self.costs.bytes_on(group.jobs, group.machines)
            <= group.machines * self.machine_memory_bytes
            for group in grouping.groups
        )


@njit(cache=True)
def comm_on(costs: JobCosts, row: int, machines: float) -> float:
    """Seconds of COMM of a job on so many machines."""
    local_s = costs.local_s[row] / machines if len(costs.local_s) else 0.0
    return float(costs.comm_s[row] - local_s)


@njit(cache=True)
def comms_on(costs: JobCosts, machines: Floats) -> Floats:
    """`(jobs,)`: as `comm_on`, of each job on its number of machines."""
    if len(costs.local_s):
        return costs.comm_s - costs.local_s / machines
    return costs.comm_s + 0.0 * machines


@njit(cache=True)
def gap_of(costs: JobCosts, row: int) -> float:
    """Seconds of an iteration in which a job needs no token."""
    return float(costs.gap_s[row]) if len(costs.gap_s) else 0.0


@njit(cache=True, inline="always")
def overlap_of(costs: JobCosts, row: int) -> bool:
    """Whether COMM of a job runs beside its COMP."""
    return bool(costs.overlaps[row] > 0)


@njit(cache=True, inline="always")
def alone_of(costs: JobCosts, row: int, comp_s: float, comm_s: float) -> float:
    """Seconds of an iteration of a job without others, with its gap."""
    return own_term_s(comp_s, comm_s, overlap_of(costs, row)) + gap_of(costs, row)


@njit(cache=True)
def machine_worth(
    cpu_sum_s: float,
    comm_sum_s: float,
    longest_s: float,
    machines: int,
    cpu_weight: float,
    work_s: float,
) -> float:
    """Machines of a group times its scalar utilisation, from the three terms of eq. 4.1, the last
    one with the gap of the job (`GroupingProblem.worth`); or, with a
    `work_s` above 0, its jobs' work per second. At most `machines`: see GroupingProblem.worth."""
    group_s = longest_term_s(cpu_sum_s, comm_sum_s, longest_s)
    used_s = machines * (cpu_weight * cpu_sum_s + (1 - cpu_weight) * comm_sum_s)
    if work_s > 0:
        used_s = work_s
    return min(used_s / group_s, float(machines)) if group_s > 0 else 0.0


def work_column(
    costs: JobCosts, machines: int, machine_memory_bytes: float, cpu_weight: float
) -> Floats:
    """`(jobs,)`: machine-seconds of CPU and network that an iteration of each job needs on as few
    machines as have memory for it, weighted as in a scalar use.

    COMP is divided among machines, COMM is not: on twice the machines a job uses twice the network
    for the same iteration. Use (eq. 4.4) counts that as a gain, this does not.
    """
    jobs = range(len(costs.comm_s))
    least = [min(costs.least_machines(job, machine_memory_bytes), machines) for job in jobs]
    count = np.array(least, dtype=float)
    cpu_s = costs.divided_s + count * (costs.constant_s + costs.outside_s)
    return cpu_weight * cpu_s + (1 - cpu_weight) * count * comms_on(costs, count)


@njit(cache=True)
def work_of(costs: JobCosts, row: int) -> float:
    """0: eq. 4.3 counts."""
    return costs.work_s[row] if len(costs.work_s) else 0.0


def grouping_of(group_of: Sequence[int], machines: Sequence[int]) -> Grouping:
    """Groups from the group of each row (OUTSIDE: none) and the machines of each group."""
    members: list[list[int]] = [[] for _ in machines]
    for row, group in enumerate(group_of):
        if group != OUTSIDE:
            members[group].append(row)
    return Grouping(
        tuple(
            JobGroup(tuple(jobs), int(count))
            for jobs, count in zip(members, machines, strict=True)
            if jobs
        )
    )
