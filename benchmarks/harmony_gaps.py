"""What Harmony's search loses where jobs have gaps: times in which they need no token.

The best of all groupings of up to five random jobs on up to five machines, where a job takes the
longer one of eq. 4.1 and its own COMP, COMM and gap, against the grouping that the search finds:
without the gaps, and with them, where the search takes the gap of a job as if it delayed its whole
group. Groupings are compared by work. A gap is a random part of COMP and COMM with a given mean;
on hosts gaps of jobs alone are 3 to 44 % of them.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np

from motet.domain.arrays import Floats
from motet.estimate.colocation.group_time import job_iteration_s
from motet.harmony.problem import Grouping, GroupingProblem, JobGroup
from motet.harmony.search import best_grouping
from support.figures import Figure, parser, report

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from grouping_cases import counting_work, random_problem
from grouping_oracle import every_grouping

MOST_JOBS = MOST_MACHINES = 5
PARTS = (0.05, 0.15, 0.3, 0.5)


class Case:
    """Random jobs with gaps, by the seed; `part`: the mean gap as a part of COMP and COMM."""

    def __init__(self, seed: int, part: float) -> None:
        rng = np.random.default_rng([seed, 9])
        jobs, machines = rng.integers(2, (MOST_JOBS + 1, MOST_MACHINES + 1)).tolist()
        self.problem = counting_work(random_problem(seed, jobs, machines))
        self._parts: Floats = 2 * part * rng.random(jobs)
        self._worth = cache(self._uncached_worth)

    def with_gaps(self) -> GroupingProblem:
        """As the search is told of gaps: those of each job alone on all machines."""
        problem = self.problem
        times = (problem.times(job, problem.machines) for job in range(len(problem)))
        gap_s = self._parts * np.array([each.iteration_s for each in times])
        return GroupingProblem(problem.costs._replace(gap_s=gap_s), problem.machines)

    def lost(self, grouping: Grouping) -> float:
        """The part of the most work per second that is not done."""
        most = max(
            self._work(each)
            for machines in range(1, self.problem.machines + 1)
            for each in every_grouping(len(self.problem), machines)
        )
        return 1 - self._work(grouping) / most

    def _work(self, grouping: Grouping) -> float:
        return sum(self._worth(group) for group in grouping.groups)

    def _uncached_worth(self, group: JobGroup) -> float:
        known = self.with_gaps()
        times = [known.times(job, group.machines) for job in group.jobs]
        work_s = self.problem.costs.work_s[list(group.jobs)]
        alone_s = [job_iteration_s(each, times) for each in times]
        return float((work_s / np.array(alone_s)).sum())


def main() -> None:
    """A figure for each mean gap, without and with gaps in the search."""
    seeds = 20 if parser(main.__doc__ or "").parse_args().quick else 200
    figures = []
    for part in PARTS:
        cases = [Case(seed, part) for seed in range(seeds)]
        unknown = [case.lost(best_grouping(case.problem)) for case in cases]
        known = [case.lost(best_grouping(case.with_gaps())) for case in cases]
        for name, lost in (("unknown", unknown), ("known", known)):
            figures.append(
                Figure(
                    f"gaps of {part:.0%}, {name}",
                    f"median {np.median(lost):.1%}",
                    f"95 % {np.quantile(lost, 0.95):.1%}, max {max(lost):.1%}",
                )
            )
    report("harmony_gaps", "Harmony: work that is lost where jobs have gaps", figures, plot=False)


if __name__ == "__main__":
    main()
