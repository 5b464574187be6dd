"""Simulations in groups that differ in their seed only, and each against the first of them.

A run is compared with the first group's run of the same seed: what both have in common, the jobs
that the seed drew, cancels out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from motet.report.confidence import confidence_half_width
from motet.report.simulated_jobs import Pairs, paired
from motet.report.simulation_folder import StoredRun
from motet.report.winners import WinnersAndLosers

MEASURES = ("mean", "median", "p95")


class Estimate(NamedTuple):
    """Over seeds. `half_width`: of Student's 95 % interval; None for a single value."""

    mean: float
    half_width: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """NaN for no value."""
        if not values:
            return cls(math.nan, None)
        half_width = confidence_half_width(values) if len(values) > 1 else None
        return cls(math.fsum(values) / len(values), half_width)


@dataclass(frozen=True, eq=False)
class Contender:
    """A policy (and value of a swept parameter): a run per seed."""

    label: str
    runs: Mapping[int, StoredRun]

    def estimate(self, *keys: str) -> Estimate:
        """Of a number in the runs' documents."""
        return Estimate.of([_number(run.document, keys) for run in self.runs.values()])

    def relabelled(self, label: str) -> Contender:
        """With every run."""
        runs = {
            seed: replace(run, simulated=replace(run.simulated, label=label))
            for seed, run in self.runs.items()
        }
        return Contender(label, runs)


@dataclass(frozen=True, eq=False)
class Match:
    """A contender against the first. `by_seed`: the runs of both that belong together."""

    first: Contender
    other: Contender
    by_seed: Mapping[int, tuple[StoredRun, StoredRun]]

    @classmethod
    def of(cls, first: Contender, other: Contender) -> Match:
        """Two single runs are compared even if their seeds differ."""
        if len(first.runs) == len(other.runs) == 1:
            (one,), ((seed, two),) = first.runs.values(), other.runs.items()
            return cls(first, other, {seed: (one, two)})
        common = [seed for seed in other.runs if seed in first.runs]
        return cls(first, other, {seed: (first.runs[seed], other.runs[seed]) for seed in common})

    @property
    def is_of_same_jobs(self) -> bool:
        """Whether both of every pair replayed the same trace."""
        return all(
            one.document["trace_sha256"] == two.document["trace_sha256"]
            for one, two in self.by_seed.values()
        )

    def ratios(self, seed: int) -> dict[str, float]:
        """Completion times of one seed over the first's; NaN without a partner."""
        if seed not in self.by_seed:
            return dict.fromkeys(MEASURES, math.nan)
        before, after = (run.document["jct_s"] for run in self.by_seed[seed])
        return {name: _ratio(after[name], before[name]) for name in MEASURES}

    def relative(self, measure: str) -> Estimate:
        """The mean of the seeds' ratios."""
        return Estimate.of([self.ratios(seed)[measure] for seed in self.by_seed])

    def job_pairs(self) -> dict[int, Pairs]:
        """Jobs that finished in both, by seed."""
        return {
            seed: paired(one.simulated, two.simulated) for seed, (one, two) in self.by_seed.items()
        }

    def winners_and_losers(self) -> WinnersAndLosers:
        """Over all seeds."""
        return WinnersAndLosers.of(self.other.label, self.first.label, self.job_pairs())

    def as_dict(self) -> dict[str, Any]:
        """An entry of the document; `..._half_width` are None for a single seed."""
        jct = {name: self.other.estimate("jct_s", name) for name in MEASURES}
        relative = {name: self.relative(name) for name in MEASURES}
        return {
            "label": self.other.label,
            "seeds": list(self.other.runs),
            "paired_seeds": list(self.by_seed),
            "jct_s": {name: each.mean for name, each in jct.items()},
            "jct_s_half_width": {name: each.half_width for name, each in jct.items()},
            "relative_jct": {name: each.mean for name, each in relative.items()},
            "relative_jct_half_width": {name: each.half_width for name, each in relative.items()},
        }


def contenders(found: Iterable[tuple[Path, StoredRun]]) -> list[Contender]:
    """Runs with their folders in groups: seeds of a policy on the same scene belong together.

    Where a seed occurs twice the folder tells apart, and it is named.
    """
    groups: dict[tuple[str, ...], list[tuple[Path, StoredRun]]] = {}
    for folder, run in found:
        groups.setdefault(_scene(run), []).append((folder, run))
    parts = [part for same in groups.values() for part in _without_repetition(same)]
    labels = [same[0][1].simulated.label for same in parts]
    named = [
        label if labels.count(label) == 1 else f"{label} in {same[0][0]}"
        for label, same in zip(labels, parts, strict=True)
    ]
    unique = [
        name if named.count(name) == 1 else f"{name} #{named[:place].count(name) + 1}"
        for place, name in enumerate(named)
    ]
    return [
        Contender("", {run.document["seed"]: run for _, run in same}).relabelled(label)
        for label, same in zip(unique, parts, strict=True)
    ]


def _scene(run: StoredRun) -> tuple[str, ...]:
    params = json.dumps(run.document["params"], sort_keys=True)
    return (run.simulated.label, params, run.trace, run.cluster)


def _without_repetition(
    same: Sequence[tuple[Path, StoredRun]],
) -> list[list[tuple[Path, StoredRun]]]:
    seeds = [run.document["seed"] for _, run in same]
    if len(set(seeds)) == len(seeds):
        return [list(same)]
    parts: dict[tuple[Path, int], list[tuple[Path, StoredRun]]] = {}
    for place, (folder, run) in enumerate(same):
        before = [(f, r.document["seed"]) for f, r in same[:place]]
        parts.setdefault((folder, before.count((folder, seeds[place]))), []).append((folder, run))
    return list(parts.values())


def _number(document: Mapping[str, Any], keys: Sequence[str]) -> float:
    value: Any = document
    for key in keys:
        value = value[key]
    return math.nan if value is None else float(value)


def _ratio(value: float | None, base: float | None) -> float:
    return value / base if value is not None and base else math.nan
