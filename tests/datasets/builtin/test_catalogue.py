"""Bundled data by name: shapes, parts, and answers to wrong names."""

from __future__ import annotations

import numpy as np
import pytest

from motet.datasets import Corpus, Dataset, LabelledMatrix, Ratings, open_dataset
from motet.datasets.builtin.catalogue import BUNDLED, dataset_names, kind_of
from motet.datasets.held_out import part_of
from motet.domain.errors import BadInput, UnknownName


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("breast-cancer", (569, 30)),
        ("diabetes", (442, 10)),
        ("digits", (1_797, 64)),
        ("iris", (150, 4)),
        ("wine", (178, 13)),
    ],
)
def test_bundled_matrices_have_their_shape_names_and_target(name, shape):
    data = open_dataset(name, kind="labelled")
    assert isinstance(data, LabelledMatrix)
    assert data.features.shape == shape
    assert data.features.dtype == np.float64
    assert len(data.feature_names or ()) == shape[1]
    assert data.require_target().shape == shape[:1]


def test_digits_are_scaled_to_one_and_rate_every_pixel():
    digits, ratings = open_dataset("digits"), open_dataset("digits-ratings")
    assert isinstance(digits, LabelledMatrix)
    assert isinstance(ratings, Ratings)
    assert (digits.features.min(), digits.features.max()) == (0.0, 1.0)
    rebuilt = np.full(ratings.shape, np.nan)
    rebuilt[ratings.users, ratings.items] = ratings.values
    np.testing.assert_array_equal(rebuilt, digits.features)


@pytest.mark.soak
def test_pydoc_is_a_corpus_of_real_words_and_always_the_same():
    corpus = open_dataset("pydoc", kind="corpus")
    assert isinstance(corpus, Corpus)
    assert type(corpus) is kind_of("pydoc")
    assert 1_000 < corpus.document_count < 3_000
    assert corpus.token_count > 30_000
    vocabulary = corpus.vocabulary or ()
    assert {"object", "string", "file", "exception"} < set(vocabulary)
    assert not {"the", "and", "self", "with"} & set(vocabulary)
    assert all(word.isalpha() and word.islower() for word in vocabulary)
    assert corpus.source.startswith("pydoc (Python 3.")
    assert open_dataset("pydoc").sha256 == corpus.sha256


@pytest.mark.soak
def test_pydoc_does_without_the_help_topics(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    corpus = open_dataset("pydoc", kind="corpus")
    assert isinstance(corpus, Corpus)
    assert corpus.document_count > 1_000


def count(data: Dataset) -> int:
    if isinstance(data, LabelledMatrix):
        return data.row_count
    assert isinstance(data, Ratings)
    return data.rating_count


@pytest.mark.parametrize("name", ["iris", "digits-ratings"])
def test_the_parts_of_a_bundled_set_are_four_fifths_and_one_fifth(name):
    whole, train, test = (open_dataset(name + part) for part in ("", ":part=train", ":part=test"))
    assert count(train) + count(test) == count(whole)
    assert count(test) == count(whole) // 5
    assert train.source == f"{name}:part=train"


def test_the_parts_of_ratings_share_no_cell():
    train, test = (open_dataset(f"digits-ratings:part={part}") for part in ("train", "test"))
    assert isinstance(train, Ratings)
    assert isinstance(test, Ratings)
    assert train.without(test.reindexed_like(train)).rating_count == train.rating_count


def test_a_corpus_is_held_out_by_whole_documents():
    whole = open_dataset("synthetic-corpus:documents=50,words=20")
    assert isinstance(whole, Corpus)
    train, test = (part_of(whole, part, part) for part in ("train", "test"))
    assert isinstance(train, Corpus)
    assert isinstance(test, Corpus)
    assert (train.document_count, test.document_count) == (40, 10)
    assert train.token_count + test.token_count == whole.token_count


@pytest.mark.parametrize("name", sorted(set(BUNDLED) - {"pydoc"}))
def test_the_kind_is_known_before_loading(name):
    assert kind_of(name) is type(open_dataset(name))


def test_a_name_of_another_kind_is_refused_before_it_is_generated():
    with pytest.raises(BadInput) as caught:
        open_dataset("synthetic-ratings:users=1000000000", kind="corpus")
    assert str(caught.value) == (
        "synthetic-ratings:users=1000000000: holds ratings, this application needs a corpus; "
        "give data of that kind"
    )


def test_an_unknown_kind_of_need_is_refused():
    with pytest.raises(UnknownName, match="unknown kind of data 'matrix'"):
        open_dataset("iris", kind="matrix")


def test_a_part_that_does_not_exist_is_refused():
    with pytest.raises(BadInput, match="iris: part='half' is not a part; write train or test"):
        open_dataset("iris:part=half")


def test_every_known_name_is_listed_once():
    names = dataset_names()
    assert len(names) == len(set(names)) == len(BUNDLED) + 4
