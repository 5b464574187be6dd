"""The start of the topics of a corpus: which words it puts together, and when there is none."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from motet.apps.kernels import topic_start
from motet.apps.kernels.topic_start import word_topics
from motet.datasets.kinds import Corpus
from motet.domain.arrays import Floats

PRIORS = (0.25, 0.25)


def planted(documents: int = 200) -> Corpus:
    """Four topics of ten words; each document has 15 tokens of each of two topics."""
    rng = np.random.default_rng(3)
    topics = np.repeat([rng.permutation(4)[:2] for _ in range(documents)], 15, axis=1)
    words = 10 * topics + rng.integers(0, 10, topics.shape)
    owners = np.repeat(np.arange(documents), topics.shape[1])
    return Corpus.from_pairs(
        owners,
        words.ravel(),
        np.ones(words.size, np.int64),
        (documents, 40),
        source="planted",
    )


def groups_of_words(found: Floats | None) -> set[tuple[int, ...]]:
    assert found is not None
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    return {tuple(of_topic) for of_topic in found.argmax(axis=1).reshape(4, 10).tolist()}


@pytest.mark.parametrize("seed", range(5))
def test_words_of_one_planted_topic_have_one_topic(seed: int) -> None:
    groups = groups_of_words(word_topics(planted(), seed, 4, PRIORS))
    assert groups == {(topic,) * 10 for topic in range(4)}


def test_a_sample_of_the_documents_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_start, "_TOKENS_OF_TOPIC", 600)
    corpus = planted()
    found = word_topics(corpus, 1, 4, PRIORS)
    assert groups_of_words(found) == {(topic,) * 10 for topic in range(4)}
    monkeypatch.undo()
    assert not np.array_equal(found, word_topics(corpus, 1, 4, PRIORS))


def test_one_seed_gives_one_start_and_another_seed_another() -> None:
    corpus = planted(50)
    first, again, other = (word_topics(corpus, seed, 4, PRIORS) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_start_is_the_same_on_processors_with_fewer_instructions() -> None:
    """One seed gives one model on every machine of a cluster, and on the next cluster."""
    dispatched = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    program = (
        "import sys, numpy as np; from motet.apps.kernels.topic_start import _first_weights\n"
        "sys.stdout.buffer.write(_first_weights(7, (50, 30)).tobytes())"
    )
    environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(dispatched)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True
    )
    assert done.stdout == topic_start._first_weights(7, (50, 30)).tobytes()


def test_there_is_none_for_many_topics_of_a_large_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_start, "_MOST_NUMBERS", 6_000 * 2 * 4)
    assert word_topics(planted(), 0, 4, PRIORS) is not None
    assert word_topics(planted(), 0, 5, PRIORS) is None


def test_there_is_none_if_no_document_is_in_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_start, "_TOKENS_OF_TOPIC", 0)
    assert word_topics(planted(), 0, 4, PRIORS) is None
