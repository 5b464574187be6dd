"""Rating files: what is written is read back, what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.datasets import Ratings, open_dataset

CELLS = st.dictionaries(
    st.tuples(st.integers(1, 10**12), st.integers(1, 30)),
    st.floats(-5, 5, allow_nan=False),
    min_size=1,
    max_size=20,
)
LAYOUTS = st.sampled_from(
    [
        ("", "\t", True),
        ("", "::", True),
        ("userId,movieId,rating,timestamp\n", ",", True),
        ("", " ", False),
        ("user;item;rating\n", ";", False),
    ]
)


def ratings(path: Path, **options: str) -> Ratings:
    dataset = open_dataset(path, kind="ratings", **options)
    assert isinstance(dataset, Ratings)
    return dataset


@settings(max_examples=examples(50))
@given(cells=CELLS, layout=LAYOUTS)
def test_what_is_written_is_read_back_in_every_layout(cells, layout, tmp_path_factory):
    header, separator, has_time = layout
    path = tmp_path_factory.mktemp("ratings") / "some"
    time = [str(881_250_949)] if has_time else []
    lines = (
        separator.join([str(user), str(item), repr(value), *time])
        for (user, item), value in cells.items()
    )
    path.write_text(header + "\n".join(lines) + "\n")
    read = ratings(path)
    users, items = read.user_ids[read.users], read.item_ids[read.items]
    assert dict(zip(zip(users, items, strict=True), read.values, strict=True)) == cells
    assert read.shape == (len({user for user, _ in cells}), len({item for _, item in cells}))
    assert (read.users.dtype, read.items.dtype) == (np.int32, np.int32)


def test_a_header_may_have_its_columns_in_any_order(write):
    path = write("r.csv", '"rating","when","movieId","userId"\n4.5,2020-01-01,"7",3\n')
    read = ratings(path)
    assert (read.user_ids[0], read.item_ids[0], read.values[0]) == (3, 7, 4.5)


def test_of_repeated_ratings_the_last_one_counts_with_a_note(write):
    read = ratings(write("u.data", "1\t2\t3\t0\n1\t3\t1\t0\n1\t2\t5\t0\n"))
    assert (list(read.item_ids[read.items]), list(read.values)) == ([3, 2], [1.0, 5.0])
    assert read.notes == (
        "the same user and item occur again on 1 lines: the last one of each counts",
    )


TEXT_IDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)


@settings(max_examples=examples(50))
@given(
    cells=st.dictionaries(
        st.tuples(TEXT_IDS, TEXT_IDS), st.floats(-5, 5, allow_nan=False), min_size=1, max_size=20
    )
)
def test_ids_may_be_text(cells, tmp_path_factory):
    path = tmp_path_factory.mktemp("ratings") / "some.csv"
    lines = [f"{user},{item},{value!r}" for (user, item), value in cells.items()]
    path.write_text("customer,product_id,stars\n" + "\n".join(lines) + "\n", encoding="utf-8")
    read = ratings(path)
    users, items = read.user_ids[read.users].tolist(), read.item_ids[read.items].tolist()
    numbers = tuple(ids.dtype.kind == "i" for ids in (read.user_ids, read.item_ids))
    wanted = {
        tuple(int(id_) if is_number else id_ for id_, is_number in zip(pair, numbers, strict=True))
        for pair in cells
    }
    assert set(zip(users, items, strict=True)) == wanted


def test_one_word_makes_all_ids_of_its_column_text(write):
    read = ratings(write("r.csv", "user,item,rating\n7,1,2\nann,1,3\n0,-4,1\n"))
    assert (read.user_ids.tolist(), read.item_ids.tolist()) == (["0", "7", "ann"], [-4, 1])


def test_held_out_text_ids_are_found_among_numbers(write):
    train = ratings(write("a.csv", "user,item,rating\n7,1,2\n10,1,3\n"))
    held_out = ratings(write("b.csv", "user,item,rating\n10,1,2\nann,1,3\n"))
    assert held_out.reindexed_like(train).users.tolist() == [1, -1]


def test_blank_lines_between_ratings_are_skipped(write):
    assert ratings(write("u.data", "1\t2\t3\t4\n\n2\t2\t3\t4\r\n   \n")).rating_count == 2


IDS = "write: user item rating [time], ids as whole numbers or text"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\t2\t3\t4\n1\t3\tfive\t4\n", f"2: rating 'five' is not a number; {IDS}"),
        ("1\t\t3\t4\n", f"1: the item id is empty; {IDS}"),
        ("alice\t1\t3\t4\n\t2\t3\t4\n", f"2: the user id is empty; {IDS}"),
        ("1\t2\tnan\t4\n", "1: the rating is nan; ratings must be finite numbers"),
        ("1\t1\t1\t1\n\n1\t2\tinf\t4\n", "3: the rating is inf; ratings must be finite numbers"),
        (
            "1\t2\t3\t4\n1\t2\n",
            "2: 2 columns, not 4 (separated by tabs); give every line the same columns",
        ),
        ("1\t2\n", f"1: 2 columns (separated by tabs), not 3 or 4; {IDS}"),
    ],
)
def test_a_wrong_line_is_named_with_its_value_and_a_remedy(complaint, content, message):
    assert complaint("u.data", content, kind="ratings") == f"u.data:{message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "userId,movieId,timestamp\n1,2,3\n",
            "1: the header names no rating (its columns: 'userId', 'movieId', 'timestamp'); name "
            "them with --columns rating=NAME, or rename columns: rating (rating, score, value, "
            "...)",
        ),
        ("userId,movieId,rating\n", "1: no row follows the header; give a file with data"),
        (
            "userId,movieId,rating,when\n1,2,3,May\n1,2,good,May\n",
            f"3: rating 'good' is not a number; {IDS}",
        ),
    ],
)
def test_a_csv_with_a_wrong_header_or_line_is_named(complaint, content, message):
    assert complaint("ratings.csv", content, kind="ratings") == f"ratings.csv:{message}"


def test_excluded_ratings_are_left_out_and_what_they_alone_named_is_unknown(write):
    held_out = write("held", "1\t2\t3\n2\t3\t1\n")
    train = ratings(write("all", "1\t1\t4\n1\t2\t3\n2\t1\t5\n2\t3\t1\n"), exclude=str(held_out))
    assert (list(train.user_ids), list(train.item_ids)) == ([1, 2], [1])
    assert list(train.values) == [4.0, 5.0]
    assert f"2 ratings are left out: {held_out} has them" in train.notes


def test_excluding_everything_is_refused(write, complaint):
    held_out = write("held", "1\t2\t3\n")
    message = complaint("all", "1\t2\t3\n", kind="ratings", exclude=held_out)
    assert message == "--exclude held: no rating of all is left; exclude less"


def test_excluding_from_a_matrix_is_refused(write, complaint):
    held_out = write("held", "1\t2\t3\n")
    message = complaint("a.csv", "1,2\n3,4\n", exclude=held_out)
    assert (
        message == "--exclude held: a.csv holds a matrix of numbers; only ratings can be excluded"
    )


def test_a_rating_that_is_a_word_or_missing_is_named_with_its_line(complaint):
    assert complaint("a.csv", "user,item,rating\n1,2,good\n1,3,bad\n").startswith(
        "a.csv:2: rating 'good' is not a number"
    )
    assert complaint("a.csv", "user,item,rating\n1,2,\n1,3,4\n") == (
        "a.csv:2: the rating is missing; remove lines without a rating"
    )


def test_ids_keep_their_commas(write):
    content = "user;item;rating\n1,5;a;3\n2,5;b;4\n"
    ratings = open_dataset(write("a.csv", content), kind="ratings")
    assert ratings.user_ids.tolist() == ["1,5", "2,5"]


def test_a_table_without_one_of_the_columns_names_those_that_it_has(complaint):
    assert complaint("a.csv", "user_id,mark\n1,5\n", kind="ratings") == (
        "a.csv:1: the header names no item and no rating (its columns: 'user_id', 'mark'); name "
        "them with --columns item=NAME,rating=NAME, or rename columns: item (movie, item, "
        "product, ...), rating (rating, score, value, ...)"
    )


def test_a_header_above_decimal_commas_is_one(complaint):
    assert complaint("a.csv", "Note;Kunde;Ware\n4,5;ann;x\n3,0;bob;y\n", kind="ratings") == (
        "a.csv:1: the header names no user and no item and no rating (its columns: 'Note', "
        "'Kunde', 'Ware'); name them with --columns user=NAME,item=NAME,rating=NAME, or rename "
        "columns: user (user, customer, client, ...), item (movie, item, product, ...), rating "
        "(rating, score, value, ...)"
    )


def test_text_ids_may_hold_line_breaks(write):
    path = write("a.csv", 'user,item,rating\nann,"two\nlines",5\nbob,"two\r\nlines",4\n')
    assert open_dataset(path, kind="ratings").item_ids.tolist() == ["two\nlines"]
