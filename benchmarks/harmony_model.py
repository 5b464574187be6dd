"""How far eq. 4.1 of Harmony is from a simulation in which jobs queue PULL and PUSH separately.

The equation is exact for one COMM per iteration. On machines, PUSH and the next PULL are separate
subtasks, and in first-in-first-out order other jobs come between them. Groups of random jobs:
iteration times are log-normal (0.4), COMP takes 20 to 80 % of them; in balanced groups COMP and
COMM are scaled to equal sums.

`without waiting`: how much longer eq. 4.1 is than the longer one of both sums. By so much at most
asynchronous training could shorten the iterations of a group, whose jobs then never wait for their
own COMM.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from motet.estimate.colocation.group_time import SubtaskTimes, group_iteration_s
from support.figures import Figure, parser, report

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from subtask_simulation import Step, ends_of_iterations

ITERATIONS = 200
Parts = tuple[int, int, int]
"""PULL, COMP, PUSH."""


def random_jobs(rng: np.random.Generator, count: int, is_balanced: bool) -> list[Parts]:
    """Jobs with PULL and PUSH of equal length."""
    jobs = []
    for _ in range(count):
        iteration, share = int(np.exp(rng.normal(7, 0.4))), rng.uniform(0.2, 0.8)
        comp = max(1, int(iteration * share))
        jobs.append(((iteration - comp) // 2, comp, (iteration - comp + 1) // 2))
    if not is_balanced:
        return jobs
    scale = sum(pull + push for pull, _, push in jobs) / sum(comp for _, comp, _ in jobs)
    return [(pull, max(1, round(comp * scale)), push) for pull, comp, push in jobs]


def excess(jobs: list[Parts]) -> float:
    """How much longer the simulated group iteration is, relative to eq. 4.1.

    The time from the middle to the end, so that the beginning does not count.
    """
    steps: list[list[Step]] = [
        [("network", pull), ("cpu", comp), ("network", push)] for pull, comp, push in jobs
    ]
    ends = ends_of_iterations(steps, ITERATIONS)
    middle, last = (max(job[at] for job in ends) for at in (ITERATIONS // 2 - 1, ITERATIONS - 1))
    predicted = group_iteration_s([SubtaskTimes(comp, pull + push) for pull, comp, push in jobs])
    return (last - middle) / (ITERATIONS / 2) / predicted - 1


def gap(jobs: list[Parts]) -> float:
    """Of eq. 4.1 beyond the CPU and the network, because a job waits for its own subtasks."""
    times = [SubtaskTimes(comp, pull + push) for pull, comp, push in jobs]
    busy_s = max(sum(each.comp_s for each in times), sum(each.comm_s for each in times))
    return group_iteration_s(times) / busy_s - 1


def main() -> None:
    """Groups of one to eight jobs."""
    groups = 50 if parser(main.__doc__ or "").parse_args().quick else 500
    figures = []
    for count in (2, 3, 4, 6, 8):
        for is_balanced in (True, False):
            off = [
                excess(random_jobs(np.random.default_rng([seed, count]), count, is_balanced))
                for seed in range(groups)
            ]
            figures.append(
                Figure(
                    f"{count} jobs, {'balanced' if is_balanced else 'any'}",
                    f"median {np.median(off):.1%}",
                    f"95 % {np.quantile(off, 0.95):.1%}, max {max(off):.1%}",
                )
            )
    for count in (1, 2, 3, 4, 6, 8):
        off = [
            gap(random_jobs(np.random.default_rng([seed, count]), count, is_balanced=False))
            for seed in range(groups)
        ]
        figures.append(
            Figure(
                f"{count} jobs, any, without waiting",
                f"median {np.median(off):.1%}",
                f"95 % {np.quantile(off, 0.95):.1%}, max {max(off):.1%}",
            )
        )
    report("harmony_model", "Harmony: simulated group iteration above eq. 4.1", figures, plot=False)


if __name__ == "__main__":
    main()
