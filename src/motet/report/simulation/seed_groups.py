"""Groups of simulations that differ in their seed only, each paired with the first group.

A run is compared with the run of the first group that has the same seed: both simulate the same
drawn jobs, so the differences between seeds cancel out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from motet.domain.errors import BadInput
from motet.report.cluster_run.job_pairs import JobPairs, pair_jobs
from motet.report.simulation.group_estimates import Estimate, GroupEstimates, GroupKeys, nested
from motet.report.simulation.job_ratios import JobRatios
from motet.report.simulation.metric_tables import METRIC_TABLES
from motet.report.simulation.stored_run import StoredRun

JCT_STATISTICS = ("mean", "median", "p95")
_JCT = tuple(("jct_s", name) for name in JCT_STATISTICS)


@dataclass(frozen=True, eq=False)
class SeedGroup:
    """Runs of one policy (and value of a swept parameter) by seed."""

    label: str
    runs: Mapping[int, StoredRun]

    def relabelled(self, label: str) -> SeedGroup:
        """The group and all its runs with another label."""
        runs = {
            seed: replace(run, cluster_run=replace(run.cluster_run, label=label))
            for seed, run in self.runs.items()
        }
        return SeedGroup(label, runs)


@dataclass(frozen=True, eq=False)
class PairedGroups:
    """A group beside the first group. `by_seed`: a run of the first group and one of `other`."""

    first: SeedGroup
    other: SeedGroup
    by_seed: Mapping[int, tuple[StoredRun, StoredRun]]

    @classmethod
    def of(cls, first: SeedGroup, other: SeedGroup) -> PairedGroups:
        """Pairs runs of equal seeds; two groups of one run each are paired whatever their seeds."""
        if len(first.runs) == len(other.runs) == 1:
            (one,), ((seed, two),) = first.runs.values(), other.runs.items()
            return cls(first, other, {seed: (one, two)})
        common = [seed for seed in other.runs if seed in first.runs]
        return cls(first, other, {seed: (first.runs[seed], other.runs[seed]) for seed in common})

    @property
    def is_of_same_jobs(self) -> bool:
        """Whether the two runs of every pair replayed the same trace."""
        return all(
            one.document["trace_sha256"] == two.document["trace_sha256"]
            for one, two in self.by_seed.values()
        )

    @property
    def estimates(self) -> GroupEstimates:
        """Metrics of the other group, and their ratios to the first group."""
        documents = [run.document for run in self.other.runs.values()]
        pairs = [(one.document, two.document) for one, two in self.by_seed.values()]
        return GroupEstimates(self.other.label, documents, pairs)

    def ratios(self, seed: int) -> dict[str, Any]:
        """`relative_jct`, `relative_finish_time_fairness`, ... of one seed; NaN without a pair."""
        pair = tuple(run.document for run in self.by_seed.get(seed, ()))
        one = GroupEstimates("", (), [(pair[0], pair[1])] if pair else [])
        return {
            f"relative_{name}": _by_key(metrics, lambda keys: one.relative(keys).mean)
            for name, metrics in self._metrics().items()
        }

    def job_pairs(self) -> dict[int, JobPairs]:
        """Jobs that finished in both runs of a pair, by seed."""
        return {
            seed: pair_jobs(one.cluster_run, two.cluster_run)
            for seed, (one, two) in self.by_seed.items()
        }

    def job_ratios(self) -> JobRatios:
        """Completion times of the jobs, over all seeds."""
        return JobRatios.of(self.other.label, self.first.label, self.job_pairs())

    def as_dict(self) -> dict[str, Any]:
        """An entry of the document; `..._half_width` are None for a single seed."""
        estimates = self.estimates
        found: dict[str, Any] = {
            "label": self.other.label,
            "seeds": list(self.other.runs),
            "paired_seeds": list(self.by_seed),
        }
        for name, metrics in self._metrics().items():
            found |= _with_half_widths(
                "jct_s" if name == "jct" else name, metrics, estimates.estimate
            )
            found |= _with_half_widths(f"relative_{name}", metrics, estimates.relative)
        return found

    def _metrics(self) -> dict[str, Sequence[GroupKeys]]:
        """The compared metrics by their name in the document."""
        tables = [table for table in METRIC_TABLES if table.has_values([self.estimates])]
        return {"jct": _JCT, **{table.key: table.metrics for table in tables}}


def paired_with_first(groups: Sequence[SeedGroup]) -> list[PairedGroups]:
    """Every group beside the first, the first itself included.

    Raises BadInput if two runs of a pair replay different jobs, whose ratios would mean nothing.
    """
    pairs = [PairedGroups.of(groups[0], group) for group in groups]
    other = next((pair for pair in pairs if not pair.is_of_same_jobs), None)
    if other is None:
        return pairs
    one, two = next(iter(other.by_seed.values()))
    replayed = f"{other.first.label} replays {_jobs_of(one)}, {other.other.label} {_jobs_of(two)}"
    raise BadInput(
        f"{replayed}: times of different jobs do not compare; simulate all policies on the same "
        "trace, with the same --seed if it is drawn"
    )


def _jobs_of(run: StoredRun) -> str:
    """`jobs.csv (seed 0, sha256 5f2c...)`."""
    sha256 = str(run.document["trace_sha256"])[:12]
    return f"{Path(run.trace).name} (seed {run.document['seed']}, sha256 {sha256})"


def seed_groups(found: Iterable[tuple[Path, StoredRun]]) -> list[SeedGroup]:
    """Groups of runs with the same policy, parameters, trace and cluster; seeds are unique in each.

    `found`: runs with their folders. Groups with equal labels are distinguished by folder, then by
    number.
    """
    by_setting: dict[tuple[str, ...], list[tuple[Path, StoredRun]]] = {}
    for folder, run in found:
        by_setting.setdefault(_setting_of(run), []).append((folder, run))
    parts = [part for same in by_setting.values() for part in _without_repeated_seeds(same)]
    labels = _unique_labels(parts)
    return [
        SeedGroup("", {run.document["seed"]: run for _, run in same}).relabelled(label)
        for label, same in zip(labels, parts, strict=True)
    ]


def _setting_of(run: StoredRun) -> tuple[str, ...]:
    params = json.dumps(run.document["params"], sort_keys=True)
    return (run.cluster_run.label, params, run.trace, run.cluster)


def _unique_labels(parts: Sequence[Sequence[tuple[Path, StoredRun]]]) -> list[str]:
    labels = [same[0][1].cluster_run.label for same in parts]
    with_folder = [
        label if labels.count(label) == 1 else f"{label} in {same[0][0]}"
        for label, same in zip(labels, parts, strict=True)
    ]
    return [
        name if with_folder.count(name) == 1 else f"{name} #{with_folder[:place].count(name) + 1}"
        for place, name in enumerate(with_folder)
    ]


def _without_repeated_seeds(
    same: Sequence[tuple[Path, StoredRun]],
) -> list[list[tuple[Path, StoredRun]]]:
    """One group, or several by folder where a seed occurs more than once."""
    seeds = [run.document["seed"] for _, run in same]
    if len(set(seeds)) == len(seeds):
        return [list(same)]
    parts: dict[tuple[Path, int], list[tuple[Path, StoredRun]]] = {}
    for place, (folder, run) in enumerate(same):
        before = [(f, r.document["seed"]) for f, r in same[:place]]
        parts.setdefault((folder, before.count((folder, seeds[place]))), []).append((folder, run))
    return list(parts.values())


def _with_half_widths(
    name: str, metrics: Sequence[GroupKeys], estimate: Callable[[GroupKeys], Estimate]
) -> dict[str, Any]:
    return {
        name: _by_key(metrics, lambda keys: estimate(keys).mean),
        f"{name}_half_width": _by_key(metrics, lambda keys: estimate(keys).half_width),
    }


def _by_key(metrics: Sequence[GroupKeys], of: Callable[[GroupKeys], Any]) -> dict[str, Any]:
    """Nested values without the first key, which all metrics share."""
    return nested({keys[1:]: of(keys) for keys in metrics})
