"""CPU-seconds of simulations, with placement and wait reasons, after the kernels are compiled.

Philly's log (82,247 jobs) under every policy, where it is at hand, with and without the decision
log; generated workloads of growing size at a constant load, so that the cost of an event can be
seen against the number of jobs; a year of a large cluster in Helios' shape, a million jobs.

    python benchmarks/simulator.py [--quick] [--policy NAME]...
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.engine.ports import Journal
from motet.sim.experiment import Experiment
from motet.sim.generate import (
    Recipe,
    draw,
    generate,
    parse_arrivals,
    parse_durations,
    parse_mix,
    parse_recipe,
)
from motet.sim.replay.outcome import Outcome
from motet.sim.traces import read_trace
from motet.sim.workload.workload import Workload
from support.figures import Figure, parser, report
from support.side_by_side import real_or_generated

POLICY, FREE = "tiresias-las", {"preemption_cost": "0"}
DEFAULT_LIMIT_S = {"60x8": 60.0, "80x8": 30.0}
LIMITS_S = {
    "60x8": {"fifo": 15.0, "tiresias-las": 15.0},
    "80x8": {"fifo": 8.0, "tiresias-las": 8.0},
}
SLOW_LIMIT_S = dict.fromkeys(("themis", "gandiva", "slaq"), 120.0)
YEAR_LIMITS_S = {"fifo": 100.0, "tiresias-las": 150.0, "yarn-cs": 150.0}
LOG_TIMES = 1.3
SIZES = (5_000, 20_000, 100_000, 1_000_000)
LIMIT_S = {5_000: 1.0}


def timed(
    workload: Workload, cluster: str, policy: str = POLICY, journal: Journal | None = None
) -> tuple[Outcome, float]:
    """A simulation and its CPU-seconds."""
    began_s = time.process_time()
    outcome = Experiment(policy, FREE).run(workload, ClusterSpec.parse(cluster), journal=journal)
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


def of_philly(policies: list[str]) -> list[Figure]:
    """Philly's log under each of these, and with the decision log under one; none without it."""
    path, is_real = real_or_generated("../traces/philly.csv.gz", "")
    if not is_real:
        return []
    philly, figures = read_trace(Path(path)).workload, []
    for policy in policies:
        timed(synthetic(300), "15x4", policy)
        for cluster, usual_s in DEFAULT_LIMIT_S.items():
            limit_s = SLOW_LIMIT_S.get(policy, LIMITS_S[cluster].get(policy, usual_s))
            run = timed(philly, cluster, policy)
            figures.append(figure(f"{policy}, Philly on {cluster}", *run, limit_s))
            if policy in LIMITS_S[cluster]:
                figures.append(with_log(philly, cluster, policy, run[1]))
    return figures


def with_log(workload: Workload, cluster: str, policy: str, without_s: float) -> Figure:
    """How many times as long the simulation takes with the decision log, kept nowhere."""
    _, cpu_s = timed(workload, cluster, policy, DecisionLog(lambda entry: None))
    name, times = f"{policy} on {cluster}, decision log", cpu_s / without_s
    measured, without = f"{cpu_s:.2f} CPU-s", f"{without_s:.2f} CPU-s"
    return Figure(name, measured, without, times, LOG_TIMES, at_least=False)


def of_a_year() -> list[Figure]:
    """A million jobs of Helios' shape."""
    year = draw(parse_recipe("helios-year", None, None, None), np.random.default_rng(0))
    return [
        figure(f"{policy}, a million jobs on 128x8", *timed(year, "128x8", policy), limit_s)
        for policy, limit_s in YEAR_LIMITS_S.items()
    ]


def main() -> None:
    """Every workload once."""
    options = parser((main.__doc__ or "").strip())
    options.add_argument("--policy", action="append", choices=[*built_in_policies()])
    arguments = options.parse_args()
    timed(synthetic(300), "15x4")
    figures = of_philly(arguments.policy or [*built_in_policies()])
    for jobs in SIZES[: 2 if arguments.quick else None]:
        outcome, cpu_s = timed(synthetic(jobs), "64x8")
        figures.append(figure(f"{jobs:,} jobs on 64x8", outcome, cpu_s, LIMIT_S.get(jobs)))
    if not arguments.quick:
        figures += of_a_year()
    report("simulator", "Simulations, CPU-seconds of one core", figures)


if __name__ == "__main__":
    main()
