"""UCI bag-of-words files: what is written is read back, what is wrong is named."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.datasets import Corpus, open_dataset

TRIPLES = st.dictionaries(
    st.tuples(st.integers(1, 9), st.integers(1, 12)), st.integers(1, 99), min_size=1
)


@settings(max_examples=examples(50))
@given(triples=TRIPLES)
def test_what_is_written_is_read_back_with_empty_documents(triples, tmp_path_factory):
    path = tmp_path_factory.mktemp("docword") / "docword.x.txt"
    body = "".join(f"{document} {word} {count}\n" for (document, word), count in triples.items())
    path.write_text(f"10\n15\n{len(triples)}\n{body}")
    corpus = open_dataset(path)
    assert isinstance(corpus, Corpus)
    assert (corpus.document_count, corpus.vocabulary_size) == (10, 15)
    read = {
        (document + 1, int(word) + 1): int(count)
        for document in range(10)
        for word, count in zip(
            corpus.words[corpus.offsets[document] : corpus.offsets[document + 1]],
            corpus.counts[corpus.offsets[document] : corpus.offsets[document + 1]],
            strict=True,
        )
    }
    assert read == triples


def test_the_vocabulary_beside_the_corpus_is_read(write):
    write("vocab.a.txt", "ape\nbee\n")
    corpus = open_dataset(write("docword.a.txt", "1\n2\n1\n1 2 3\n"))
    assert isinstance(corpus, Corpus)
    assert corpus.vocabulary == ("ape", "bee")


def test_a_vocabulary_of_another_length_is_named(write, complaint):
    write("vocab.a.txt", "ape\nbee\ncat\n")
    assert complaint("docword.a.txt", "1\n2\n1\n1 2 3\n") == (
        "vocab.a.txt: lists 3 words, docword.a.txt needs 2; "
        "one word per line; or move the file elsewhere"
    )


HEADER = "the first three lines are the numbers of documents, words and pairs"
TRIPLE = "write three whole numbers: document word count"
COUNT = "counts must be whole numbers from 1"


def from_one(what: str) -> str:
    return f"{what} are counted from 1; the header gives how many there are"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x\n2\n3\n1 1 1\n", f"1: the number of documents is 'x'; {HEADER}"),
        ("2\n-2\n3\n1 1 1\n", f"2: the number of words is '-2'; {HEADER}"),
        ("2\n3\n", f"2: ends inside its header; {HEADER}"),
        ("2\n3\n1\n", f"3: no pairs follow the header; {TRIPLE}"),
        (
            "2\n3\n2\n1 1 1\n",
            "3: the header announces 2 pairs, the file has 1; "
            "the file was cut short, or correct line 3",
        ),
        ("2\n3\n1\n3 1 1\n", f"4: document 3 is outside 1..2; {from_one('documents')}"),
        ("2\n3\n1\n0 1 1\n", f"4: document 0 is outside 1..2; {from_one('documents')}"),
        ("2\n3\n1\n1 4 1\n", f"4: word 4 is outside 1..3; {from_one('words')}"),
        ("2\n3\n1\n1 0 1\n", f"4: word 0 is outside 1..3; {from_one('words')}"),
        ("2\n3\n2\n1 1 1\n\n1 2 -1\n", f"6: count -1 is outside 1..2147483647; {COUNT}"),
        ("2\n3\n1\n1 1 0\n", f"4: count 0 is outside 1..2147483647; {COUNT}"),
        ("2\n3\n2\n1 1 1\n2 x 1\n", f"5: 'x' is not a whole number; {TRIPLE}"),
        ("2\n3\n2\n1 1 1\n2 1 1.5\n", f"5: '1.5' is not a whole number; {TRIPLE}"),
        ("2\n3\n1\n1 1 nan\n", f"4: 'nan' is not a whole number; {TRIPLE}"),
        ("2\n3\n2\n1 1 1\n2 1\n", f"5: 2 columns, not 3; {TRIPLE}"),
        ("2\n3\n1\n1 1\n", f"4: 2 columns, not 3; {TRIPLE}"),
        ("2\n3\n1\n1 1 1 1\n", f"4: 4 columns, not 3; {TRIPLE}"),
        (
            "2000000000\n3\n1\n1 1 1\n",
            "1: the header announces 2,000,000,000 documents for 1 pairs; correct line 1",
        ),
    ],
)
def test_a_wrong_line_is_named_with_its_value_and_a_remedy(complaint, content, message):
    assert complaint("docword.a.txt", content) == f"docword.a.txt:{message}"
