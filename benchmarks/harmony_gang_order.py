"""What the order of tokens does to jobs that share several machines, by simulation.

Each machine has a CPU and a network token. A job begins an iteration on all machines when its last
PUSH has ended; PULL, COMP and PUSH then follow on each machine. Their lengths vary from machine to
machine and from iteration to iteration (uniform, 20 %). Tokens go to waiting subtasks by the time
of their request, or by the beginning of their iteration, which is the order of the arbiter.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

import numpy as np

from support.figures import Figure, parser, report

ITERATIONS, GROUPS, MACHINES, SPREAD = 300, 100, 4, 0.2
_CPU, _NETWORK = 0, 1
_TOKENS = (_NETWORK, _CPU, _NETWORK)
Lengths = tuple[float, float, float]
"""PULL, COMP, PUSH."""


class Waiting(NamedTuple):
    """A subtask in a queue: its rank, then its request."""

    rank: float
    order: int
    job: int
    length: float


def random_jobs(rng: np.random.Generator, jobs: int) -> list[Lengths]:
    """COMP is 30 to 70 % of an iteration; iteration times are log-normal (0.3)."""
    found = []
    for _ in range(jobs):
        iteration, share = float(np.exp(rng.normal(0, 0.3))), float(rng.uniform(0.3, 0.7))
        comm = iteration * (1 - share) / 2
        found.append((comm, iteration * share, comm))
    return found


class Simulation:
    """All jobs on all machines; `by_beginning`: the order of the tokens."""

    def __init__(self, jobs: list[Lengths], rng: np.random.Generator, by_beginning: bool) -> None:
        self._jobs, self._rng, self._by_beginning = jobs, rng, by_beginning
        self._order = count()
        self._now = 0.0
        self._busy = np.zeros((MACHINES, 2), dtype=np.bool_)
        self._queues: dict[tuple[int, int], list[Waiting]] = {
            (machine, token): [] for machine in range(MACHINES) for token in (_CPU, _NETWORK)
        }
        self._running: list[tuple[float, int, int, int]] = []
        self._stage = np.zeros((len(jobs), MACHINES), dtype=np.int64)
        self._began = np.zeros(len(jobs))
        self._done = np.zeros(len(jobs), dtype=np.int64)

    def iterations_per_time(self) -> float:
        """Of all jobs together, when the first one has done all of its iterations."""
        for job in range(len(self._jobs)):
            self._begin(job)
        while self._done.max() < ITERATIONS:
            self._now, _, job, machine = heappop(self._running)
            self._busy[machine, _TOKENS[self._stage[job, machine]]] = False
            self._stage[job, machine] += 1
            if self._stage[job, machine] < len(_TOKENS):
                self._request(job, machine)
            elif (self._stage[job] == len(_TOKENS)).all():
                self._done[job] += 1
                self._begin(job)
            self._grant()
        return float(self._done.sum()) / self._now

    def _begin(self, job: int) -> None:
        self._stage[job], self._began[job] = 0, self._now
        for machine in range(MACHINES):
            self._request(job, machine)
        self._grant()

    def _request(self, job: int, machine: int) -> None:
        stage = int(self._stage[job, machine])
        factor = float(self._rng.uniform(1 - SPREAD, 1 + SPREAD))
        rank = float(self._began[job]) if self._by_beginning else self._now
        waiting = Waiting(rank, next(self._order), job, self._jobs[job][stage] * factor)
        heappush(self._queues[machine, _TOKENS[stage]], waiting)

    def _grant(self) -> None:
        for (machine, token), queue in self._queues.items():
            if queue and not self._busy[machine, token]:
                first = heappop(queue)
                self._busy[machine, token] = True
                end = self._now + first.length
                heappush(self._running, (end, next(self._order), first.job, machine))


def gains(jobs: int, groups: int) -> Iterator[float]:
    """Of random groups: iterations in the arbiter's order, over those in the order of requests."""
    for seed in range(groups):
        group = random_jobs(np.random.default_rng([seed, jobs]), jobs)
        by_request, by_beginning = (
            Simulation(group, np.random.default_rng(seed), order).iterations_per_time()
            for order in (False, True)
        )
        yield by_beginning / by_request


def main() -> None:
    """Groups of two to eight jobs."""
    arguments = parser(__doc__.splitlines()[0]).parse_args()
    groups = 10 if arguments.quick else GROUPS
    figures = []
    for jobs in (2, 3, 4, 8):
        found = np.array([*gains(jobs, groups)])
        low, high = np.percentile(found, [5, 95])
        text = f"median {np.median(found):.3f}, 5 to 95 % {low:.3f} to {high:.3f}"
        figures.append(Figure(f"{jobs} jobs: iterations, against order of requests", text))
    report("harmony_gang_order", f"{groups} groups on {MACHINES} machines", figures)


if __name__ == "__main__":
    main()
