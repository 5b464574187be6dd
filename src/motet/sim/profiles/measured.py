"""The measurements that apply to the jobs and machines of one simulation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Self

from motet.domain.cluster import ClusterSpec
from motet.domain.model_profile import PROFILES, model_key
from motet.sim.profiles.table import ByGpus, ModelName, ProfileTable, nearest_size

DOES_NOT_FIT = 0.01
"""Relative speed of two packed jobs that ran out of memory; the policy soon separates them."""


class MeasuredSpeeds:
    """Speeds by model index; None, or full speed, without a measurement."""

    def __init__(self, table: ProfileTable, models: Sequence[str], types: Sequence[str]) -> None:
        """`models`: names by index. `types`: of every machine."""
        self._table = table
        self._keys = [table.named(name) for name in models]
        self._names = [ModelName.of(name).model for name in models]
        known = {kind for _, kind in table.alone}
        self._types = [kind.lower() for kind in types]
        self._known = sorted(known.intersection(self._types))
        self._relative: dict[tuple[int, int, str], float] = {}
        self.is_mixed = len(self._known) > 1
        self.is_typed = bool(self._known)

    @classmethod
    def of(cls, table: ProfileTable, models: Sequence[str], cluster: ClusterSpec) -> Self:
        """The measurements for a simulation's models on its machines."""
        return cls(table, models, [cluster.type_names[kind] for kind in cluster.type.tolist()])

    def relative(self, model: int, gpus: int, machines: Iterable[int]) -> float:
        """Speed on the slowest of these machines, relative to the fastest type of the cluster."""
        return min(self._on_type(model, gpus, kind) for kind in self._kinds(machines))

    def spread(self, model: int, gpus: int, machines: Iterable[int]) -> float | None:
        """Relative speed of a gang with every GPU on a separate machine, 0 to 1."""
        key = self._key(model)
        if key is None:
            return None
        found = [self._table.spread.get((key, kind)) for kind in self._kinds(machines)]
        return _least(found, gpus)

    def beside(self, model: int, other: int, gpus: int, machines: Iterable[int]) -> float | None:
        """Relative speed of a job that shares its GPUs with another job, 0 to 1."""
        key, company = self._key(model), self._key(other)
        if key is None or company is None:
            return None
        table, shares = self._table, list[ByGpus | None]()
        for kind in self._kinds(machines):
            together = table.beside.get((key, kind, company), {})
            alone = table.alone.get((key, kind), {})
            sizes = together.keys() & alone.keys()
            shares.append({size: together[size] / alone[size] for size in sizes} or None)
        share = _least(shares, gpus)
        return None if share is None else min(max(share, DOES_NOT_FIT), 1.0)

    def gpu_busy(self, model: int, gpus: int) -> float | None:
        """Fraction of an iteration in which the GPU is busy."""
        return self._of_model(self._table.gpu_busy, model, gpus)

    def restart_s(self, model: int, gpus: int) -> float | None:
        """Seconds to checkpoint, stop, start and restore."""
        return self._of_model(self._table.restart_s, model, gpus)

    def typical_restart_s(self, gpus: int) -> float:
        """The median of all models whose restart was measured or is published."""
        published = {model_key(each.name): each.restart_s for each in PROFILES}
        known = {name: value for name, value in published.items() if value is not None}
        measured = self._table.restart_s
        known |= {name: nearest_size(found, gpus) for name, found in measured.items()}
        return median(known.values())

    def _of_model(self, column: dict[str, dict[int, float]], model: int, gpus: int) -> float | None:
        found = column.get(self._names[model]) if model >= 0 and self._names else None
        return nearest_size(found, gpus) if found else None

    def _key(self, model: int) -> ModelName | None:
        return self._keys[model] if model >= 0 and self._keys else None

    def _kinds(self, machines: Iterable[int]) -> list[str]:
        return sorted({self._types[machine] for machine in machines})

    def _on_type(self, model: int, gpus: int, kind: str) -> float:
        if kind not in self._known:
            return 1.0
        found = self._relative.get((model, gpus, kind))
        if found is None:
            key = self._key(model)
            found = None if key is None else self._share_of_fastest(key, gpus, kind)
            found = self._usual(gpus, kind) if found is None else found
            self._relative[model, gpus, kind] = found
        return found

    def _share_of_fastest(self, key: ModelName, gpus: int, kind: str) -> float | None:
        """None unless all types were measured with gangs of one size."""
        columns = [self._table.alone.get((key, each), {}) for each in self._known]
        sizes = set.intersection(*map(set, columns))
        if not sizes:
            return None
        speeds = [nearest_size({size: column[size] for size in sizes}, gpus) for column in columns]
        return speeds[self._known.index(kind)] / max(speeds)

    def _usual(self, gpus: int, kind: str) -> float:
        """The median over all models that were measured on all of these types."""
        shares = [
            self._share_of_fastest(model, gpus, kind)
            for model in sorted({model for model, _ in self._table.alone})
        ]
        measured = [share for share in shares if share is not None]
        return median(measured) if measured else 1.0


def _least(found: Sequence[ByGpus | None], gpus: int) -> float | None:
    """The minimum over all types; None unless all were measured."""
    shares = [nearest_size(each, gpus) for each in found if each]
    return min(shares) if shares and len(shares) == len(found) else None
