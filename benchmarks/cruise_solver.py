"""CPU-seconds and quality of Cruise's solver, after the kernels are compiled.

Jobs and fleets are drawn at random: bandwidths differ by pair of types within a factor of 16,
machines by one of 10, and the best configuration lies anywhere between few and most workers.
Quality is the predicted epoch over the optimum by brute force.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from motet.cruise.search.problem import RoleMode, SearchProblem
from motet.cruise.search.solver import best_configuration
from motet.estimate.epoch_cost import Fleet, Profile
from support.figures import Figure, parser, report

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from cruise_cases import random_case
from cruise_oracles import every_way_s

Case = tuple[Profile, Fleet]
SPEEDS = (
    ("N=32, 1 type", 32, 1, 256, 96, 0.05),
    ("N=32, 2 types", 32, 2, 256, 96, 0.05),
    ("N=32, 4 types", 32, 4, 256, 96, None),
    ("N=1,000, 2 types", 1_000, 2, 8_000, 1_024, 1.0),
    ("N=1,000, 4 types", 1_000, 4, 8_000, 1_024, 1.0),
)
QUALITIES = (
    ("N<=16, 1 to 4 types", 200, None),
    ("N=60, 3 types", 10, (60, 3, 240, 24)),
    ("N=300, 2 types", 10, (300, 2, 1_200, 64)),
    ("N=1,000, 2 types", 6, (1_000, 2, 4_000, 64)),
)
GAP_TARGET = 1.005


def solved(case: Case) -> tuple[float, float]:
    """The predicted epoch and the solver's CPU-seconds."""
    began_s = time.process_time()
    epoch_s = best_configuration(*case).epoch_s
    return epoch_s, time.process_time() - began_s


def speed(name: str, cases: list[Case], limit_s: float | None) -> Figure:
    """The slowest case beside its limit."""
    solved(cases[0])
    taken_s = [solved(case)[1] for case in cases]
    median_ms, worst_s = 1e3 * float(np.median(taken_s)), max(taken_s)
    return Figure(
        f"{name}: slowest of {len(cases)}",
        f"{1e3 * worst_s:.1f} ms",
        f"median {median_ms:.1f} ms",
        worst_s,
        limit_s,
        at_least=False,
    )


def quality(name: str, cases: list[Case]) -> Figure:
    """The worst ratio to the optimum."""
    ratios = np.array(
        [
            solved(case)[0] / every_way_s(SearchProblem.of(*case, RoleMode.SEPARATE))
            for case in cases
        ]
    )
    exact = float((ratios < 1 + 1e-6).mean())
    return Figure(
        f"{name}: furthest of {len(cases)} from optimum",
        f"{ratios.max() - 1:.3%}",
        f"{exact:.0%} optimal",
        float(ratios.max()),
        GAP_TARGET,
        at_least=False,
    )


def small_case(seed: int) -> Case:
    """Up to 16 machines of up to 4 types."""
    rng = np.random.default_rng([seed, 1])
    types = int(rng.integers(1, 5))
    machines = int(rng.integers(max(types, 2), 17))
    blocks = int(rng.integers(machines, 200)), int(rng.integers(8, 40))
    return random_case(seed, machines, types, *blocks)


def main() -> None:
    """Speeds, then qualities."""
    arguments = parser(main.__doc__ or "").parse_args()
    repeats = 3 if arguments.quick else 20
    figures = [
        speed(name, [random_case(seed, *shape) for seed in range(repeats)], limit_s)
        for name, *shape, limit_s in SPEEDS
    ]
    for name, count, shape in QUALITIES:
        seeds = range(count // 5 if arguments.quick else count)
        cases = [small_case(s) if shape is None else random_case(s, *shape) for s in seeds]
        figures.append(quality(name, cases))
    report("cruise_solver", "Cruise's solver: CPU time of one core, and distance", figures)


if __name__ == "__main__":
    main()
