"""The real data sets are read, recognised without help, with the shapes they are known to have."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from motet.datasets import Corpus, LabelledMatrix, Ratings, open_dataset


def at(shared_data: Path, name: str) -> Path:
    path = shared_data / name
    if not path.exists():
        pytest.skip(f"needs {path}, which is not there")
    return path


def test_a9a_has_its_rows_and_labels(shared_data):
    train = open_dataset(at(shared_data, "a9a/a9a.gz"), kind="labelled")
    test = open_dataset(at(shared_data, "a9a/a9a.t.gz"), kind="labelled").reindexed_like(train)
    assert isinstance(train, LabelledMatrix)
    assert isinstance(test, LabelledMatrix)
    assert (train.row_count, test.row_count) == (32_560, 16_281)
    assert train.features.nnz == 451_578
    assert test.feature_count == train.feature_count
    assert set(train.require_target()) == {0.0, 1.0}


def test_mnist_images_find_their_labels(shared_data):
    test = open_dataset(at(shared_data, "mnist/t10k-images-idx3-ubyte.gz"), kind="labelled")
    assert isinstance(test, LabelledMatrix)
    assert test.features.shape == (10_000, 784)
    assert (test.features.min(), test.features.max()) == (0.0, 1.0)
    assert list(test.require_target()[:5]) == [7, 2, 1, 0, 4]


def test_kos_has_its_documents_words_and_tokens(shared_data):
    corpus = open_dataset(at(shared_data, "kos/docword.kos.txt.gz"))
    assert isinstance(corpus, Corpus)
    assert (corpus.document_count, corpus.vocabulary_size) == (3_430, 6_906)
    assert (corpus.token_count, corpus.pair_count) == (467_714, 353_160)


def test_reuters_has_its_documents_and_words(shared_data):
    corpus = open_dataset(at(shared_data, "reuters/reuters.ldac"))
    assert isinstance(corpus, Corpus)
    assert (corpus.document_count, corpus.vocabulary_size) == (395, 4_258)
    assert (corpus.token_count, corpus.pair_count) == (84_010, 60_114)
    assert corpus.vocabulary is not None
    assert corpus.vocabulary[:2] == ("church", "pope")


def test_movielens_without_its_test_fold_is_the_official_training_fold(shared_data):
    whole, fold = (at(shared_data, f"ml-100k/{name}.gz") for name in ("u.data", "u1.test"))
    train = open_dataset(whole, kind="ratings", exclude=fold)
    test = open_dataset(fold, kind="ratings").reindexed_like(train)
    assert isinstance(train, Ratings)
    assert isinstance(test, Ratings)
    assert (train.rating_count, train.shape) == (80_000, (943, 1_650))
    assert (test.rating_count, test.shape, test.unknown_count) == (20_000, (943, 1_650), 32)
    error = test.values - train.values.mean()
    assert np.sqrt(np.mean(error**2)) == pytest.approx(1.1537, abs=1e-4)


def test_communities_keeps_its_hundred_complete_predictors(shared_data):
    path = at(shared_data, "communities/communities.data.gz")
    data = open_dataset(path, kind="labelled", drop="0-4,missing", target="-1", na="?")
    assert isinstance(data, LabelledMatrix)
    assert data.features.shape == (1_994, 100)
    assert list(data.require_target()[:3]) == [0.2, 0.67, 0.43]


def test_communities_without_hints_is_refused_at_its_first_missing_value(shared_data):
    path = at(shared_data, "communities/communities.data.gz")
    with pytest.raises(Exception, match=r"communities\.data\.gz:1: column 1 is '\?'"):
        open_dataset(path, kind="labelled", target="-1")


def test_shakespeare_is_a_corpus_of_paragraphs(shared_data):
    corpus = open_dataset(at(shared_data, "tinyshakespeare/input.txt.gz"), kind="corpus")
    assert isinstance(corpus, Corpus)
    assert corpus.document_count > 6_000
    assert "love" in (corpus.vocabulary or ())


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "kind"),
    [("kos/docword.kos.txt.gz", "corpus"), ("ml-100k/u.data.gz", "ratings"), ("a9a/a9a.gz", None)],
)
def test_reading_costs_less_than_four_times_numpys_own_parser(shared_data, name, kind):
    """Numbers per CPU second beside `np.loadtxt` on as many numbers; unpacking is in both."""
    path = at(shared_data, name)
    open_dataset(path, kind=kind)
    ours = _cpu_seconds(lambda: open_dataset(path, kind=kind))
    theirs = _cpu_seconds(lambda: _parse_plainly(path))
    assert ours < 4 * theirs + 0.05


def _parse_plainly(path: Path) -> None:
    import gzip
    import io

    text = gzip.decompress(path.read_bytes()).replace(b":", b"\n").replace(b" ", b"\n")
    np.loadtxt(io.BytesIO(text.replace(b"\t", b"\n")), comments=None)


def _cpu_seconds(action: object) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        action()  # type: ignore[operator]
        best = min(best, time.process_time() - start)
    return best
