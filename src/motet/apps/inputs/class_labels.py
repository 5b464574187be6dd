"""The classes of a classifier: target values as numbers 0..C-1."""

from __future__ import annotations

import numpy as np

from motet.datasets.kinds import LabelledMatrix
from motet.domain.arrays import Array
from motet.domain.errors import BadInput

_MANY_CLASSES = 20


def learn_classes(dataset: LabelledMatrix) -> tuple[Array, Array]:
    """Return the classes (names for words, else int64 ascending) and each row's number.

    Raises BadInput for targets that are no classes, and for fewer than two classes.
    """
    target = dataset.require_target()
    if dataset.class_names is not None:
        classes: Array = np.array(dataset.class_names)
        numbers = target.astype(np.int64)
    else:
        _require_whole(target, dataset.source)
        classes, numbers = np.unique(target.astype(np.int64), return_inverse=True)
    present = len(np.unique(numbers))
    if present < 2:
        only = classes[numbers[0]] if present else "none"
        raise BadInput(f"{dataset.source}: a classifier needs two classes; all rows are {only}")
    if present > max(_MANY_CLASSES, len(target) / 2):
        raise BadInput(
            f"{dataset.source}: {present} classes in {len(target)} rows; this looks like a "
            "regression: use linear_regression or lasso, or name another column with --target"
        )
    return classes, numbers.astype(np.int64)


def class_numbers(dataset: LabelledMatrix, classes: Array) -> Array:
    """Return each row's class number in `classes`. Raises BadInput for an unknown class."""
    target = dataset.require_target()
    wanted = target if dataset.class_names is None else np.array(dataset.class_names)[_int(target)]
    order = np.argsort(classes)
    places = np.searchsorted(classes, wanted, sorter=order)
    numbers = order[np.minimum(places, len(classes) - 1)]
    unknown = np.flatnonzero(classes[numbers] != wanted)
    if len(unknown):
        row = unknown[0]
        raise BadInput(
            f"{dataset.source}: row {row} is of class {wanted[row]}, which training data did not "
            f"have (it had {', '.join(map(str, classes[:8]))}); remove such rows"
        )
    return numbers.astype(np.int64)


def _int(target: Array) -> Array:
    return target.astype(np.int64)


def _require_whole(target: Array, source: str) -> None:
    fractional = np.flatnonzero(target != np.floor(target))
    if len(fractional):
        row = fractional[0]
        raise BadInput(
            f"{source}: the target of row {row} is {target[row]:g}; classes must be whole numbers "
            "or words. For a target of real numbers use linear_regression or lasso"
        )
