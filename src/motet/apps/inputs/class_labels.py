"""The classes of a classifier: target values as numbers 0..C-1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from motet.datasets.kinds import LabelledMatrix
from motet.datasets.kinds.target import TargetColumn, holds_words, target_of
from motet.domain.arrays import Array
from motet.domain.errors import BadArgument

_MANY_CLASSES = 20
_LEAST_OF_64_BITS = 2.0**63


def learn_classes(dataset: LabelledMatrix) -> tuple[Array, Array]:
    """Return the classes, ascending (words, booleans or int64), and each row's number.

    Raises BadInput for targets that are no classes, and for fewer than two classes.
    """
    target, source = dataset.require_target(), dataset.source_of_target
    if dataset.classes is not None:
        classes: Array = np.array(dataset.classes)
        numbers = _int(target)
    else:
        _require_whole(target, source)
        classes, numbers = np.unique(target.astype(np.int64), return_inverse=True)
    present = len(np.unique(numbers))
    if present < 2:
        only = classes[numbers[0]] if present else "none"
        raise BadArgument(f"{source}: a classifier needs two classes; all rows are {only}")
    if present > max(_MANY_CLASSES, len(target) / 2):
        raise BadArgument(
            f"{source}: {present} classes in {len(target)} rows; this looks like a "
            f"regression: use linear_regression or lasso, or {dataset.other_target}"
        )
    return classes, numbers.astype(np.int64)


def class_numbers(dataset: LabelledMatrix, classes: Array) -> Array:
    """Return each row's class number in `classes`. Raises BadInput for an unknown class."""
    values, rows = _values_of_rows(dataset)
    # Python compares whole numbers, booleans and floats exactly.
    known = {value: number for number, value in enumerate(classes.tolist())}
    numbers = np.array([known.get(value, -1) for value in values])[rows]
    unknown = np.flatnonzero(numbers < 0)
    if len(unknown):
        row = unknown[0]
        found = values[rows[row]]
        shown = int(found) if isinstance(found, float) and found.is_integer() else found
        raise BadArgument(
            f"{dataset.source_of_target}: row {row} is of class {shown}, which training data did "
            f"not have (it had {', '.join(map(str, classes[:8]))}); remove such rows"
        )
    return numbers


def accuracy(classes: Array, predicted: Array, y: Any) -> float:
    """Return the share of rows whose predicted class is that of `y`.

    Raises BadInput without rows, and if `y` holds words and the classes are numbers, or the
    reverse.
    """
    known = np.asarray(y)
    if not len(predicted):
        raise BadArgument("the data have no rows; a score needs at least one")
    if known.ndim == 2 and known.shape[1] == 1:
        known = known[:, 0]
    target = target_of(known, "y") if known.ndim == 1 else TargetColumn(known)
    if holds_words(target.classes) != (classes.dtype.kind == "U"):
        held = ("words", "numbers") if holds_words(target.classes) else ("numbers", "words")
        raise BadArgument(
            f"y holds {held[0]}, the model's classes are {held[1]} "
            f"({', '.join(map(str, classes[:8]))}); give y as in training"
        )
    values = target.values
    if target.classes is not None:
        values = np.array(target.classes)[_int(target.values)]
    return float(np.mean(predicted == values))


def _values_of_rows(dataset: LabelledMatrix) -> tuple[Sequence[Any], Array]:
    """Return the different values of the target, and the position of each row's among them."""
    target = dataset.require_target()
    if dataset.classes is not None:
        return dataset.classes, _int(target)
    values, rows = np.unique(target, return_inverse=True)
    return values.tolist(), rows


def _int(target: Array) -> Array:
    return target.astype(np.int64)


def _require_whole(target: Array, source: str) -> None:
    large = np.flatnonzero(np.abs(target) >= _LEAST_OF_64_BITS)
    if len(large):
        row = large[0]
        raise BadArgument(
            f"{source}: the target of row {row} is {target[row]:g}; classes are words or whole "
            "numbers of at most 64 bits"
        )
    fractional = np.flatnonzero(target != np.floor(target))
    if len(fractional):
        row = fractional[0]
        raise BadArgument(
            f"{source}: the target of row {row} is {target[row]:g}; classes must be whole numbers "
            "or words. For a target of real numbers use linear_regression or lasso"
        )
