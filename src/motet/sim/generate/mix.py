"""Mixes of GPU counts, models and shares of short jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Ints
from motet.domain.errors import BadInput, UnknownName
from motet.sim.known_names import WORKLOAD_NAMES

TENSORFLOW_MODELS = (
    "vgg19",
    "vgg16",
    "vgg11",
    "alexnet",
    "resnet152",
    "resnet101",
    "resnet50",
    "inception4",
    "inception3",
    "googlenet",
)
"""Tiresias, Table 3.3: every model has the same number of jobs in that workload."""


@dataclass(frozen=True)
class Mix:
    """`sizes`: GPU counts of jobs, each with its weight.

    A job is small up to `small_gpus`; `short_of_small`, `short_of_large`: fractions of short jobs.
    """

    sizes: tuple[tuple[int, int], ...]
    models: tuple[str, ...] = TENSORFLOW_MODELS
    small_gpus: int = 4
    short_of_small: float = 63.5 / (63.5 + 12.5)
    short_of_large: float = 16.5 / (16.5 + 7.5)

    def gpus(self, count: int, rng: np.random.Generator) -> Ints:
        """`(count,)` GPUs, in the exact shares of the mix, shuffled."""
        numbers, weights = zip(*self.sizes, strict=True)
        return rng.permutation(np.repeat(np.array(numbers), whole_shares(count, weights)))

    def model_names(self, count: int, rng: np.random.Generator) -> list[str]:
        """`count` models, each equally often, shuffled."""
        numbers = whole_shares(count, [1] * len(self.models))
        order = rng.permutation(np.repeat(np.arange(len(self.models)), numbers))
        return [self.models[number] for number in order]

    def is_short(self, gpus: Ints, rng: np.random.Generator) -> NDArray[np.bool_]:
        """`(jobs,)`: which jobs are short, in the exact shares of the mix among every size."""
        short = np.zeros(len(gpus), dtype=bool)
        for size in np.unique(gpus).tolist():
            share = self.short_of_small if size <= self.small_gpus else self.short_of_large
            rows = rng.permutation(np.flatnonzero(gpus == size))
            short[rows[: whole_shares(len(rows), (share, 1 - share))[0]]] = True
        return short


TIRESIAS_480 = Mix(((1, 240), (2, 40), (4, 80), (8, 90), (16, 25), (32, 5)))
"""Tiresias' testbed workload (thesis 3.5.1, Table 3.4). Its sizes and bins are inconsistent (75 %
and 76 % small jobs); the sizes take precedence.
"""

MIXES = {"tiresias-480": TIRESIAS_480}


def parse_mix(text: str) -> Mix:
    """A name in `MIXES`, or `GPUS:WEIGHT,GPUS:WEIGHT,...`. Raises BadInput."""
    if text in MIXES:
        return MIXES[text]
    if ":" not in text:
        raise UnknownName("mix", text, WORKLOAD_NAMES)
    return Mix(tuple(_size(text, part) for part in text.split(",")))


def _size(text: str, part: str) -> tuple[int, int]:
    gpus, _, weight = part.partition(":")
    usage = "write GPUS:WEIGHT,GPUS:WEIGHT,... in whole numbers above 0, for example 1:80,8:20"
    if not (gpus.strip().isdecimal() and weight.strip().isdecimal()):
        raise BadInput(f"--mix {text}: {part!r} is not a size; {usage}")
    size = int(gpus), int(weight)
    if not all(0 < number <= 1_000_000 for number in size):
        raise BadInput(f"--mix {text}: {part!r} is not within 1 to 1,000,000; {usage}")
    return size


def whole_shares(total: int, weights: Sequence[float]) -> Ints:
    """`total` in whole parts that approximate the weights (largest remainders)."""
    exact = np.asarray(weights, dtype=float) / sum(weights) * total
    parts = np.floor(exact + 1e-9).astype(np.int64)
    by_remainder = np.argsort(parts - exact, kind="stable")
    parts[by_remainder[: total - int(parts.sum())]] += 1
    return parts
