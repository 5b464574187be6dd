"""Topic models: exact counts, the right distribution, the same wherever documents are."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation

from motet.apps.kernels.topic_counts import count_topics
from motet.apps.kernels.topics import resample
from motet.apps.lda import LDA
from motet.datasets import open_dataset
from motet.datasets.kinds import Corpus
from motet.domain.arrays import Counts, Floats
from motet.domain.errors import BadInput
from motet.runtime.core.application import Step
from placement import PLACEMENTS, train_placed
from soak_cases import others_in_soak

ALPHA, BETA = 0.1, 0.01


def planted(documents: int = 120, seed: int = 1) -> tuple[Corpus, NDArray[np.int64]]:
    """Four topics of ten words each, 40 tokens per document, mostly of one topic; and which one."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, 4, documents)
    strays = rng.random((documents, 40)) < 0.1
    token_topics = np.where(strays, rng.integers(0, 4, (documents, 40)), topics[:, None])
    words = 10 * token_topics + rng.integers(0, 10, (documents, 40))
    owners = np.repeat(np.arange(documents), 40)
    names = tuple(f"topic{word // 10}word{word % 10}" for word in range(40))
    ones = np.ones(words.size, dtype=np.int64)
    return (
        Corpus.from_pairs(
            owners, words.ravel(), ones, (documents, 40), source="planted", vocabulary=names
        ),
        topics,
    )


def as_matrix(corpus: Corpus) -> csr_matrix:
    shape = (corpus.document_count, corpus.vocabulary_size)
    return csr_matrix((corpus.counts, corpus.words, corpus.offsets), shape=shape)


# -- the model -------------------------------------------------------------------------------------


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_result_is_exactly_the_same_for_any_workers_and_servers(
    placement: tuple[int, int],
) -> None:
    corpus, _ = planted()
    alone = LDA(topics=5, epochs=4).fit(corpus)
    placed = train_placed(LDA(topics=5), corpus, 4, *placement)
    np.testing.assert_array_equal(placed.app.components_, alone.components_)
    np.testing.assert_array_equal(placed.app.document_topics_, alone.document_topics_)
    np.testing.assert_allclose(placed.loss, alone.loss_curve_[-1], rtol=1e-12)


def test_counts_are_those_of_the_tokens_topics_at_all_times() -> None:
    corpus, _ = planted()
    for epochs in (0, 1, 7):
        model: Counts = train_placed(LDA(topics=5), corpus, epochs, workers=3, servers=2).model
        frequencies = np.bincount(corpus.token_words, minlength=40)
        assert model.min() >= 0
        np.testing.assert_array_equal(model[:-1].sum(axis=0), model[-1])
        np.testing.assert_array_equal(model[:-1].sum(axis=1), frequencies)
        assert model[-1].sum() == corpus.token_count


def test_log_likelihood_is_the_chain_rule_over_tokens() -> None:
    """log p(topics) + log p(words | topics), one token after another (Polya's urn)."""
    corpus, _ = planted(documents=6)
    app = LDA(topics=3, alpha=0.3, beta=0.2)
    rows = app.prepare(corpus, 0)
    model = app.initial_model(rows, 0)
    topics = rows.ragged("topics").values
    owners = np.repeat(np.arange(6), np.diff(corpus.token_offsets))
    in_document, of_word = np.zeros((6, 3)), np.zeros((40, 3))
    expected = 0.0
    for document, word, topic in zip(owners, corpus.token_words, topics, strict=True):
        expected += math.log(
            (in_document[document, topic] + 0.3) / (in_document[document].sum() + 0.9)
        )
        expected += math.log((of_word[word, topic] + 0.2) / (of_word[:, topic].sum() + 8.0))
        in_document[document, topic] += 1
        of_word[word, topic] += 1

    evaluation = app.summarise(model, app.evaluate(rows, model), len(rows))

    expected /= corpus.token_count
    assert evaluation.metrics["log_likelihood_per_token"] == pytest.approx(expected, rel=1e-12)
    assert evaluation.loss == -evaluation.metrics["log_likelihood_per_token"]


@pytest.mark.parametrize("old", [0, 3])
def test_tokens_are_drawn_from_the_conditional_distribution(old: int) -> None:
    """The first token of 100,000 equal documents: chi-square over topics below its 1e-4 tail."""
    repeats, topic_count = 100_000, 6
    counts = np.array([[9, 4, 0, 7, 1, 2], [3, 0, 5, 8, 0, 1], [20, 9, 11, 30, 2, 6]], np.int32)
    document = np.array([old, 3, 3, 1], np.int32)
    words = np.tile(np.array([0, 1, 0, 1], np.int32), repeats)
    topics = np.tile(document, repeats)
    resample(
        np.arange(repeats + 1) * 4,
        words,
        topics,
        np.arange(repeats),
        counts,
        np.array([0, 1], np.int32),
        (0.5, 0.1, 0.4),
        (7, 2),
    )

    others = np.bincount(document[1:], minlength=topic_count)
    without = np.arange(topic_count) == old
    weights = (others + 0.5) * (counts[0] - without + 0.1) / (counts[-1] - without + 0.4)
    expected = repeats * weights / weights.sum()
    drawn = np.bincount(topics[::4], minlength=topic_count)
    assert ((drawn - expected) ** 2 / expected).sum() < 25.7


def test_delta_is_how_the_counts_change() -> None:
    corpus, _ = planted()
    app = LDA(topics=5)
    rows = app.prepare(corpus, 0)
    model = app.initial_model(rows, 0)
    training = train_placed(LDA(topics=5, batch_size=0), corpus, 1, workers=1, servers=1)
    assert (training.model != model).any()
    np.testing.assert_array_equal(training.model.sum(axis=1), model.sum(axis=1))


def test_finds_planted_topics() -> None:
    corpus, topics = planted()
    model = LDA(topics=4, epochs=60).fit(corpus)
    found = model.document_topics_.argmax(axis=1)
    pairs = {(int(own), int(true)) for own, true in zip(found, topics, strict=True)}
    assert len(pairs) == 4
    for words in model.top_words(10):
        assert len({word[: len("topic0")] for word in words}) == 1


def test_one_seed_gives_one_model_and_another_seed_another() -> None:
    corpus, _ = planted()
    first, again, other = (
        LDA(topics=4, epochs=2, random_state=seed).fit(corpus).components_ for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "topics", "tomotopy"),
    [
        # Once, with three workers, in `e2e/test_quality.py`.
        pytest.param("reuters/reuters.ldac", 20, -8.030, marks=pytest.mark.soak),
        pytest.param("reuters/reuters.ldac", 50, -7.982, marks=pytest.mark.soak),
        pytest.param("kos/docword.kos.txt.gz", 20, -8.135, marks=pytest.mark.soak),
        pytest.param("kos/docword.kos.txt.gz", 50, -8.210, marks=pytest.mark.soak),
    ],
)
def test_likelihood_after_100_sweeps_is_tomotopys(
    shared_data: Path, path: str, topics: int, tomotopy: float
) -> None:
    corpus = open_dataset(shared_data / path, kind="corpus")
    reached = [
        -LDA(topics, ALPHA, BETA, epochs=100, random_state=seed).fit(corpus).loss_curve_[-1]
        for seed in range(3)
    ]
    assert np.mean(reached) >= tomotopy - 0.04


# -- mini-batches ----------------------------------------------------------------------------------


def test_a_mini_batch_is_a_tenth_of_the_documents_unless_set() -> None:
    corpus, _ = planted(documents=121)
    automatic, chosen = LDA(), LDA(batch_size=7)
    for app in (automatic, chosen):
        app.prepare(corpus, 0)
    assert (automatic.batch_size, chosen.batch_size) == (13, 7)
    assert automatic.get_params()["batch_size"] is None
    assert clone(automatic).set_params(batch_size=9).batch_size == 9


def test_a_mini_batch_names_its_own_words_and_pulls_the_whole_model() -> None:
    corpus, _ = planted()
    app = LDA()
    part = app.prepare(corpus, 0).slice(0, 2)
    batch = app.make_batch(part)
    assert batch.keys is None
    assert batch.extras.tolist() == sorted(set(part.ragged("words").values.tolist()))


def test_changes_of_a_mini_batch_are_those_of_its_tokens_topics() -> None:
    """Each count once, row after row, and none that stays the same."""
    corpus, _ = planted()
    app = LDA(topics=5)
    rows = app.prepare(corpus, 0)
    before = app.initial_model(rows, 0)
    update = app.compute(app.make_batch(rows), before, Step(0, 0, 1, 0, 120, 120, 0))
    after = count_topics(rows.ragged("words").values, rows.ragged("topics").values, 40, 5)
    positions, amounts = update.delta
    assert update.is_changes
    assert (np.diff(positions // 5) >= 0).all()
    assert sorted(positions.tolist()) == np.flatnonzero(after - before).tolist()
    np.testing.assert_array_equal((after - before).ravel()[positions], amounts)


# -- the fitted estimator --------------------------------------------------------------------------


def test_transform_agrees_with_training_on_its_own_documents() -> None:
    corpus, _ = planted()
    model = LDA(topics=4, epochs=60).fit(corpus)
    shares = model.transform(corpus)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert np.abs(shares - model.document_topics_).mean() < 0.05
    np.testing.assert_allclose(shares, model.transform(as_matrix(corpus)), rtol=1e-12)


def test_fit_transform_gives_the_training_documents_shares() -> None:
    corpus, _ = planted()
    model = LDA(topics=4, epochs=5)
    np.testing.assert_array_equal(model.fit_transform(corpus), model.document_topics_)
    np.testing.assert_allclose(model.document_topics_.sum(axis=1), 1.0)


def test_an_empty_document_has_all_topics_alike() -> None:
    corpus, _ = planted()
    with_empty = as_matrix(corpus).tolil()
    with_empty[3] = 0
    model = LDA(topics=4, epochs=5).fit(with_empty.tocsr())
    np.testing.assert_allclose(model.document_topics_[3], 0.25)
    np.testing.assert_allclose(model.transform(with_empty.tocsr())[3], 0.25)


def test_score_of_unseen_documents_rises_with_training_and_ends_near_the_truth() -> None:
    """The truth of a mostly one-topic document: 0.925 of its tokens are one of ten words."""
    train, test = planted()[0], planted(seed=2)[0]
    scores = [LDA(topics=4, epochs=epochs).fit(train).score(test) for epochs in (1, 60)]
    truth = 0.925 * math.log(0.0925) + 0.075 * math.log(0.0025)
    assert scores[0] < scores[1]
    assert scores[1] == pytest.approx(truth, abs=0.1)


def held_out_perplexity(shares: Floats, components: Floats, hidden: csr_matrix) -> float:
    words = hidden.tocoo()
    topic_words = components / components.sum(axis=1, keepdims=True)
    likelihoods = (shares[words.row] * topic_words.T[words.col]).sum(axis=1)
    return float(np.exp(-(words.data @ np.log(likelihoods)) / words.data.sum()))


def perplexities(corpus: Corpus, own: LDA, peer: LatentDirichletAllocation) -> tuple[float, float]:
    """Of one half of the tokens of every fifth document, given the other half."""
    counts = as_matrix(corpus)
    is_test = np.arange(corpus.document_count) % 5 == 4
    train, test = counts[~is_test], counts[is_test]
    seen, hidden = test.copy(), test.copy()
    seen.data = np.random.default_rng(0).binomial(test.data.astype(np.int64), 0.5)
    hidden.data = test.data - seen.data
    own.fit(train)
    peer.fit(train)
    return (
        held_out_perplexity(own.transform(seen), own.components_, hidden),
        held_out_perplexity(peer.transform(seen), peer.components_, hidden),
    )


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "topics"),
    [
        pytest.param("pydoc", 5, marks=pytest.mark.soak),
        pytest.param("pydoc", 20, marks=pytest.mark.soak),
        ("reuters/reuters.ldac", 5),
        pytest.param("reuters/reuters.ldac", 20, marks=pytest.mark.soak),
    ],
)
def test_held_out_perplexity_is_at_most_3_percent_above_scikit_learns(
    request: pytest.FixtureRequest, path: str, topics: int
) -> None:
    """With the defaults of both for the priors."""
    place = path if path == "pydoc" else request.getfixturevalue("shared_data") / path
    corpus = open_dataset(place, kind="corpus")
    own, peer = perplexities(
        first_documents(corpus, 400),
        LDA(topics, epochs=100),
        LatentDirichletAllocation(topics, max_iter=25, random_state=0),
    )
    assert own <= 1.03 * peer


@pytest.mark.parametrize("seeds", others_in_soak([3, 10], [3]))
def test_every_seed_finds_all_topics_of_a_generated_corpus(seeds: int) -> None:
    """The perplexity is 6 % higher where one topic has the words of two."""
    corpus = open_dataset("synthetic-corpus:documents=400", kind="corpus")
    scores = [LDA(topics=10, random_state=seed).fit(corpus).score(corpus) for seed in range(seeds)]
    assert np.ptp(scores) < math.log(1.03)


def first_documents(corpus: Corpus, count: int) -> Corpus:
    some = as_matrix(corpus)[:count].tocoo()
    return Corpus.from_pairs(some.row, some.col, some.data, some.shape, source="first")


def test_priors_are_one_over_topics_unless_set() -> None:
    corpus, _ = planted()
    automatic = LDA(topics=4, epochs=2).fit(corpus)
    chosen = LDA(topics=4, alpha=0.25, beta=0.25, epochs=2).fit(corpus)
    assert automatic.get_params()["alpha"] is None
    np.testing.assert_array_equal(automatic.components_, chosen.components_)
    np.testing.assert_array_equal(automatic.transform(corpus), chosen.transform(corpus))
    components = LDA(topics=4, beta=0.1, epochs=2).fit(corpus).components_
    assert components.sum() == pytest.approx(corpus.token_count + 0.1 * components.size)


def test_held_out_metrics_are_the_score_and_its_perplexity() -> None:
    corpus, _ = planted()
    model = LDA(topics=4, epochs=5).fit(corpus)
    score = model.score(corpus)
    assert model.test_metrics(corpus) == {
        "test_log_likelihood_per_token": score,
        "test_perplexity": pytest.approx(math.exp(-score), rel=1e-12),
    }


def test_words_are_matched_by_name_and_unknown_ones_left_out() -> None:
    corpus, _ = planted()
    model = LDA(topics=4, epochs=5).fit(corpus)
    assert corpus.vocabulary is not None
    order = np.arange(40)[::-1]
    renamed = as_matrix(corpus)[:, order].tocoo()
    shuffled = Corpus.from_pairs(
        np.append(renamed.row, 0).astype(np.int64),
        np.append(renamed.col, 40).astype(np.int64),
        np.append(renamed.data, 5).astype(np.int64),
        (corpus.document_count, 41),
        source="shuffled",
        vocabulary=(*(corpus.vocabulary[word] for word in order), "never seen"),
    )
    np.testing.assert_allclose(model.transform(shuffled), model.transform(corpus), rtol=1e-3)


def test_top_words_are_numbers_where_words_have_no_names() -> None:
    X = np.array([[5, 0, 0, 1], [0, 4, 9, 0]])
    words = LDA(topics=2, epochs=3).fit(X).top_words(2)
    assert all(word in {"0", "1", "2", "3"} for topic in words for word in topic)


def test_saved_model_transforms_the_same(tmp_path: Path) -> None:
    corpus, _ = planted()
    model = LDA(topics=4, epochs=3).fit(corpus)
    model.save(tmp_path / "model.npz")
    loaded = LDA.load(tmp_path / "model.npz")
    assert loaded.get_params() == model.get_params()
    assert loaded.top_words() == model.top_words()
    np.testing.assert_array_equal(loaded.transform(corpus), model.transform(corpus))


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("X", [[[1.0, -1.0]], [[0.5, 1.0]]])
def test_counts_must_be_whole_and_not_negative(X: list[list[float]]) -> None:
    with pytest.raises(BadInput, match="X: word counts must be whole numbers of at least 0"):
        LDA().fit(X)


def test_a_corpus_without_words_is_bad_input() -> None:
    with pytest.raises(BadInput, match="X: holds no words"):
        LDA().fit(np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("name", "value"), [("topics", 1), ("alpha", 0.0), ("beta", -1.0), ("batch_size", -1)]
)
def test_parameters_out_of_range_are_named(name: str, value: float) -> None:
    with pytest.raises(BadInput, match=f"lda: {name}={value} must be"):
        LDA(**{name: value}).fit([[1, 2]])


def test_documents_without_known_words_cannot_be_scored() -> None:
    model = LDA(topics=2, epochs=1).fit([[1, 2]])
    with pytest.raises(BadInput, match="no document has two words"):
        model.score([[1, 0]])


def test_components_of_another_shape_are_refused() -> None:
    """They would be read beyond their end."""
    counts = np.ones((4, 6))
    model = LDA(topics=2, epochs=1, tol=0).fit(counts)
    model.components_ = model.components_[:, :3]
    with pytest.raises(BadInput, match=r"shape \(2, 3\), but the model has 2 topics and 6 words"):
        model.transform(counts)
