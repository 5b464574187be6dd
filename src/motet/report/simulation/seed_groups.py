"""Simulations in groups that differ in their seed only, and each against the first of them.

A run is compared with the first group's run of the same seed: what both have in common, the jobs
that the seed drew, cancels out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from motet.report.cluster_run.jobs import Pairs, paired
from motet.report.cluster_run.metrics import VIEWS
from motet.report.cluster_run.standing import Estimate, Keys, Standing, nested
from motet.report.simulation.folder import StoredRun
from motet.report.simulation.job_ratios import WinnersAndLosers

MEASURES = ("mean", "median", "p95")
_JCT = tuple(("jct_s", name) for name in MEASURES)


@dataclass(frozen=True, eq=False)
class Contender:
    """A policy (and value of a swept parameter): a run per seed."""

    label: str
    runs: Mapping[int, StoredRun]

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

    @property
    def standing(self) -> Standing:
        """The other's."""
        documents = [run.document for run in self.other.runs.values()]
        pairs = [(one.document, two.document) for one, two in self.by_seed.values()]
        return Standing(self.other.label, documents, pairs)

    def ratios(self, seed: int) -> dict[str, Any]:
        """`relative_jct` and so on: of one seed, over the first's; NaN without a partner."""
        pair = tuple(run.document for run in self.by_seed.get(seed, ()))
        one = Standing("", (), [(pair[0], pair[1])] if pair else [])
        return {
            f"relative_{name}": _of_measures(measures, lambda keys: one.relative(keys).mean)
            for name, measures in self._measures().items()
        }

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
        standing = self.standing
        found: dict[str, Any] = {
            "label": self.other.label,
            "seeds": list(self.other.runs),
            "paired_seeds": list(self.by_seed),
        }
        for name, measures in self._measures().items():
            found |= _estimates("jct_s" if name == "jct" else name, measures, standing.estimate)
            found |= _estimates(f"relative_{name}", measures, standing.relative)
        return found

    def _measures(self) -> dict[str, Sequence[Keys]]:
        """What is compared, by its name in the document."""
        views = [view for view in VIEWS if view.is_known([self.standing])]
        return {"jct": _JCT, **{view.key: view.measures for view in views}}


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


def _estimates(
    name: str, measures: Sequence[Keys], estimate: Callable[[Keys], Estimate]
) -> dict[str, Any]:
    return {
        name: _of_measures(measures, lambda keys: estimate(keys).mean),
        f"{name}_half_width": _of_measures(measures, lambda keys: estimate(keys).half_width),
    }


def _of_measures(measures: Sequence[Keys], of: Callable[[Keys], Any]) -> dict[str, Any]:
    """Without their common first key."""
    return nested({keys[1:]: of(keys) for keys in measures})
