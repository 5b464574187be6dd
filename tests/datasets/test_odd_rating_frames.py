"""DataFrames with odd values, types and names: ratings, or one clear error."""

from __future__ import annotations

import math
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest

from motet.datasets.rating_frames import ratings_from_frame
from motet.domain.errors import BadInput, MotetError, UnknownName

VALUES = (
    *(None, math.nan, "", 0, -1, 10**30, 2**63, -(2**63), 1.5, True, "x", "\x1b[31m", "\ud800"),
    *(b"x", (1, 2), [1], {}, object(), pd.Timestamp("2020-01-01"), pd.NaT, pd.NA, math.inf, 1e308),
    *(complex(1, 2), "1", "é", np.int8(3), np.array([1, 2]), {1}, 2.0**60, np.uint64(2**63)),
)
NAMES = (
    *(
        "user",
        "user_id",
        "item",
        "movieId",
        "rating",
        "stars",
        "x",
        0,
        None,
        ("a", "b"),
        "\x1b[31m",
    ),
    *(1.5, "User", "title"),
)
DTYPES = (
    None,
    "category",
    "string",
    "object",
    "Int64",
    "float64",
    "int64",
    "bool",
    "datetime64[ns]",
)
EXAMPLES = pytest.mark.parametrize(
    "seeds", [range(200), pytest.param(range(200, 10_000), marks=pytest.mark.soak)], ids=str
)


def column(random: Random, rows: int) -> pd.Series[Any]:
    few = random.sample(VALUES, random.choice((1, 3, len(VALUES))))
    values = [random.choice(few) for _ in range(rows)]
    if random.random() < 0.5:
        values = [random.randrange(4) for _ in range(rows)]
    try:
        with np.errstate(invalid="ignore"):  # An infinite number as a whole one.
            return pd.Series(values, dtype=random.choice(DTYPES))
    except (TypeError, ValueError, OverflowError):
        return pd.Series(values, dtype="object")


@EXAMPLES
def test_odd_frames(seeds: range) -> None:
    for seed in seeds:
        random = Random(seed)
        names: list[object] = ["user", "item", "rating"]
        if random.random() < 0.5:
            names = random.choices(NAMES, k=random.randint(0, 5))
        rows = random.choice((0, 1, 2, 5, 20))
        frame = pd.DataFrame({place: column(random, rows) for place in range(len(names))})
        frame.columns = pd.Index(names, dtype="object", tupleize_cols=False)
        given: Any = {}
        if random.random() < 0.3:
            given = {random.choice(("user", "item", "rating")): random.choice(NAMES)}
        try:
            with suppress(MotetError):
                ratings = ratings_from_frame(frame, **given)
                assert np.isfinite(ratings.values).all()
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.array([1, 2**63], dtype=np.uint64), "9223372036854775808 has more than 64 bits"),
        (np.array([1, 10**30], dtype=object), "has more than 64 bits; give such ids as text"),
        (np.array([1.0, 1e30]), "is not exact as a float; give such ids as text"),
        (pd.Series([(1, 2), "a"]), r"row 0 is \(1, 2\); ids are whole numbers or text"),
    ],
)
def test_ids_that_would_become_others_are_refused(ids: Any, message: str) -> None:
    frame = pd.DataFrame({"user": ids, "item": ["a", "b"], "rating": [1, 2]})
    with pytest.raises(BadInput, match=f"column 'user': .*{message}"):
        ratings_from_frame(frame)


def test_names_of_columns_that_are_not_text_or_not_unique_are_clear_errors() -> None:
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["user", "item", "rating", "user"])
    with pytest.raises(BadInput, match="2 columns are called 'user'"):
        ratings_from_frame(frame)
    with pytest.raises(UnknownName, match=r"'1\.5'"):
        ratings_from_frame(frame, user=1.5)  # type: ignore[arg-type]
