"""Why Harmony shortens the mean JCT by less than the makespan, in simulations.

    python benchmarks/harmony_jct.py [--quick]

By Little's law the mean JCT is the makespan times the mean part of the jobs that have not ended. So
the ratio of JCTs is that of the makespans times that of these parts, and these depend on the order
in which jobs end. Under `isolated` jobs whose data fit on few machines overtake others; here it
also runs in the order of submission. The base workload of `harmony_simulation.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.units import GIGA
from motet.harmony.schedule.apart import isolated_schedule
from motet.harmony.schedule.held_groups import GroupPlan, Scene
from motet.policies.harmony import Harmony
from motet.report.simulation.group_estimates import Estimate
from motet.sim.experiment import Experiment
from motet.sim.replay.outcome import Outcome
from support.contests import plus_minus
from support.figures import RESULTS, Figure, parser, report
from support.harmony_page import BASE, DISK
from support.harmony_runs import MACHINES, figures_of

SEEDS, FOLDER = 5, RESULTS / "harmony_jct"
NO_MACHINE_HAS = 1e18
"""Bytes: a job that needs so many does not start."""


@dataclass(frozen=True)
class InOrder(Harmony):
    """Every job alone; one that lacks machines holds back all that were submitted later."""

    def _schedule(self, scene: Scene, numbers: Ints) -> GroupPlan:
        memory = scene.costs.memory_bytes.copy()
        problem, free = scene.problem(MACHINES), len(scene.machines)
        for job in sorted(scene.order, key=lambda job: job not in scene.running):
            free -= int(problem.costs.least_machines(job, scene.machine_memory_bytes))
            if free < 0:
                memory[job] = NO_MACHINE_HAS
        known = replace(scene, costs=scene.costs._replace(memory_bytes=memory))
        return isolated_schedule(known)


def _isolated() -> Experiment:
    return Experiment("harmony", {"grouping": "isolated", "reloading": "false"})


SCHEDULES: dict[str, Callable[[], Experiment]] = {
    "isolated": _isolated,
    "isolated, in order": lambda: replace(Experiment("harmony"), given=InOrder(reloading=False)),
    "harmony": lambda: Experiment("harmony", dict([DISK.split("=")])),
}


def figures_of_run(name: str, seed: int) -> dict[str, float]:
    """Of one simulation; kept in a file."""
    path = FOLDER / f"{name}-{seed}.json"
    if not path.exists():
        cluster = ClusterSpec.of(np.ones(MACHINES, np.int64), memory_bytes=32 * GIGA)
        outcome = replace(SCHEDULES[name](), seed=seed).run(BASE.workload(seed), cluster)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_figures(outcome)), encoding="utf-8")
    found: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _figures(outcome: Outcome) -> dict[str, float]:
    found, jobs, holds = figures_of(outcome), len(outcome.jct_us), outcome.holds
    held_us = ((holds.end_us - holds.start_us) * holds.gpus / holds.sharers).sum()
    held = float(held_us) / outcome.columns["end_us"].max() / MACHINES
    return {
        "JCT, h": found["jct_s"] / 3600,
        "makespan, h": found["makespan_s"] / 3600,
        "jobs at a time": found["jobs"],
        "JCT / makespan": found["jct_s"] / found["makespan_s"],
        "the same if jobs ended evenly": (1 + found["jobs"] / jobs) / 2,
        "machines held, %": 100 * held,
        "CPU of held machines, %": 100 * found["cpu"] / held,
    }


def main() -> None:
    """All schedules; with --quick one seed."""
    seeds = range(1 if parser(__doc__.splitlines()[0]).parse_args().quick else SEEDS)
    runs = {name: [figures_of_run(name, seed) for seed in seeds] for name in SCHEDULES}
    figures = []
    for name, found in runs.items():
        for key in found[0]:
            told = plus_minus(Estimate.of([each[key] for each in found]))
            figures.append(Figure(f"{name}: {key}", told))
        pairs = zip(found, runs["harmony"], strict=True)
        gains = Estimate.of([one["JCT, h"] / other["JCT, h"] for one, other in pairs])
        figures.append(Figure(f"{name}: JCT / that of harmony", plus_minus(gains)))
    report("harmony_jct", "Harmony: JCT and makespan", figures, plot=False)


if __name__ == "__main__":
    main()
