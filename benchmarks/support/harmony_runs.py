"""Simulations for Harmony's page: scenes, contenders, and what is kept of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.estimates import Overlap
from motet.domain.units import GIGA, SECOND_US
from motet.report.simulation.group_estimates import Estimate
from motet.sim.experiment import Experiment
from motet.sim.generate import draw, parse_recipe
from motet.sim.replay.outcome import Outcome
from motet.sim.workload.workload import Workload
from support.contests import plus_minus
from support.figures import Figure

MACHINES = 100
PROCESSES = 2


@dataclass(frozen=True)
class GroupScene:
    """A workload that every seed draws anew. `arrivals`: None: all at once; `jobs`: None: those of
    the mix; `async_efficiency`: all users permit asynchronous training, in which an iteration is
    worth so much of another one; 0: none does."""

    name: str
    mix: str
    arrivals: str | None = None
    jobs: int | None = None
    machines: int = MACHINES
    async_efficiency: float = 0.0

    def workload(self, seed: int) -> Workload:
        """The jobs of a seed."""
        recipe = parse_recipe(self.mix, self.jobs, self.arrivals, None)
        found = draw(recipe, np.random.default_rng(seed))
        work = found.work
        if not self.async_efficiency or work is None or work.subtasks is None:
            return found
        every = np.ones(len(found))
        permitted = replace(
            work.subtasks,
            overlap=every.astype(np.int64) * Overlap.PERMITTED,
            async_efficiency=every * self.async_efficiency,
        )
        return replace(found, work=replace(work, subtasks=permitted))


@dataclass(frozen=True)
class Grouper:
    """Settings of the policy `harmony`, as "name=value"."""

    name: str
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class GroupRun:
    """One simulation."""

    scene: GroupScene
    grouper: Grouper
    seed: int

    def file(self, folder: Path) -> Path:
        """Where its figures are kept."""
        settings = "".join(f"-{text}" for text in self.grouper.settings)
        return folder / f"{self.scene.name}{settings}-{self.seed}.json"

    def figures(self) -> dict[str, float]:
        """Simulate it."""
        settings = dict(text.split("=", 1) for text in self.grouper.settings)
        machines = np.ones(self.scene.machines, dtype=np.int64)
        cluster = ClusterSpec.of(machines, memory_bytes=32 * GIGA)
        experiment = Experiment("harmony", settings, self.seed)
        outcome = experiment.run(self.scene.workload(self.seed), cluster)
        return figures_of(outcome, self.scene.machines)


def figures_of(outcome: Outcome, machines: int = MACHINES) -> dict[str, float]:
    """Seconds, parts of the time in which CPUs and networks are in use, mean numbers of jobs and
    groups that run, the part of machine time in restarts.
    """
    assert outcome.is_finished.all()
    work = outcome.workload.work
    assert work is not None
    assert work.subtasks is not None
    trained, holds = outcome.trained, outcome.holds
    steps = trained.last_step - trained.first_step
    makespan_s = float(outcome.columns["end_us"].max()) / SECOND_US
    whole_s = machines * makespan_s
    comp_s = float((steps * work.subtasks.comp_s[trained.job]).sum())
    comm_s = float((steps * work.subtasks.comm_s[trained.job] * trained.workers).sum())
    held_s = (holds.end_us - holds.start_us) / SECOND_US
    own, first = np.unique(np.stack([holds.job, holds.start_us]), axis=1, return_index=True)
    del own
    return {
        "jct_s": float(outcome.jct_us.mean()) / SECOND_US,
        "makespan_s": makespan_s,
        "cpu": comp_s / whole_s,
        "network": comm_s / whole_s,
        "jobs": float(held_s[first].sum()) / makespan_s,
        "groups": float((held_s / holds.sharers)[first].sum()) / makespan_s,
        "restarting": float(outcome.columns["overhead_us"].sum())
        / float(outcome.columns["executed_us"].sum()),
    }


def measure_runs(runs: Sequence[GroupRun], folder: Path, *, again: bool) -> None:
    """Simulate what has no file yet; every run is kept as soon as it is finished."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [run for run in runs if again or not run.file(folder).exists()]
    with get_context("spawn").Pool(PROCESSES) as pool:
        for run, figures in pool.imap(_measured, missing):
            run.file(folder).write_text(json.dumps(figures), encoding="utf-8")
            print(run.file(folder).name, figures, flush=True)


def figures_in(folder: Path, runs: Iterable[GroupRun]) -> list[dict[str, float]]:
    """Of what was measured. Raises FileNotFoundError where something was not."""
    return [json.loads(run.file(folder).read_text(encoding="utf-8")) for run in runs]


def ratio_figures(
    title: str,
    names: Mapping[str, str],
    before: Sequence[Mapping[str, float]],
    after: Sequence[Mapping[str, float]],
) -> list[Figure]:
    """How many times as much it was before, over seeds; `names`: the title of each key."""
    figures = []
    for key, name in names.items():
        pairs = zip(before, after, strict=True)
        found = Estimate.of([one[key] / other[key] for one, other in pairs])
        figures.append(Figure(f"{title}: {name}", plus_minus(found)))
    return figures


def _measured(run: GroupRun) -> tuple[GroupRun, dict[str, float]]:
    return run, run.figures()
