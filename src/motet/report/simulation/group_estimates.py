"""Means and confidence intervals of the metrics of runs that differ in their seed only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from motet.report.cluster_run.run_label import Document
from motet.report.rendering.confidence import confidence_half_width

_OF_A_RUN = ("seed", "wall_s", "compile_s")
GroupKeys = tuple[str, ...]
"""Path of a number in a run's document, from the outermost key to the innermost."""


class Estimate(NamedTuple):
    """Mean over seeds. `half_width`: of Student's 95 % interval; None for a single result."""

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
class GroupEstimates:
    """Metrics of a group of runs, and their ratios to those of the first group.

    `documents`: of every run of the group. `pairs`: for every common seed the document of the first
    group and that of this group; empty if nothing is compared.
    """

    label: str
    documents: Sequence[Document]
    pairs: Sequence[tuple[Document, Document]] = ()

    @property
    def result_count(self) -> int:
        """Number of different results: 1 if the seed changes nothing."""
        return len(self._results)

    @cached_property
    def _results(self) -> Sequence[Document]:
        return different_results(self.documents)

    @cached_property
    def _different_pairs(self) -> Sequence[tuple[Document, Document]]:
        is_one = all(_is_same_for_all([pair[side] for pair in self.pairs]) for side in (0, 1))
        return self.pairs[:1] if is_one else self.pairs

    def estimate(self, keys: GroupKeys) -> Estimate:
        """Mean of a number over the runs; NaN if one of the documents lacks it."""
        return Estimate.of([number(document, keys) for document in self._results])

    def relative(self, keys: GroupKeys) -> Estimate:
        """Mean over the seeds of the ratios to the first group."""
        return Estimate.of([ratio(before, after, keys) for before, after in self._different_pairs])


def different_results(documents: Sequence[Document]) -> Sequence[Document]:
    """All documents, or one if they differ in the seed and the time that the simulation took only.

    Several runs of a fixed trace without random numbers are one observation, without an interval.
    """
    return documents[:1] if _is_same_for_all(documents) else documents


def _is_same_for_all(documents: Sequence[Document]) -> bool:
    results = [
        {name: value for name, value in document.items() if name not in _OF_A_RUN}
        for document in documents
    ]
    # Texts are compared because NaN is not equal to itself.
    return len(set(map(repr, results))) <= 1


def number(document: Document, keys: GroupKeys) -> float:
    """A number in a document; NaN where it is null, or missing as in those of earlier versions."""
    value: Any = document
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return math.nan if value is None else float(value)


def ratio(before: Document, after: Document, keys: GroupKeys) -> float:
    """`after` over `before`; NaN where `before` is 0."""
    base = number(before, keys)
    return number(after, keys) / base if base else math.nan


def nested(values: Mapping[GroupKeys, Any]) -> dict[str, Any]:
    """Nested dictionaries with each value at its path."""
    whole: dict[str, Any] = {}
    for keys, value in values.items():
        inside = whole
        for key in keys[:-1]:
            inside = inside.setdefault(key, {})
        inside[keys[-1]] = value
    return whole
