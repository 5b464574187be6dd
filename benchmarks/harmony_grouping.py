"""CPU-seconds of Harmony's grouping, and its distance from the best grouping.

The paper: 8,000 jobs on 10,000 machines in 5 s, results within 2 % of an exhaustive search. Random
jobs as in the tests: COMM and the balance of COMP and COMM are log-normal. The time is that of the
policy's search and of its choice of fewer jobs at nearly the same score. A case counts only if the
search takes at least 4,000 jobs, because one that ends after few jobs costs nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from motet.harmony.exact import exact_grouping
from motet.harmony.preferences.fewer_jobs import with_fewer_jobs
from motet.harmony.prefixes import paper_grouping
from motet.harmony.problem import Grouping, GroupingProblem
from motet.harmony.search import best_grouping, heuristic_grouping
from motet.policies.harmony import Harmony
from support.figures import Figure, parser, report

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from grouping_cases import counting_work, random_problem, random_shape

MANY, MACHINES, LIMIT_S, LEAST_JOBS = 8_000, 10_000, 0.5, 4_000
SMALL_CASES, WITHIN = 200, 0.01

Search = Callable[[GroupingProblem], Grouping]


@dataclass(frozen=True)
class Instances:
    """Random instances. `balanced`: the DoP at which the median job computes as long as it
    communicates; `by_work`: groupings are compared by work, as the policy does, else by U;
    `with_memory`: the jobs need most of the memory of the machines."""

    jobs: int
    machines: int
    balanced: float
    by_work: bool = False
    with_memory: bool = False

    def problem(self, seed: int) -> GroupingProblem:
        """One of them."""
        made = random_problem(
            seed,
            self.jobs,
            self.machines,
            balanced_machines=self.balanced,
            with_memory=self.with_memory,
        )
        return counting_work(made) if self.by_work else made

    def __str__(self) -> str:
        name = f"{self.jobs:,} jobs x {self.machines:,} machines, DoP {self.balanced:g}"
        return name + ", by work" * self.by_work + ", little memory" * self.with_memory


def cpu_figure(instances: Instances, limit_s: float | None, repetitions: int) -> Figure:
    """The slowest of some instances; the numbers of jobs, taken by the search and kept by the
    policy, are the least of theirs."""
    taken_s, fewest, fewest_kept, least_score = [], instances.jobs, instances.jobs, 1.0
    for seed in range(repetitions):
        problem = instances.problem(seed)
        began_s = time.process_time()
        found = best_grouping(problem)
        kept = with_fewer_jobs(problem, found, Harmony().fewer_jobs)
        taken_s.append(time.process_time() - began_s)
        fewest, fewest_kept = min(fewest, len(found.jobs)), min(fewest_kept, len(kept.jobs))
        least_score = min(least_score, problem.score(found))
    if limit_s is not None and fewest < LEAST_JOBS:
        raise SystemExit(f"only {fewest} of {instances.jobs} jobs: the time says nothing")
    return Figure(
        str(instances),
        f"{max(taken_s):.2f} CPU-s",
        f"{fewest:,} taken, {fewest_kept:,} kept, score {least_score:.3f}",
        max(taken_s),
        limit_s,
        at_least=False,
    )


def distance_figure(name: str, search: Search, cases: int, limit: float | None) -> Figure:
    """The largest distance from the best of all groupings of up to 8 jobs on up to 8 machines."""
    off = []
    for seed in range(cases):
        shape = random_shape(seed)
        problem = random_problem(
            seed, *shape, with_constant=seed % 2 == 1, with_memory=seed % 4 == 3
        )
        best = problem.score(exact_grouping(problem))
        if best > 0:
            off.append(1 - problem.score(search(problem)) / best)
    return Figure(
        f"{name}: furthest of {len(off)} small cases",
        f"{max(off):.2%}",
        f"median {np.median(off):.2%}",
        max(off),
        limit,
        at_least=False,
    )


def main() -> None:
    """Distances, the limit of 8,000 jobs, and how time grows with the jobs."""
    arguments = parser(main.__doc__ or "").parse_args()
    repetitions = 2 if arguments.quick else 5
    cases = SMALL_CASES // 4 if arguments.quick else SMALL_CASES
    few = random_problem(0, 20, 40)
    with_fewer_jobs(few, heuristic_grouping(few), 0.5)  # Loads the compiled search.
    figures = [
        distance_figure("default", best_grouping, cases, WITHIN),
        distance_figure("default without the exact program", heuristic_grouping, cases, None),
        distance_figure("Algorithms 1 and 2", paper_grouping, cases, None),
    ]
    many = [
        Instances(MANY, MACHINES, balanced, by_work, with_memory)
        for balanced in (5.0, 2.0)
        for with_memory in (False, True)
        for by_work in (False, True)
    ]
    figures += [cpu_figure(each, LIMIT_S, repetitions) for each in many]
    curve = (80, 800, 2_500) if arguments.quick else (80, 800, 2_500, 25_000, 100_000)
    growing = [Instances(jobs, jobs * 5 // 4, 5.0) for jobs in curve]
    figures += [cpu_figure(each, None, repetitions) for each in growing]
    report("harmony_grouping", "Harmony: one grouping of all jobs, one core", figures)


if __name__ == "__main__":
    main()
