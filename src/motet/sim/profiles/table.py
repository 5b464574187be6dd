"""Measurements of models, and which of them stand for a model that a trace names."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple, Self, TypeAlias

from motet.domain.model_profile import ModelProfile, model_key, profile_of

ByGpus: TypeAlias = Mapping[int, float]
"""Something measured of gangs of some sizes."""

USUAL_BATCH_SIZE = 64
"""Taken for a model without one: TensorFlow's benchmarks, which Tiresias trained, start with it."""

_BATCH_SIZE = re.compile(r"\(batch size (\d+)\)")


class ModelName(NamedTuple):
    """`ResNet-50 (batch size 64)` in parts; `batch_size` 0: it has none."""

    model: str
    batch_size: int

    @classmethod
    def of(cls, name: str) -> Self:
        """Whatever the spelling."""
        found = _BATCH_SIZE.search(name.lower())
        return cls(model_key(name), int(found[1]) if found else 0)


def nearest(measured: ByGpus, gpus: int) -> float:
    """Of the largest gang that is not larger, or of the smallest one."""
    sizes = sorted(measured)
    return measured[sizes[max(bisect_right(sizes, gpus) - 1, 0)]]


@dataclass(frozen=True)
class ProfileTable:
    """`alone`: steps per second by (model, type). `spread`: how many times as fast a gang is with
    every GPU on a machine of its own, 0 to 1. `beside`: steps per second by (model, type, other
    model); 0 where two do not fit. By model whatever its batch size: `gpu_busy`, `restart_s`, and
    `sizes_mb` (of the model and of its largest tensor). Types are in lower case.
    """

    alone: dict[tuple[ModelName, str], dict[int, float]] = field(default_factory=dict)
    spread: dict[tuple[ModelName, str], dict[int, float]] = field(default_factory=dict)
    beside: dict[tuple[ModelName, str, ModelName], dict[int, float]] = field(default_factory=dict)
    gpu_busy: dict[str, dict[int, float]] = field(default_factory=dict)
    restart_s: dict[str, dict[int, float]] = field(default_factory=dict)
    sizes_mb: dict[str, tuple[float, float]] = field(default_factory=dict)

    def named(self, name: str) -> ModelName | None:
        """The measured model that a name stands for: the same one with the nearest batch size."""
        asked = ModelName.of(name)
        batch_size = asked.batch_size or USUAL_BATCH_SIZE
        same = {model for model, _ in self.alone if model.model == asked.model}
        return min(
            same,
            key=lambda each: (abs(each.batch_size - batch_size), each.batch_size),
            default=None,
        )

    def profile(self, name: str) -> ModelProfile:
        """Size and skew: as measured here, or else as Tiresias has them."""
        known = profile_of(name)
        if model_key(name) not in self.sizes_mb:
            return known
        size_mb, largest_mb = self.sizes_mb[model_key(name)]
        return replace(known, name=name, size_mb=size_mb, largest_mb=largest_mb)

    def under(self, other: Self) -> Self:
        """Both; of a model that `other` knows, nothing but what `other` says."""
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
