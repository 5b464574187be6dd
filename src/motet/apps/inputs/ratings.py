"""Checks of ratings for NMF, and the conversion of ids to positions in its factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.datasets.kinds import Ratings
from motet.datasets.kinds.ids import Ids, as_ids, id_positions
from motet.datasets.rating_frames import rating_columns
from motet.domain.arrays import Floats, Indices
from motet.domain.errors import BadArgument


def check_ratings(dataset: Ratings) -> None:
    """Raise BadInput for no ratings or a negative one."""
    if not dataset.rating_count:
        raise BadArgument(f"{dataset.source}: holds no ratings; nmf needs at least one")
    lowest = dataset.values.min()
    if lowest < 0:
        raise BadArgument(
            f"{dataset.source}: rating {lowest:g}; nmf explains ratings of at least 0, "
            "add a constant to all of them"
        )


def by_user(ratings: Ratings) -> tuple[Indices, NDArray[np.int32], Floats]:
    """Return the offsets of the users' ratings, their items and values, sorted by user and item."""
    order = np.lexsort((ratings.items, ratings.users))
    counts = np.bincount(ratings.users, minlength=ratings.shape[0])
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return offsets, ratings.items[order], ratings.values[order]


def id_pairs(pairs: Any) -> tuple[Ids, Ids]:
    """Convert `(n, 2)` pairs of ids, or a DataFrame with such columns, to users and items.

    Raises BadInput.
    """
    if hasattr(pairs, "columns"):
        pairs = _pair_columns(pairs)
    ids = np.asarray(pairs, dtype=object)
    if not ids.size:
        ids = ids.reshape(0, 2)
    if ids.ndim != 2 or ids.shape[1] != 2:
        raise BadArgument(
            "nmf: predict takes pairs of a user and an item id, (n, 2), or a ratings data set; "
            f"this has shape {ids.shape}. For a matrix of ratings use transform or score"
        )
    return as_ids(_plain(ids[:, 0]), "users"), as_ids(_plain(ids[:, 1]), "items")


def look_up(positions: NDArray[np.int32], ids: Ids, known_ids: Ids) -> Indices:
    """Convert positions in `ids` (-1: none) to positions in `known_ids` (-1: not there)."""
    return np.where(positions >= 0, id_positions(ids, known_ids)[positions], -1)


def _pair_columns(frame: Any) -> Any:
    """The user and item columns of a DataFrame, or its only two."""
    user, item, _ = rating_columns(list(frame.columns))
    return frame if user is None or item is None else frame.iloc[:, [user, item]]


def _plain(column: Any) -> Any:
    """A column of Python objects as numbers, if all are numbers, else as it is."""
    values = column.tolist()
    are_numbers = all(isinstance(value, int | float | np.number) for value in values)
    return np.array(values, dtype=None if are_numbers and values else object)
