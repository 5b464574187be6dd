"""Asynchronous training of few jobs that arrive while others train, in simulations.

Random workloads of 2 to 5 jobs on 2 to 9 machines; of the jobs 70 % arrive within 3,000 s, all
users permit it. A job that is switched while it is alone pays with its efficiency beside others
that fill its gaps, until it starts again. How often the mean JCT is more than 1 % longer and
shorter than without asynchronous training, and the geometric mean of the ratios.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.estimates import Overlap
from motet.domain.units import SECOND_US
from motet.sim.experiment import Experiment
from motet.sim.workload.elastic_work import WorkModels
from motet.sim.workload.subtask_work import SubtaskWork
from motet.sim.workload.workload import Workload
from support.figures import Figure, parser, report

WORKLOADS = 400
EFFICIENCIES = (0.75, 0.9)
MIXES = {"balanced": (1.0, 9.0), "computation-heavy": (5.0, 20.0)}
"""COMP on one machine as a multiple of COMM: the least and the most, before its spread."""
ARRIVE_WITHIN_S = 3_000
OTHER = 0.01
"""Relative: a smaller difference is none."""


def workload(mix: str, seed: int) -> tuple[Workload, ClusterSpec]:
    """The jobs of a seed, and their cluster."""
    rng = np.random.default_rng([seed, 62])
    jobs, machines = int(rng.integers(2, 6)), int(rng.integers(2, 10))
    comm_s = np.exp(rng.normal(2.0, 0.7, jobs))
    comp_s = comm_s * rng.uniform(*MIXES[mix], jobs) * np.exp(rng.normal(0.0, 0.8, jobs))
    steps = rng.integers(20, 300, jobs)
    arrives = rng.random(jobs) < 0.7
    submit_us = (arrives * rng.integers(0, ARRIVE_WITHIN_S, jobs) * SECOND_US).tolist()
    work = WorkModels.of(
        steps.tolist(),
        2,
        (1.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        workers=[1] * jobs,
        max_workers=[machines] * jobs,
        subtasks=SubtaskWork.of(comp_s, comm_s),
    )
    names = [f"j{number}" for number in range(jobs)]
    return Workload.of(names, submit_us, 0, 0, work=work), ClusterSpec.uniform(machines, 1)


def jct_s(mix: str, seed: int, efficiency: float) -> float:
    """The mean; 0: no job is asynchronous."""
    found, cluster = workload(mix, seed)
    work = found.work
    assert work is not None
    assert work.subtasks is not None
    if efficiency:
        every = np.ones(len(found))
        permitted = replace(
            work.subtasks,
            overlap=every.astype(np.int64) * Overlap.PERMITTED,
            async_efficiency=every * efficiency,
        )
        found = replace(found, work=replace(work, subtasks=permitted))
    settings = {"async_efficiency": f"{efficiency:g}"}
    outcome = Experiment("harmony", settings, seed).run(found, cluster)
    return float(outcome.jct_us.mean()) / SECOND_US


def times_as_long(mix: str, seed: int) -> list[float]:
    """Mean JCT with it divided by that without it, for each efficiency."""
    before = jct_s(mix, seed, 0.0)
    return [jct_s(mix, seed, each) / before for each in EFFICIENCIES]


def _figures(mix: str, count: int) -> Iterator[Figure]:
    ratios = np.array([times_as_long(mix, seed) for seed in range(count)])
    for efficiency, column in zip(EFFICIENCIES, ratios.T, strict=True):
        longer, shorter = int((column > 1 + OTHER).sum()), int((column < 1 - OTHER).sum())
        mean = float(np.exp(np.log(column).mean()))
        told = f"longer in {longer}, shorter in {shorter} of {count}; mean {mean:.3f}"
        yield Figure(f"{mix}, efficiency {efficiency:g}: JCT with it / without", told)


def main() -> None:
    """All workloads."""
    arguments = parser(__doc__.splitlines()[0]).parse_args()
    count = 20 if arguments.quick else WORKLOADS
    figures = [figure for mix in MIXES for figure in _figures(mix, count)]
    report("harmony_async_few", "Harmony: few asynchronous jobs", figures, plot=False)


if __name__ == "__main__":
    main()
