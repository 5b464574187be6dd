"""Tables with a rating per row: which columns hold user, item and rating."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from motet.datasets.kinds import Ratings
from motet.datasets.kinds.ids import as_ids
from motet.domain.errors import BadArgument, UnknownName

_USER = (
    *("user", "customer", "client", "member", "reader", "uid", "reviewer", "account", "visitor"),
    *("subscriber", "viewer", "listener", "buyer"),
)
_ITEM = (
    *("movie", "item", "product", "book", "song", "track", "artist", "game", "film", "article"),
    *("isbn", "sku", "iid", "title", "asin", "video", "recipe", "restaurant", "business", "anime"),
)
_RATING = (
    *("rating", "score", "value", "stars", "grade", "plays", "playcount", "count", "quantity"),
    *("overall", "reviewscore", "clicks", "views"),
)
ROLES = (("user", _USER), ("item", _ITEM), ("rating", _RATING))
LONG_WIDTHS = (3, 4)
"""Numbers of columns of a table with a row per rating: user, item, rating and perhaps a time."""
_SUFFIXES = ("", "id", "name")


@dataclass(frozen=True)
class RatingColumns:
    """The columns that a user names, by name or, in files without a header, by index."""

    user: str | None = None
    item: str | None = None
    rating: str | None = None

    @classmethod
    def of(cls, given: str | Mapping[str, str | int] | Iterable[str] | None) -> RatingColumns:
        """From a mapping, or from texts like `user=reviewerID,item=asin`. Raises BadInput."""
        if isinstance(given, Mapping):
            pairs = [(role, str(name)) for role, name in given.items()]
        else:
            texts = (given,) if isinstance(given, str) else tuple(given or ())
            pairs = [pair for text in texts for pair in _pairs(text)]
        known = [role for role, _ in ROLES]
        for role, name in pairs:
            if role not in known:
                raise UnknownName("column of ratings", role, known)
            if [each for each, _ in pairs].count(role) > 1:
                raise BadArgument(f"--columns {role}={name}: {role} is given twice; give it once")
        return cls(**dict(pairs))

    def named(self, role: str) -> str | None:
        """The name that is given for a role."""
        return self.by_role.get(role)

    @property
    def by_role(self) -> dict[str, str]:
        """The names that are given, by role."""
        return {role: name for role, name in asdict(self).items() if name is not None}

    @property
    def names(self) -> tuple[str, ...]:
        """All names that are given."""
        return tuple(self.by_role.values())


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = []
    for part in filter(None, map(str.strip, text.split(","))):
        role, _, name = (each.strip() for each in part.partition("="))
        if not role or not name:
            raise BadArgument(
                f"--columns {text[:80]}: {part[:40]!r} is not ROLE=NAME; write for example "
                "user=reviewerID,item=asin,rating=overall"
            )
        pairs.append((role, name))
    return pairs


def rating_columns(names: Sequence[object]) -> list[int | None]:
    """Return the positions of user, item and rating among column names; None for a missing one.

    "userId", "user_id", "user name" and "User" are the same name. If no column is called as ratings
    are, a single name that ends in "rating" counts ("Book-Rating").
    """
    plain = [re.sub(r"[^a-z0-9]", "", str(name).lower()) for name in names]
    found: list[int | None] = []
    for _, words in ROLES:
        known = [word + suffix for suffix in _SUFFIXES for word in words]
        found.append(next((plain.index(name) for name in known if name in plain), None))
    if found[-1] is None:
        ending = [at for at, name in enumerate(plain) if name.endswith("rating")]
        found[-1] = ending[0] if len(ending) == 1 else None
    return found


def ratings_from_frame(
    frame: Any, *, user: str | None = None, item: str | None = None, rating: str | None = None
) -> Ratings:
    """Return the ratings of a DataFrame with a row per rating.

    `user`, `item`, `rating`: the names of its columns, by default found by words such as "user_id",
    "movie", "stars". Ids are whole numbers or text. If a user rated an item twice, the last row
    counts, and a note says so. Raises BadInput.
    """
    if not hasattr(frame, "columns"):
        raise BadArgument(f"frame={frame!r:.60}: give a DataFrame with a row per rating")
    names = list(frame.columns)
    given, found = (user, item, rating), rating_columns(names)
    columns = _chosen(names, given, found)
    users, items = (as_ids(frame[name].to_numpy(), f"column {name!r}") for name in columns[:2])
    return ratings_from_columns(users, items, _values(frame, columns[2]), source="X")


def ratings_from_columns(
    users: Any, items: Any, values: Any, source: str, notes: tuple[str, ...] = ()
) -> Ratings:
    """Return the ratings of `(n,)` columns; of repeated pairs the last one counts."""
    ratings = Ratings.from_ids(users, items, values, source=source, notes=notes)
    cells = ratings.users.astype(np.int64) * len(ratings.item_ids) + ratings.items
    _, from_end = np.unique(cells[::-1], return_index=True)
    repeats = len(cells) - len(from_end)
    if not repeats:
        return ratings
    note = f"the same user and item occur again on {repeats:,} lines: the last one of each counts"
    kept = np.sort(len(cells) - 1 - from_end)
    return Ratings.from_ids(
        users[kept], items[kept], values[kept], source=source, notes=(*notes, note)
    )


def _chosen(
    names: list[Any], given: Sequence[str | None], found: Sequence[int | None]
) -> list[Any]:
    """The columns of user, item and rating: the one that is given, else the one that was found.

    Raises BadArgument, which names all that are missing.
    """
    chosen: list[Any] = []
    missing: list[str] = []
    for (role, _), name, position in zip(ROLES, given, found, strict=True):
        if name is not None:
            chosen.append(_existing(names, name))
        elif position is not None:
            chosen.append(names[position])
        else:
            missing.append(role)
    if not missing:
        return [_only_one(names, each) for each in chosen]
    arguments = ", ".join(f"{role}=..." for role in missing)
    raise BadArgument(
        f"X: no column is known as the {', the '.join(missing)} (columns: "
        f"{', '.join(map(str, names[:8]))}); name {'it' if len(missing) == 1 else 'them'} with "
        f"motet.ratings_from_frame(X, {arguments})"
    )


def _existing(names: list[Any], given: str) -> str:
    if given not in names:
        raise UnknownName("column of X", str(given), [str(name) for name in names])
    return given


def _only_one(names: list[Any], chosen: Any) -> Any:
    if names.count(chosen) > 1:
        raise BadArgument(f"X: {names.count(chosen)} columns are called {chosen!r}; rename them")
    return chosen


def _values(frame: Any, name: Any) -> Any:
    found = frame[name].to_numpy()
    if np.iscomplexobj(found):
        raise BadArgument(f"column {name!r}: ratings are numbers, not complex ones")
    try:
        values = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadArgument(f"column {name!r}: ratings are numbers ({error!s:.100})") from None
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise BadArgument(
            f"column {name!r}: row {wrong[0]} is {values[wrong[0]]}; remove rows without a rating"
        )
    return values
