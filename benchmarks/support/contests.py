"""Policies on the same workloads: who runs where, what was measured, ratios over seeds."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.units import SECOND_US
from motet.interfaces.simulation_pool import run_all
from motet.interfaces.simulation_runs import Scenario, SimulationTask
from motet.report.rendering.json_text import to_json
from motet.report.simulation.group_estimates import Estimate
from motet.sim.cluster_file import open_cluster
from motet.sim.experiment import Experiment
from motet.sim.generate.named import AnyRecipe, draw, drawn_trace
from motet.sim.metrics.finish_time import FinishTimes
from motet.sim.metrics.quality import average_normalised_loss, time_to_reduction_s
from motet.sim.metrics.results import SimulationResult
from motet.sim.replay.outcome import Outcome
from motet.sim.traces.trace import Trace
from motet.sim.traces.writing import motet_csv

DATA = Path(__file__).resolve().parents[1] / "data"
MOMENTS = 200
REDUCTIONS = tuple(round(0.5 + 0.01 * step, 2) for step in range(50))
"""Parts of a job's whole reduction of its loss."""


@dataclass(frozen=True)
class Scene:
    """A workload that every seed draws anew, a cluster, and settings ("name=value") for all.

    `cluster`: a size, or the name of a file in benchmarks/data. `recipe`: of a workload that is not
    among the named ones; `trace` is its name then.
    """

    trace: str
    cluster: str
    settings: tuple[str, ...] = ()
    recipe: AnyRecipe | None = None

    def drawn(self, seed: int) -> Trace:
        """The workload of a seed."""
        if self.recipe is None:
            return drawn_trace(self.trace, seed)
        workload = draw(self.recipe, np.random.default_rng(seed))
        sha256 = hashlib.sha256(motet_csv(workload).encode()).hexdigest()
        return Trace(workload, "generated", sha256)

    def opened_cluster(self) -> ClusterSpec:
        """The machines."""
        file = DATA / f"{self.cluster}.csv"
        return open_cluster(str(file) if file.exists() else self.cluster)

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.trace} on {self.cluster}"

    @property
    def slug(self) -> str:
        """For file names: it tells settings apart."""
        return _slug([self.trace, self.cluster, *self.settings])


@dataclass(frozen=True)
class Contender:
    """A policy with settings of its own."""

    label: str
    policy: str
    settings: tuple[str, ...] = ()

    @classmethod
    def plain(cls, policy: str) -> Contender:
        """As it is."""
        return cls(policy, policy)

    @property
    def slug(self) -> str:
        """For file names: not by the label, which may be worded anew."""
        return _slug([Path(self.policy).stem, *self.settings])


@dataclass(frozen=True)
class Contest:
    """Who is compared on a scene, over these seeds."""

    scene: Scene
    contenders: Sequence[Contender]
    seeds: Sequence[int]

    def files(self, folder: Path) -> dict[tuple[Contender, int], Path]:
        """Where each run's figures are kept."""
        return {
            (one, seed): folder / f"{self.scene.slug}-{one.slug}-{seed}.json"
            for one in self.contenders
            for seed in self.seeds
        }

    def measure(self, folder: Path, *, again: bool) -> None:
        """Simulate what has no file yet; every run is kept as soon as it is finished."""
        files = self.files(folder)
        missing = [key for key, path in files.items() if again or not path.exists()]
        cluster = self.scene.opened_cluster()
        traces = {seed: self.scene.drawn(seed) for _, seed in missing}
        runs = []
        for one, seed in missing:
            settings = dict(text.split("=", 1) for text in (*self.scene.settings, *one.settings))
            scenario = Scenario(traces[seed].workload, traces[seed].sha256, cluster)
            runs.append(SimulationTask(Experiment(one.policy, settings, seed), scenario))

        def keep(number: int, result: SimulationResult) -> None:
            path = files[missing[number]]
            path.write_text(to_json(measured(result)), encoding="utf-8")
            print(f"{path.name}: {result.wall_s:.1f} s", flush=True)

        if runs:
            folder.mkdir(parents=True, exist_ok=True)
            run_all(runs, keep=keep)

    def results(self, folder: Path) -> Results:
        """Of what was measured. Raises FileNotFoundError where something was not."""
        found: dict[str, dict[int, dict[str, Any]]] = {}
        for (one, seed), path in self.files(folder).items():
            found.setdefault(one.label, {})[seed] = json.loads(path.read_text(encoding="utf-8"))
        return Results(self.scene, found)


@dataclass(frozen=True)
class Results:
    """`runs[label][seed]`: documents as `measured` makes them."""

    scene: Scene
    runs: Mapping[str, Mapping[int, Mapping[str, Any]]]

    def values(self, label: str, *keys: str) -> list[float]:
        """By seed."""
        return [_at(document, keys) for document in self.runs[label].values()]

    def mean(self, label: str, *keys: str) -> Estimate:
        """Over seeds."""
        return Estimate.of(self.values(label, *keys))

    def ratio(self, label: str, base: str, *keys: str) -> Estimate:
        """The mean of the seeds' ratios: what both have in common cancels out."""
        pairs = zip(self.values(label, *keys), self.values(base, *keys), strict=True)
        return Estimate.of([value / other for value, other in pairs])


def measured(result: SimulationResult) -> dict[str, Any]:
    """The run's summary, with the curves that pages show; `experiment_s`: from an experiment's
    first submission to its end, on average."""
    outcome = result.outcome
    times = FinishTimes.of_outcome(outcome)
    curves = {"rho": sorted(times.rho[~np.isnan(times.rho)].tolist())}
    if outcome.workload.work is not None:
        curves |= _quality_curves(outcome)
    shared_s = times.rho * times.ideal_us / SECOND_US
    return {**result.summary, "experiment_s": float(np.nanmean(shared_s)), "curves": curves}


def _quality_curves(outcome: Outcome) -> dict[str, list[float]]:
    """Loss over the time of submissions; mean time to every part of the reduction."""
    submit_us = outcome.workload.submit_us
    times_us = np.linspace(int(submit_us[0]), int(submit_us[-1]), MOMENTS).astype(np.int64)
    losses = average_normalised_loss(outcome, times_us)
    times_s = [np.nanmean(time_to_reduction_s(outcome, part)) for part in REDUCTIONS]
    return {
        "time_s": (times_us / SECOND_US).tolist(),
        "normalised_loss": losses.tolist(),
        "time_to_reduction_s": [float(time_s) for time_s in times_s],
    }


def plus_minus(estimate: Estimate, digits: int = 2) -> str:
    """`0.88 ±0.03`; thousands are told apart."""
    text = f"{estimate.mean:,.{digits}f}"
    return text if estimate.half_width is None else f"{text} ±{estimate.half_width:,.{digits}f}"


def _at(document: Mapping[str, Any], keys: Iterable[str]) -> float:
    value: Any = document
    for key in keys:
        value = value[key]
    return float("nan") if value is None else float(value)


def _slug(parts: Sequence[str]) -> str:
    return re.sub(r"[^\w.=+]+", "_", "-".join(parts))
