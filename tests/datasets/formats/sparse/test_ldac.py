"""lda-c corpora: what is written is read back, what is wrong is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.datasets import Corpus, open_dataset

DOCUMENTS = st.lists(
    st.dictionaries(st.integers(0, 40), st.integers(1, 9), max_size=6), min_size=1, max_size=8
).filter(any)


def as_ldac(documents: list[dict[int, int]]) -> str:
    return "\n".join(
        " ".join([str(len(pairs)), *(f"{word}:{count}" for word, count in pairs.items())])
        for pairs in documents
    )


@settings(max_examples=examples(50))
@given(documents=DOCUMENTS)
def test_what_is_written_is_read_back_in_any_word_order(documents, tmp_path_factory):
    path = tmp_path_factory.mktemp("ldac") / "some.ldac"
    path.write_text(as_ldac(documents))
    corpus = open_dataset(path)
    assert isinstance(corpus, Corpus)
    assert corpus.vocabulary_size == 1 + max(word for pairs in documents for word in pairs)
    for number, pairs in enumerate(documents):
        own = slice(*corpus.offsets[number : number + 2])
        assert dict(zip(corpus.words[own], corpus.counts[own], strict=True)) == pairs
        assert (np.diff(corpus.words[own]) > 0).all()


@pytest.mark.parametrize("name", ["a.tokens", "a.vocab", "vocab.txt", "a.tokens.gz"])
def test_the_words_beside_the_corpus_are_its_vocabulary(write, name):
    import gzip

    words = b"ape\nbee\ncat\n"
    write(name, gzip.compress(words) if name.endswith(".gz") else words)
    corpus = open_dataset(write("a.ldac", "2 0:1 1:2\n"))
    assert isinstance(corpus, Corpus)
    assert (corpus.vocabulary, corpus.vocabulary_size) == (("ape", "bee", "cat"), 3)


def test_a_vocabulary_that_is_too_short_is_named(write, complaint):
    write("a.tokens", "ape\nbee\n")
    assert complaint("a.ldac", "1 4:1\n") == (
        "a.tokens: lists 2 words, a.ldac needs 5; one word per line; or move the file elsewhere"
    )


COUNTS = "counts must be whole numbers from 1"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "2 0:1 1:2\n3 0:1\n",
            "a.ldac:2: the line announces 3 pairs and has 1; "
            "the first number must be how many follow",
        ),
        ("1 0:-1\n", f"a.ldac:1: word 0 has count -1; {COUNTS}"),
        ("1 0:0\n", f"a.ldac:1: word 0 has count 0; {COUNTS}"),
        ("1 7:1.5\n", f"a.ldac:1: word 7 has count 1.5; {COUNTS}"),
        ("1 0:1\n1 0:nan\n", f"a.ldac:2: word 0 has count nan; {COUNTS}"),
        (
            "1 -1:2\n",
            "a.ldac:1: word number -1 is outside 0..2147483647; number the words from 0",
        ),
    ],
)
def test_a_wrong_line_is_named_with_its_value_and_a_remedy(complaint, content, message):
    assert complaint("a.ldac", content) == message
