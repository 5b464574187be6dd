"""CPU-seconds of simulations, with placement and wait reasons, after the kernels are compiled.

Philly's log (82,247 jobs) where it is at hand, and generated workloads of growing size at a
constant load, so that the cost of an event can be seen against the number of jobs.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.sim.experiment import Experiment
from motet.sim.generate import Recipe, generate, parse_arrivals, parse_durations, parse_mix
from motet.sim.replay.outcome import Outcome
from motet.sim.traces import read_trace
from motet.sim.workload.workload import Workload
from support.figures import Figure, parser, report
from support.side_by_side import real_or_generated

POLICY, FREE = "tiresias-las", {"preemption_cost": "0"}
PHILLY = {"80x8": 20.0, "60x8": 40.0}
SIZES = (5_000, 20_000, 100_000, 1_000_000)
LIMIT_S = {5_000: 1.0}


def timed(workload: Workload, cluster: str) -> tuple[Outcome, float]:
    """A simulation and its CPU-seconds."""
    began_s = time.process_time()
    outcome = Experiment(POLICY, FREE).run(workload, ClusterSpec.parse(cluster))
    return outcome, time.process_time() - began_s


def synthetic(jobs: int) -> Workload:
    """As many jobs of Tiresias' sizes as keep 512 GPUs busy."""
    recipe = Recipe(
        jobs, parse_mix("tiresias-480"), parse_arrivals("poisson:10"), parse_durations("bins")
    )
    return generate(recipe, np.random.default_rng(0))


def figure(name: str, outcome: Outcome, cpu_s: float, limit_s: float | None) -> Figure:
    """CPU-seconds beside their limit, and decisions per second."""
    rate = outcome.decision_count / cpu_s
    busiest = int(outcome.waiting_jobs.max())
    return Figure(
        f"{name}, at most {busiest:,} wait",
        f"{cpu_s:.2f} CPU-s",
        f"{rate:,.0f} events/s",
        cpu_s,
        limit_s,
        at_least=False,
    )


def main() -> None:
    """Every workload once."""
    arguments = parser(main.__doc__ or "").parse_args()
    timed(synthetic(300), "15x4")
    figures: list[Figure] = []
    path, is_real = real_or_generated("../traces/philly.csv.gz", "")
    if is_real:
        philly = read_trace(Path(path)).workload
        for cluster, limit_s in PHILLY.items():
            figures.append(figure(f"Philly on {cluster}", *timed(philly, cluster), limit_s))
    for jobs in SIZES[: 2 if arguments.quick else None]:
        outcome, cpu_s = timed(synthetic(jobs), "64x8")
        figures.append(figure(f"{jobs:,} jobs on 64x8", outcome, cpu_s, LIMIT_S.get(jobs)))
    report("simulator", f"Simulations under {POLICY}, CPU-seconds of one core", figures)


if __name__ == "__main__":
    main()
