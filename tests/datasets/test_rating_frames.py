"""DataFrames with a row per rating."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from motet.datasets.rating_frames import rating_columns, ratings_from_frame
from motet.domain.errors import BadInput, UnknownName

FRAME = pd.DataFrame(
    {"when": [9, 8, 7], "stars": [4, 5, 1], "Movie ID": ["up", "up", "heat"], "user_id": [2, 1, 2]}
)


@pytest.mark.parametrize(
    ("names", "positions"),
    [
        (["userId", "movieId", "rating", "timestamp"], [0, 1, 2]),
        (["stars", "Product ID", "customer"], [2, 1, 0]),
        (["a", "item"], [None, 1, None]),
        ([0, 1, 2], [None, None, None]),
    ],
)
def test_columns_are_found_by_their_names(names: list[object], positions: list[int | None]) -> None:
    assert rating_columns(names) == positions


def test_a_row_is_a_rating() -> None:
    ratings = ratings_from_frame(FRAME)
    assert ratings.user_ids[ratings.users].tolist() == [2, 1, 2]
    assert ratings.item_ids[ratings.items].tolist() == ["up", "up", "heat"]
    assert ratings.values.tolist() == [4.0, 5.0, 1.0]


def test_columns_may_be_named() -> None:
    renamed = FRAME.rename(columns={"stars": "Note", "Movie ID": "Film", "user_id": "Kunde"})
    found = ratings_from_frame(renamed, user="Kunde", item="Film", rating="Note")
    assert found.values.tolist() == [4.0, 5.0, 1.0]
    with pytest.raises(UnknownName, match="'Kund'; did you mean 'Kunde'"):
        ratings_from_frame(renamed, user="Kund", item="Film", rating="Note")


def test_of_repeated_pairs_the_last_row_counts() -> None:
    twice = pd.DataFrame({"user": ["a", "b", "a"], "item": [1, 1, 1], "rating": [3, 2, 5]})
    ratings = ratings_from_frame(twice)
    assert sorted(zip(ratings.users.tolist(), ratings.values, strict=True)) == [(0, 5), (1, 2)]
    assert "occur again on 1 lines" in ratings.notes[0]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.drop(columns="stars"), "no column is known as the rating .columns: when, Movie ID"),
        (
            FRAME.drop(columns=["stars", "user_id"]),
            r"the user, the rating .columns: when, Movie ID.; name them with "
            r"motet.ratings_from_frame.X, user=..., rating=...\)$",
        ),
        (FRAME.assign(stars="good"), "column 'stars': ratings are numbers"),
        (FRAME.assign(stars=[1, np.nan, 2]), "column 'stars': row 1 is nan; remove rows"),
        (FRAME.assign(user_id=["a", None, "b"]), "column 'user_id': row 1 has no id"),
    ],
)
def test_what_cannot_be_ratings_is_refused(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        ratings_from_frame(frame)


@pytest.mark.parametrize("wrong", [3, None, [[1, 2, 3.0]]])
def test_what_is_no_frame_is_refused(wrong: object) -> None:
    with pytest.raises(BadInput, match=r"^frame=.*: give a DataFrame with a row per rating$"):
        ratings_from_frame(wrong)


def test_complex_ratings_are_refused() -> None:
    with pytest.raises(BadInput, match="column 'stars': ratings are numbers, not complex ones"):
        ratings_from_frame(FRAME.assign(stars=np.array([1, 2, 3 + 1j])))
