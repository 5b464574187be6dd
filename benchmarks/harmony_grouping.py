"""CPU-seconds of Harmony's grouping, and its distance from the best grouping.

The paper: 8,000 jobs on 10,000 machines in 5 s, results within 2 % of an exhaustive search. Random
jobs as in the tests: COMM and the balance of COMP and COMM are log-normal. A case counts only if
the grouping runs at least 4,000 jobs, because a search that ends after few jobs costs nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from motet.harmony.exact import exact_grouping
from motet.harmony.prefixes import paper_grouping
from motet.harmony.problem import Grouping, GroupingProblem
from motet.harmony.search import best_grouping, heuristic_grouping
from support.figures import Figure, parser, report

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from grouping_cases import random_problem, random_shape

MANY, MACHINES, LIMIT_S, LEAST_JOBS = 8_000, 10_000, 0.5, 4_000
SMALL_CASES, WITHIN = 200, 0.01

Search = Callable[[GroupingProblem], Grouping]


def cpu_figure(
    jobs: int, machines: int, balanced: float, limit_s: float | None, repetitions: int
) -> Figure:
    """The slowest of some instances; the number of jobs is the least of theirs."""
    taken_s, fewest, least_use = [], jobs, 1.0
    for seed in range(repetitions):
        problem = random_problem(seed, jobs, machines, balanced_machines=balanced)
        began_s = time.process_time()
        found = best_grouping(problem)
        taken_s.append(time.process_time() - began_s)
        fewest = min(fewest, len(found.jobs))
        least_use = min(least_use, problem.score(found))
    if limit_s is not None and fewest < LEAST_JOBS:
        raise SystemExit(f"only {fewest} of {jobs} jobs run: the time says nothing")
    return Figure(
        f"{jobs:,} jobs x {machines:,} machines, DoP {balanced:g}",
        f"{max(taken_s):.2f} CPU-s",
        f"{fewest:,} run, U {least_use:.3f}",
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
    best_grouping(random_problem(0, 20, 40))  # Loads the compiled search.
    figures = [
        distance_figure("default", best_grouping, cases, WITHIN),
        distance_figure("default without the exact program", heuristic_grouping, cases, None),
        distance_figure("Algorithms 1 and 2", paper_grouping, cases, None),
        cpu_figure(MANY, MACHINES, 5.0, LIMIT_S, repetitions),
        cpu_figure(MANY, MACHINES, 2.0, LIMIT_S, repetitions),
    ]
    curve = (80, 800, 2_500) if arguments.quick else (80, 800, 2_500, 25_000, 100_000)
    figures += [cpu_figure(jobs, jobs * 5 // 4, 5.0, None, repetitions) for jobs in curve]
    report("harmony_grouping", "Harmony: one grouping of all jobs, one core", figures)


if __name__ == "__main__":
    main()
