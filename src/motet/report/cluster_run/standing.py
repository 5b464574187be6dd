"""Where a policy stands: numbers of its runs over all seeds, and in ratio to the first policy's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from motet.report.rendering.confidence import confidence_half_width

Document = Mapping[str, Any]
Keys = tuple[str, ...]
"""Of a number in a run's document, from outside to inside."""


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


@dataclass(frozen=True)
class Standing:
    """`documents`: of every run; `pairs`: the first policy's and its own of the same seed."""

    label: str
    documents: Sequence[Document]
    pairs: Sequence[tuple[Document, Document]] = ()

    def estimate(self, keys: Keys) -> Estimate:
        """Of a number in the documents; NaN if one does not have it."""
        return Estimate.of([number(document, keys) for document in self.documents])

    def relative(self, keys: Keys) -> Estimate:
        """The mean of the seeds' ratios."""
        return Estimate.of([ratio(before, after, keys) for before, after in self.pairs])


def number(document: Document, keys: Keys) -> float:
    """NaN where it is not known, or an earlier version wrote the document."""
    value: Any = document
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return math.nan if value is None else float(value)


def ratio(before: Document, after: Document, keys: Keys) -> float:
    """How many times the first's; NaN of nothing."""
    base = number(before, keys)
    return number(after, keys) / base if base else math.nan


def nested(values: Mapping[Keys, Any]) -> dict[str, Any]:
    """By their keys, as in a document."""
    whole: dict[str, Any] = {}
    for keys, value in values.items():
        inside = whole
        for key in keys[:-1]:
            inside = inside.setdefault(key, {})
        inside[keys[-1]] = value
    return whole
