"""The target of a matrix: numbers, or the numbers of classes that float64 cannot hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motet.datasets.kinds.ids import is_missing_value
from motet.domain.errors import BadArgument

ClassValue: TypeAlias = str | bool | int
Classes: TypeAlias = tuple[ClassValue, ...]
TRUTH_CLASSES: Classes = (False, True)
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d\d)(?!\d)"
)
MOST_EXACT = 2**53
"""Above it several whole numbers are one float64."""


@dataclass(frozen=True, eq=False)
class TargetColumn:
    """The target of all rows.

    `values`: (rows,) float64. `classes`: what value k stands for: words, False and True, or
    whole numbers above 2^53, ascending; None if the values are the target itself.
    """

    values: NDArray[np.float64]
    classes: Classes | None = None


def target_of(values: NDArray[Any], what: str) -> TargetColumn:
    """Convert a column `(rows,)` of numbers, booleans or words.

    Raises BadInput for missing values; `what` names the column.
    """
    if values.dtype == object:
        values = _typed(values.tolist(), what)
    if values.dtype == np.bool_:
        return TargetColumn(values.astype(np.float64), TRUTH_CLASSES)
    is_whole = values.dtype.kind in "iu"
    if is_whole and (values.max(initial=0) > MOST_EXACT or values.min(initial=0) < -MOST_EXACT):
        return _numbered(values)
    if values.dtype.kind in "US":
        return _numbered(values.astype(np.str_))
    return TargetColumn(values.astype(np.float64))


def holds_words(classes: Sequence[ClassValue] | None) -> bool:
    """Whether classes are words, not numbers or booleans."""
    return bool(classes) and isinstance(classes[0], str)  # type: ignore[index]


def begins_with_date(text: str) -> bool:
    """Whether text begins with year, month and day in digits, and not with a version as 1.2.3."""
    return _DATE.match(text) is not None


def _numbered(values: NDArray[Any]) -> TargetColumn:
    classes, numbers = np.unique(values, return_inverse=True)
    return TargetColumn(numbers.astype(np.float64), tuple(classes.tolist()))


def _typed(values: list[Any], what: str) -> NDArray[Any]:
    """Python objects as an array of one type: booleans, numbers or else words."""
    if any(map(is_missing_value, values)):
        raise BadArgument(f"{what}: holds missing values; remove those rows first")
    if all(isinstance(value, bool | np.bool_) for value in values):
        return np.array(values, dtype=np.bool_)
    kinds = bool | np.bool_ | str | bytes
    if any(isinstance(value, kinds) for value in values):
        return np.array(values).astype(np.str_)
    try:
        numbers = np.array(values)
        return numbers if numbers.dtype.kind in "iuf" else numbers.astype(np.str_)
    except (TypeError, ValueError):
        return np.array(list(map(str, values)))
