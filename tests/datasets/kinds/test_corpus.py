"""Corpora: pairs and tokens are two views of the same documents."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.datasets import Corpus

DOCUMENTS = st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=6)


def corpus_of(documents: list[list[int]], words: tuple[str, ...] | None = None) -> Corpus:
    owner = np.repeat(np.arange(len(documents)), [len(document) for document in documents])
    tokens = np.array([word for document in documents for word in document], dtype=np.int64)
    size = 10 if words is None else len(words)
    ones = np.ones(len(tokens), dtype=np.int64)
    shape = (len(documents), size)
    return Corpus.from_pairs(owner, tokens, ones, shape, source="c", vocabulary=words)


@given(documents=DOCUMENTS)
def test_tokens_and_pairs_are_the_same_documents(documents):
    corpus = corpus_of(documents)
    assert corpus.token_count == sum(map(len, documents))
    for number, document in enumerate(documents):
        tokens = corpus.token_words[slice(*corpus.token_offsets[number : number + 2])]
        assert tokens.tolist() == sorted(document)
        pairs = slice(*corpus.offsets[number : number + 2])
        counted = dict(zip(corpus.words[pairs], corpus.counts[pairs], strict=True))
        assert counted == Counter(document)


def test_dtypes_are_those_that_kernels_expect():
    corpus = corpus_of([[1, 1], [], [2]])
    assert [array.dtype.name for array in (corpus.offsets, corpus.words, corpus.counts)] == [
        "int64",
        "int32",
        "int32",
    ]
    assert (corpus.token_words.dtype, corpus.token_offsets.dtype) == (np.int32, np.int64)
    assert corpus.describe() == "3 documents, 10 words, 3 tokens"


@given(documents=DOCUMENTS, data=st.data())
def test_chosen_documents_are_those_documents(documents, data):
    chosen = data.draw(st.lists(st.integers(0, len(documents) - 1)))
    rows = corpus_of(documents).rows(np.array(chosen, dtype=np.intp))
    expected = corpus_of([documents[number] for number in chosen])
    assert rows.sha256 == expected.sha256


def test_words_are_matched_by_name_and_unknown_ones_are_left_out_and_counted():
    train = corpus_of([[0, 1, 2]], words=("ape", "bee", "cat"))
    test = corpus_of([[0, 1, 1], [2, 2]], words=("cat", "dog", "ape")).reindexed_like(train)
    assert test.vocabulary == ("ape", "bee", "cat")
    assert (test.token_words.tolist(), test.token_offsets.tolist()) == ([2, 0, 0], [0, 1, 3])
    assert test.notes == ("2 of 5 tokens are left out: the training data lacks the words",)


def test_without_names_words_are_matched_by_number():
    train = corpus_of([[0, 1]], words=("ape", "bee"))
    test = corpus_of([[1, 5]]).reindexed_like(train)
    assert (test.vocabulary_size, test.token_words.tolist()) == (2, [1])
