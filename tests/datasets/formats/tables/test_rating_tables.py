"""Tables of ratings as people have them: own names, decimal commas, users x items, odd ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from motet.datasets import Ratings, open_dataset


def triples(path: Path, **options: Any) -> set[tuple[Any, Any, float]]:
    read = open_dataset(path, kind="ratings", **options)
    assert isinstance(read, Ratings)
    users, items = read.user_ids[read.users].tolist(), read.item_ids[read.items].tolist()
    return set(zip(users, items, read.values.tolist(), strict=True))


@pytest.mark.parametrize(
    "header",
    [
        "UserID,isbn,Book-Rating,ts",
        "reviewerID,asin,overall,unixReviewTime",
        "userName,itemName,userRating,day",
        "account,product_name,stars,day",
    ],
)
def test_common_names_of_columns_are_found(write, header):
    assert triples(write("r.csv", f"{header}\na,x,4,9\nb,y,2,9\n")) == {
        ("a", "x", 4),
        ("b", "y", 2),
    }


def test_columns_can_be_named(write):
    text = "Kunde,Note,Ware\na,4,x\nb,2,y\n"
    found = {("a", "x", 4), ("b", "y", 2)}
    named = {"user": "Kunde", "item": "Ware", "rating": "Note"}
    assert triples(write("r.csv", text), columns=named) == found
    assert triples(write("r.txt", text), columns="user=Kunde,item=Ware,rating=Note") == found
    assert triples(write("n.csv", "4,x,a\n2,y,b\n"), columns="user=2,item=1,rating=0") == found


def test_a_wrong_name_is_refused(complaint):
    text = "Kunde,Note,Ware\na,4,x\n"
    for given, message in (
        ("user=Kund,item=Ware,rating=Note", "unknown column of a.csv 'Kund'; did you mean 'Kunde'"),
        ("person=Kunde", "unknown column of ratings 'person'"),
        ("Kunde", "--columns Kunde: 'Kunde' is not ROLE=NAME"),
        ("user=7,item=Ware,rating=Note", "unknown column of a.csv '7'"),
    ):
        assert message in complaint("a.csv", text, kind="ratings", columns=given)
    said = complaint("a.csv", text, kind="ratings")
    assert "names no user and no item and no rating" in said
    assert "--columns user=NAME,item=NAME,rating=NAME" in said


def test_names_of_columns_do_not_apply_to_other_data(complaint):
    said = complaint("a.csv", "a,b\n1,2\n", kind="unlabelled", columns="user=a")
    assert "--columns does not apply to csv data" in said


def test_ratings_may_have_decimal_commas(write):
    path = write("r.csv", "user;film;stars;ts\n1,5;x;3,5;1\nb;y;2;2\n")
    assert triples(path) == {("1,5", "x", 3.5), ("b", "y", 2)}
    (note,) = open_dataset(path, kind="ratings").notes
    assert "decimal commas" in note


@pytest.mark.parametrize("first", ["user", "", "Unnamed: 0", "customer_id"])
def test_a_table_of_users_and_items_is_read_as_a_frame_is(write, first):
    path = write("r.csv", f"{first},x,y,Film 2 (1990),7\n1,,2.5,,\n2,3,,,0\n")
    assert triples(path) == {(1, "y", 2.5), (2, "x", 3), (2, "7", 0)}
    pairs = {(user, item, 0.0) for user, item, _ in triples(path)}
    assert triples(path, only=("user", "item")) == pairs


def test_a_table_with_words_is_not_one_of_users_and_items(complaint):
    said = complaint("a.csv", "user,a,b,c,d\n1,x,2,3,4\n2,y,2,3,4\n", kind="ratings")
    assert "names no item and no rating" in said


def test_ids_with_leading_zeros_stay_text(write):
    text = "user,film,stars\n00097,7,4\n12,0,2\n"
    assert triples(write("r.csv", text)) == {("00097", 7, 4), ("12", 0, 2)}
    assert triples(write("r.dat", "1::007::4::978300760\n0::8::2::978300760\n")) == {
        (1, "007", 4),
        (0, "8", 2),
    }
