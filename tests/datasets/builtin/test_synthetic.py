"""Generated data: seeded, of the size asked for, and answers to wrong settings."""

from __future__ import annotations

import numpy as np
import pytest

from motet.datasets import Corpus, LabelledMatrix, Ratings, open_dataset
from motet.datasets.builtin.synthetic import GENERATORS
from motet.domain.errors import BadInput, UnknownName


@pytest.mark.parametrize("name", GENERATORS)
def test_the_data_depend_only_on_seed_and_role(name):
    first = open_dataset(f"{name}:seed=1").sha256
    assert open_dataset(f"{name}:seed=1").sha256 == first
    assert open_dataset(f"{name}:seed=2").sha256 != first
    assert open_dataset(f"{name}:seed=1", role="test").sha256 != first


def test_regression_has_its_size_and_only_so_many_weights():
    name = "synthetic-regression:rows=300,features=8,nonzeros=3,noise=0"
    train, test = open_dataset(name), open_dataset(name, role="test")
    assert isinstance(train, LabelledMatrix)
    assert isinstance(test, LabelledMatrix)
    weights, *_ = np.linalg.lstsq(train.features, train.require_target(), rcond=None)
    assert np.count_nonzero(np.abs(weights) > 1e-9) == 3
    np.testing.assert_allclose(test.features @ weights, test.target, atol=1e-9)


def test_classification_has_its_separation_and_is_sparse_below_density_one():
    easy = open_dataset("synthetic-classification:rows=400,classes=4,separation=50")
    assert isinstance(easy, LabelledMatrix)
    centres = np.array([easy.features[easy.target == label].mean(axis=0) for label in range(4)])
    nearest = ((easy.features[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert np.mean(nearest == easy.target) == 1.0
    sparse = open_dataset("synthetic-classification:density=0.1,features=100")
    assert isinstance(sparse, LabelledMatrix)
    assert sparse.is_sparse
    assert sparse.features.nnz == pytest.approx(10_000, rel=0.1)


def test_ratings_have_the_rank_asked_for_and_test_cells_of_their_own():
    name = "synthetic-ratings:users=40,items=30,rank=3,density=1,noise=0"
    full = open_dataset(name)
    assert isinstance(full, Ratings)
    assert full.rating_count == 1_200
    values = np.zeros(full.shape)
    values[full.users, full.items] = full.values
    assert np.linalg.matrix_rank(values) == 3
    assert values.min() >= 0

    name = "synthetic-ratings:users=200,items=100,density=0.1"
    train, test = open_dataset(name), open_dataset(name, role="test")
    assert isinstance(train, Ratings)
    assert isinstance(test, Ratings)
    assert (train.rating_count, test.rating_count) == (2_000, 400)
    assert train.without(test).rating_count == 2_000


def test_a_corpus_has_its_documents_words_and_length():
    corpus = open_dataset("synthetic-corpus:documents=200,words=50,topics=4,length=80")
    assert isinstance(corpus, Corpus)
    assert (corpus.document_count, corpus.vocabulary_size) == (200, 50)
    assert corpus.token_count / 200 == pytest.approx(80, rel=0.05)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("synthetic-ratings:users=x", "users='x' is not a whole number; the default is 1000"),
        ("synthetic-ratings:users=1.5", "users='1.5' is not a whole number; the default is 1000"),
        ("synthetic-ratings:users=0", "users=0 is outside 1..1000000000; the default is 1000"),
        ("synthetic-ratings:density=2", "density=2 is outside 0..1.0; the default is 0.05"),
        ("synthetic-ratings:noise=nan", "noise=nan is outside 0..inf; the default is 0.1"),
        ("synthetic-ratings:users", "'users' is not a setting; write key=value,key=value"),
        ("synthetic-ratings:seed=1,seed=2", "'seed' is given twice; give it once"),
    ],
)
def test_a_wrong_setting_is_named_with_its_value_and_a_remedy(name, message):
    with pytest.raises(BadInput) as caught:
        open_dataset(name)
    assert str(caught.value) == f"synthetic-ratings: {message}"


def test_an_unknown_setting_is_answered_with_the_nearest_one():
    with pytest.raises(UnknownName) as caught:
        open_dataset("synthetic-corpus:topic=3")
    assert str(caught.value) == (
        "unknown setting of synthetic-corpus 'topic'; did you mean 'topics'? "
        "known: documents, length, seed, topics, words"
    )


def test_an_unknown_generator_is_answered_with_the_nearest_one():
    with pytest.raises(UnknownName, match="did you mean 'synthetic-ratings'"):
        open_dataset("synthetic-rating:users=3")


def test_data_that_does_not_fit_into_memory_is_refused(monkeypatch):
    def run_out(*args: object) -> None:
        raise MemoryError

    monkeypatch.setattr("motet.datasets.builtin.synthetic._distinct", run_out)
    with pytest.raises(BadInput, match="does not fit into memory; give less data"):
        open_dataset("synthetic-ratings")
