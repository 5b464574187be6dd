"""Kernel speed of LDA beside tomotopy and the lda package: CPU-seconds of one thread."""

from __future__ import annotations

import importlib.util
import logging
from itertools import pairwise
from typing import Any

from scipy.sparse import csr_matrix

from motet.apps.lda import LDA
from motet.datasets import Corpus, open_dataset
from support.figures import Figure
from support.side_by_side import Sample, comp_sample, cpu_s, interleaved_medians, real_or_generated

ALPHA, BETA = 0.1, 0.01
_PACKAGE_SWEEPS = 3


def topic_figures(quick: bool = False) -> list[Figure]:
    """A sweep on the KOS corpus, or on generated documents of its shape."""
    place, is_real = real_or_generated(
        "kos/docword.kos.txt.gz", "synthetic-corpus:documents=3430,words=6906,topics=20,length=136"
    )
    corpus = open_dataset(place, kind="corpus")
    assert isinstance(corpus, Corpus)
    name = "KOS" if is_real else "the shape of KOS"
    return [
        figure
        for topics in ((50,) if quick else (20, 50, 200))
        for figure in _figures(f"LDA, {name}, K = {topics}", corpus, topics, quick)
    ]


def _figures(name: str, corpus: Corpus, topics: int, quick: bool) -> list[Figure]:
    peers = {"tomotopy": (_tomotopy_sample, 0.5), "lda": (_package_sample, 2.0)}
    found = {peer: made for peer, made in peers.items() if importlib.util.find_spec(peer)}
    samples: list[Sample] = [comp_sample(LDA(topics, ALPHA, BETA), corpus)]
    samples += [make(corpus, topics) for make, _ in found.values()]
    own, *others = (
        corpus.token_count / seconds / 1e6
        for seconds in interleaved_medians(samples, 5 if quick else 15)
    )
    measured = f"{own:.1f}M tokens/s"
    missing = [
        Figure(f"{name} ({peer} is not installed)", measured) for peer in peers.keys() - found
    ]
    return missing + [
        Figure(f"{name}, {peer}", measured, f"{speed:.1f}M {peer}", own / speed, target)
        for (peer, (_, target)), speed in zip(found.items(), others, strict=True)
    ]


def _tomotopy_sample(corpus: Corpus, topics: int) -> Sample:
    import tomotopy

    model: Any = tomotopy.LDAModel(k=topics, alpha=ALPHA, eta=BETA, seed=1)
    model.optim_interval = 0
    bounds = corpus.token_offsets.tolist()
    words = [str(word) for word in corpus.token_words.tolist()]
    for low, high in pairwise(bounds):
        if high > low:
            model.add_doc(words[low:high])
    model.train(0, workers=1)
    return lambda: cpu_s(lambda: model.train(1, workers=1))


def _package_sample(corpus: Corpus, topics: int) -> Sample:
    """Seconds per sweep, without what `fit` does before the first."""
    logging.getLogger("lda").setLevel(logging.ERROR)
    shape = (corpus.document_count, corpus.vocabulary_size)
    counts = csr_matrix((corpus.counts, corpus.words, corpus.offsets), shape=shape)

    def sample() -> float:
        one, many = _package(topics, 1), _package(topics, 1 + _PACKAGE_SWEEPS)
        first = cpu_s(lambda: one.fit(counts))
        return (cpu_s(lambda: many.fit(counts)) - first) / _PACKAGE_SWEEPS

    return sample


def _package(topics: int, sweeps: int) -> Any:
    import lda

    return lda.LDA(
        n_topics=topics, n_iter=sweeps, alpha=ALPHA, eta=BETA, random_state=1, refresh=10**9
    )
