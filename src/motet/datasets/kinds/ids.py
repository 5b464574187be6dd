"""Ids of users and items: whole numbers or text, and the positions of some ids among others."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Indices
from motet.domain.errors import BadArgument

Ids: TypeAlias = NDArray[Any]
"""(n,) int64 or text."""
_MOST = 2**63 - 1
_MOST_OF_FLOATS = 2.0**53  # Above it several whole numbers are one float.


def as_ids(values: Any, what: str) -> Ids:
    """Convert a column of ids `(n,)`: whole numbers to int64, everything else to text.

    Raises BadInput for a missing id and for numbers that int64 cannot hold; `what` names the
    column.
    """
    column = np.asarray(values)
    if column.ndim != 1:
        raise BadArgument(f"{what}: has shape {column.shape}; ids are one column")
    if column.dtype.kind in "iu":
        _require_int64(column.max(initial=0), what)
        return column.astype(np.int64)
    if column.dtype.kind == "f":
        return _whole_numbers(column, what)
    values = column.tolist()
    for row, value in enumerate(values):
        if isinstance(value, Collection) and not isinstance(value, str):
            raise BadArgument(f"{what}: row {row} is {value!r:.40}; ids are whole numbers or text")
        if _is_no_id(value):
            raise BadArgument(f"{what}: row {row} has no id; remove such rows")
    if column.dtype.kind == "O" and all(type(value) is int for value in values):
        _require_int64(max(map(abs, values), default=0), what)
        return column.astype(np.int64)
    return column.astype(np.str_)


def _require_int64(largest: int, what: str) -> None:
    if largest > _MOST:
        raise BadArgument(f"{what}: {largest} has more than 64 bits; give such ids as text")


def id_positions(ids: Ids, known_ids: Ids) -> Indices:
    """Return the position of each id in the ascending `known_ids`, -1 if it is not there.

    Where one side is text, numbers are compared as text.
    """
    if not len(known_ids):
        return np.full(len(ids), -1)
    if ids.dtype.kind == known_ids.dtype.kind:
        return _sorted_positions(ids, known_ids, np.arange(len(known_ids)))
    texts = known_ids.astype(np.str_)
    order = np.argsort(texts)
    return _sorted_positions(ids.astype(np.str_), texts[order], order)


def _sorted_positions(ids: Ids, ascending: Ids, places: Indices) -> Indices:
    nearest = np.minimum(np.searchsorted(ascending, ids), len(ascending) - 1)
    return np.where(ascending[nearest] == ids, places[nearest], -1)


def _whole_numbers(column: NDArray[Any], what: str) -> Ids:
    odd = np.flatnonzero(~np.isfinite(column) | (column != np.floor(column)))
    if len(odd):
        row = int(odd[0])
        raise BadArgument(
            f"{what}: row {row} is {column[row]}; ids are whole numbers or text, remove such rows"
        )
    if (np.abs(column) > _MOST_OF_FLOATS).any():
        raise BadArgument(
            f"{what}: {np.abs(column).max():.0f} is not exact as a float; give such ids as text"
        )
    return column.astype(np.int64)


def is_missing_value(value: object) -> bool:
    """None, NaN, or NA of pandas."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ == "NAType"


def _is_no_id(value: object) -> bool:
    """A missing value, NaT of pandas, or an empty text."""
    return is_missing_value(value) or value == "" or value != value
