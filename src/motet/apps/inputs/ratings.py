"""Checks of ratings for NMF, and the conversion of ids to positions in its factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.datasets.kinds import Ratings
from motet.domain.arrays import Floats, Indices
from motet.domain.errors import BadInput


def check_ratings(dataset: Ratings) -> None:
    """Raise BadInput for no ratings or a negative one."""
    if not dataset.rating_count:
        raise BadInput(f"{dataset.source}: holds no ratings; nmf needs at least one")
    lowest = dataset.values.min()
    if lowest < 0:
        raise BadInput(
            f"{dataset.source}: rating {lowest:g}; nmf explains ratings of at least 0, "
            "add a constant to all of them"
        )


def by_user(ratings: Ratings) -> tuple[Indices, NDArray[np.int32], Floats]:
    """Return the offsets of the users' ratings, their items and values, sorted by user and item."""
    order = np.lexsort((ratings.items, ratings.users))
    counts = np.bincount(ratings.users, minlength=ratings.shape[0])
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return offsets, ratings.items[order], ratings.values[order]


def id_pairs(pairs: Any) -> Indices:
    """Convert `pairs` to `(n, 2)` ids. Raises BadInput."""
    try:
        ids = np.asarray(pairs, dtype=np.int64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"nmf: predict takes pairs of a user and an item id ({error})") from None
    if ids.size and ids.shape[-1:] != (2,):
        raise BadInput(
            "nmf: predict takes pairs of a user and an item id, (n, 2), or a ratings data set; "
            f"this has shape {ids.shape}. For a matrix of ratings use transform or score"
        )
    return ids.reshape(-1, 2)


def find(ids: Indices, known_ids: Indices) -> Indices:
    """Return the position of each id in the ascending `known_ids`, -1 if it is not there."""
    nearest = np.minimum(np.searchsorted(known_ids, ids), len(known_ids) - 1)
    return np.where(known_ids[nearest] == ids, nearest, -1)


def look_up(positions: NDArray[np.int32], ids: Indices, known_ids: Indices) -> Indices:
    """Convert positions in `ids` (-1: none) to positions in `known_ids` (-1: not there)."""
    return np.where(positions >= 0, find(ids, known_ids)[positions], -1)
