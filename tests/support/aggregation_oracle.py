"""The best assignments of small cases by integer programs, and Pseudocode 3 line by line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from motet.aggregation.planner.cyclic_execution import loss
from motet.aggregation.planner.job_profile import AggregationProfile


@dataclass
class _Program:
    """Binary variables and a last one that is real; rows `low <= sum <= high`."""

    binaries: int
    rows: list[tuple[dict[int, float], float, float]] = field(default_factory=list)
    forbidden: list[int] = field(default_factory=list)

    def add(self, row: dict[int, float], low: float, high: float) -> None:
        self.rows.append((row, low, high))

    def least(self, costs: Iterable[int]) -> float | None:
        """The least sum of these variables; None: infeasible."""
        cost = np.zeros(self.binaries + 1)
        cost[list(costs)] = 1
        entries = [(n, *each) for n, (row, _, _) in enumerate(self.rows) for each in row.items()]
        at_row, at_column, values = zip(*entries, strict=True)
        matrix = csr_array((values, (at_row, at_column)), (len(self.rows), len(cost)))
        upper = np.ones(len(cost))
        upper[self.forbidden] = 0
        found = milp(
            cost,
            constraints=LinearConstraint(
                matrix, [low for _, low, _ in self.rows], [high for *_, high in self.rows]
            ),
            bounds=Bounds(0, upper),
            integrality=np.append(np.ones(self.binaries), 0),
        )
        assert found.status in (0, 2), found.message
        return None if found.status == 2 else float(found.fun)


class AssignmentProgram:
    """Tensors on at most so many Aggregators, each with the cycle of one of its jobs (IV.1, IV.2).

    An Aggregator's runs of a job are floor(C / D_j), as the planner counts them. Both the CPU time
    and the time on the link of the runs fit into the cycle.
    """

    def __init__(self, jobs: Sequence[AggregationProfile], aggregators: int) -> None:
        self._jobs, self._aggregators = jobs, aggregators
        self._tensors = [(j, e) for j, job in enumerate(jobs) for e in job.needs_ns.T.tolist()]
        self._assignments = len(self._tensors) * aggregators * len(jobs)
        self._program = _Program(self._assignments + aggregators * len(jobs))
        self._assign_each_once()
        for aggregator in range(aggregators):
            self._limit_work(aggregator)

    def fewest(self, loss_limit: float) -> int | None:
        """The fewest Aggregators with every loss below the limit."""
        for variable, lost in self._losses():
            if lost >= loss_limit:
                self._program.forbidden.append(variable)
        used = self._program.least(range(self._assignments, self._program.binaries))
        return None if used is None else round(used)

    def smallest_loss(self) -> float | None:
        """The least possible largest loss of all jobs."""
        largest = self._program.binaries
        for variable, lost in self._losses():
            if np.isinf(lost):
                self._program.forbidden.append(variable)
            elif lost > 0:
                self._program.add({variable: lost, largest: -1}, -np.inf, 0)
        return self._program.least([largest])

    def _assigned(self, tensor: int, aggregator: int, cycle: int) -> int:
        """Whether the tensor is on the Aggregator and the latter has the cycle of this job."""
        return (tensor * self._aggregators + aggregator) * len(self._jobs) + cycle

    def _has_cycle(self, aggregator: int, cycle: int) -> int:
        return self._assignments + aggregator * len(self._jobs) + cycle

    def _losses(self) -> Iterable[tuple[int, float]]:
        for tensor, (job, _) in enumerate(self._tensors):
            own = self._jobs[job].iteration_ns
            for aggregator, cycle in product(range(self._aggregators), range(len(self._jobs))):
                length = self._jobs[cycle].iteration_ns
                lost = loss(length, own) if length >= own else np.inf
                yield self._assigned(tensor, aggregator, cycle), lost

    def _assign_each_once(self) -> None:
        for tensor in range(len(self._tensors)):
            places = product(range(self._aggregators), range(len(self._jobs)))
            self._program.add({self._assigned(tensor, *place): 1.0 for place in places}, 1, 1)

    def _limit_work(self, aggregator: int) -> None:
        cycles = range(len(self._jobs))
        self._program.add({self._has_cycle(aggregator, cycle): 1.0 for cycle in cycles}, 0, 1)
        for cycle in cycles:
            length, chosen = self._jobs[cycle].iteration_ns, self._has_cycle(aggregator, cycle)
            cpu, link, present = {chosen: -float(length)}, {chosen: -float(length)}, {chosen: 1.0}
            for tensor, (job, (cpu_ns, link_ns)) in enumerate(self._tensors):
                variable = self._assigned(tensor, aggregator, cycle)
                runs = length // self._jobs[job].iteration_ns
                cpu[variable], link[variable] = float(runs * cpu_ns), float(runs * link_ns)
                if job == cycle:
                    present[variable] = -1.0
                self._program.add({variable: 1.0, chosen: -1.0}, -np.inf, 0)
            self._program.add(cpu, -np.inf, 0)
            self._program.add(link, -np.inf, 0)
            self._program.add(present, -np.inf, 0)


@dataclass
class _Literal:
    """An Aggregator of the pseudocode: D_j, e_t and time on the link of its tensors by job."""

    tasks: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)

    def free_with(
        self, job: int, iteration: int, limit: float
    ) -> tuple[tuple[int, int], int] | None:
        """F_n and the free time of the link with the runs of a job, and those runs; None: a job
        would lose too much.
        """
        durations = {other: tasks[0][0] for other, tasks in self.tasks.items()} | {job: iteration}
        cycle = max(durations.values())
        runs = {other: cycle // duration for other, duration in durations.items()}
        for other, duration in durations.items():
            stretched = cycle / runs[other]
            if (stretched - duration) / stretched >= limit:
                return None
        free = free_link = cycle
        for other, tasks in self.tasks.items():
            for _, e, link in tasks:
                free -= runs[other] * e
                free_link -= runs[other] * link
        return (free, free_link), runs[job]


def pseudocode_3(jobs: Sequence[AggregationProfile], limit: float) -> list[list[int]]:
    """Homes of the tensors of jobs that arrive in this order, every Aggregator estimated anew for
    every tensor. Beyond it: the link of an Aggregator is a second resource, and the fuller one of
    both counts.
    """
    pool: list[_Literal] = []
    homes = []
    for job, profile in enumerate(jobs):
        placed = [0] * profile.tensors
        needs = profile.needs_ns.T.tolist()
        for tensor in sorted(range(profile.tensors), key=lambda t: (-max(needs[t]), t)):
            e, link = needs[tensor]
            options = []
            for number, aggregator in enumerate(pool):
                estimate = aggregator.free_with(job, profile.iteration_ns, limit)
                if estimate is None:
                    continue
                (free, free_link), runs = estimate
                if free >= runs * e and free_link >= runs * link:
                    options.append((min(free, free_link), number))
            number = min(options)[1] if options else len(pool)
            if number == len(pool):
                pool.append(_Literal())
            pool[number].tasks.setdefault(job, []).append((profile.iteration_ns, e, link))
            placed[tensor] = number
        homes.append(placed)
    return homes
