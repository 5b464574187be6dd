"""Measurements of models, and the selection of a measured model for a name in a trace."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple, Self, TypeAlias

from motet.domain.model_profile import ModelProfile, model_key, profile_of

ByGpus: TypeAlias = Mapping[int, float]
"""A measured quantity by gang size."""

USUAL_BATCH_SIZE = 64
"""Default for models without a batch size: the initial batch size of TensorFlow's benchmarks,
which Tiresias trained.
"""

_BATCH_SIZE = re.compile(r"\(batch size (\d+)\)")


class ModelName(NamedTuple):
    """`ResNet-50 (batch size 64)` in parts; `batch_size` 0: none given."""

    model: str
    batch_size: int

    @classmethod
    def of(cls, name: str) -> Self:
        """Parses a name, ignoring its spelling."""
        found = _BATCH_SIZE.search(name.lower())
        return cls(model_key(name), int(found[1]) if found else 0)


def nearest_size(measured: ByGpus, gpus: int) -> float:
    """The value for the largest gang that is not larger, or for the smallest gang."""
    sizes = sorted(measured)
    return measured[sizes[max(bisect_right(sizes, gpus) - 1, 0)]]


@dataclass(frozen=True)
class ProfileTable:
    """`alone`: steps per second by (model, type). `spread`: relative speed of a gang with every GPU
    on a separate machine, 0 to 1. `beside`: steps per second by (model, type, other model); 0 if
    the pair does not fit. By model regardless of its batch size: `gpu_busy`, `restart_s`, and
    `sizes_mb` (of the model and of its largest tensor). Types are in lower case.
    """

    alone: dict[tuple[ModelName, str], dict[int, float]] = field(default_factory=dict)
    spread: dict[tuple[ModelName, str], dict[int, float]] = field(default_factory=dict)
    beside: dict[tuple[ModelName, str, ModelName], dict[int, float]] = field(default_factory=dict)
    gpu_busy: dict[str, dict[int, float]] = field(default_factory=dict)
    restart_s: dict[str, dict[int, float]] = field(default_factory=dict)
    sizes_mb: dict[str, tuple[float, float]] = field(default_factory=dict)

    def named(self, name: str) -> ModelName | None:
        """The measured model for a name: the same model with the nearest_size batch size."""
        asked = ModelName.of(name)
        batch_size = asked.batch_size or USUAL_BATCH_SIZE
        same = {model for model, _ in self.alone if model.model == asked.model}
        return min(
            same,
            key=lambda each: (abs(each.batch_size - batch_size), each.batch_size),
            default=None,
        )

    def profile(self, name: str) -> ModelProfile:
        """Size and skew: as measured here, otherwise as published by Tiresias."""
        known = profile_of(name)
        if model_key(name) not in self.sizes_mb:
            return known
        size_mb, largest_mb = self.sizes_mb[model_key(name)]
        return replace(known, name=name, size_mb=size_mb, largest_mb=largest_mb)

    def under(self, other: Self) -> Self:
        """Both tables; a model in `other` replaces all entries of that model."""
        mine = {each.name: getattr(self, each.name) for each in fields(self)}
        theirs = {each.name: getattr(other, each.name) for each in fields(other)}
        known = set(_models(name for column in theirs.values() for name in column))
        kept = {
            name: {key: value for key, value in column.items() if _model(key) not in known}
            for name, column in mine.items()
        }
        return type(self)(**{name: kept[name] | theirs[name] for name in mine})


_Key: TypeAlias = str | tuple[ModelName, str] | tuple[ModelName, str, ModelName]


def _model(key: _Key) -> str:
    return key if isinstance(key, str) else key[0].model


def _models(keys: Iterable[_Key]) -> Iterable[str]:
    return map(_model, keys)
