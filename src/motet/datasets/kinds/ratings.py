"""Ratings of items by users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from motet.datasets.kinds.base import Dataset, RowSelection, of_same_kind
from motet.datasets.kinds.ids import Ids, id_positions


@dataclass(frozen=True, eq=False)
class Ratings(Dataset):
    """Ratings of items by users, one entry per rating.

    `users`, `items`: (ratings,) int32, positions in `user_ids` and `item_ids`, which hold the ids
    of the source, ascending: whole numbers or text. `values`: (ratings,) float64. Position -1
    occurs only after `reindexed_like`, for a user or item that is not in the training data.
    """

    kind: ClassVar[str] = "ratings"
    described: ClassVar[str] = "ratings"

    users: NDArray[np.int32]
    items: NDArray[np.int32]
    values: NDArray[np.float64]
    user_ids: Ids
    item_ids: Ids

    @classmethod
    def from_ids(
        cls,
        users: Ids,
        items: Ids,
        values: NDArray[np.float64],
        *,
        source: str,
        notes: tuple[str, ...] = (),
    ) -> Self:
        """Number the users and items of these (ratings,) arrays of ids from 0, ascending."""
        user_ids, user_positions = np.unique(users, return_inverse=True)
        item_ids, item_positions = np.unique(items, return_inverse=True)
        return cls(
            users=user_positions.astype(np.int32),
            items=item_positions.astype(np.int32),
            values=np.ascontiguousarray(values, dtype=np.float64),
            user_ids=user_ids,
            item_ids=item_ids,
            source=source,
            notes=notes,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(users, items)."""
        return len(self.user_ids), len(self.item_ids)

    @property
    def rating_count(self) -> int:
        """Number of ratings."""
        return len(self.values)

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """(ratings,) Whether both the user and the item are in the training data."""
        return (self.users >= 0) & (self.items >= 0)

    @property
    def unknown_count(self) -> int:
        """Number of ratings whose user or item is not in the training data."""
        return int(np.count_nonzero(~self.is_known))

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Yield users, items, values, user ids, item ids."""
        yield from (self.users, self.items, self.values, self.user_ids, self.item_ids)

    def describe(self) -> str:
        """Describe them, as in "80,000 ratings, 943 users x 1,650 items (5.1 % filled)"."""
        user_count, item_count = self.shape
        filled_percent = 100 * self.rating_count / max(1, user_count * item_count)
        return (
            f"{self.rating_count:,} ratings, {user_count:,} users x {item_count:,} items "
            f"({filled_percent:.3g} % filled)"
        )

    def rows(self, selection: RowSelection) -> Self:
        """Return the chosen ratings; positions and ids stay the same."""
        return replace(
            self,
            users=self.users[selection],
            items=self.items[selection],
            values=self.values[selection],
        )

    def renumbered(self) -> Self:
        """Return the same ratings without users and items that have no rating."""
        return type(self).from_ids(
            self.user_ids[self.users],
            self.item_ids[self.items],
            self.values,
            source=self.source,
            notes=self.notes,
        )

    def without(self, held_out: Ratings) -> Self:
        """Return these ratings without the (user, item) pairs of `held_out`, renumbered.

        The renumbering removes items of which all ratings are held out.
        """
        other = held_out.reindexed_like(self)
        keep = ~np.isin(self._cells(), other._cells()[other.is_known])
        note = f"{int(np.count_nonzero(~keep)):,} ratings are left out: {held_out.source} has them"
        return replace(self.rows(keep).renumbered(), notes=(*self.notes, note))

    def _cells(self) -> NDArray[np.int64]:
        """Return one number for each (user, item) pair, (ratings,)."""
        return self.users.astype(np.int64) * len(self.item_ids) + self.items

    def reindexed_like(self, train: Dataset) -> Ratings:
        """Return these ratings with the user and item positions of `train`.

        Ratings of users or items that are not in the training data stay, with position -1, and a
        note counts them. Without them the test error would be too low, so the model predicts the
        training mean for them.
        """
        like = of_same_kind(self, train)
        moved = replace(
            self,
            users=id_positions(self.user_ids, like.user_ids)[self.users].astype(np.int32),
            items=id_positions(self.item_ids, like.item_ids)[self.items].astype(np.int32),
            user_ids=like.user_ids,
            item_ids=like.item_ids,
        )
        if not moved.unknown_count:
            return moved
        note = (
            f"{moved.unknown_count:,} of {moved.rating_count:,} ratings are of users or items "
            f"that {train.source} does not have; they count, predicted by the training mean"
        )
        return replace(moved, notes=(*moved.notes, note))
