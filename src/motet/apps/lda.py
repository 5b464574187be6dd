"""LDA: latent Dirichlet allocation by collapsed Gibbs sampling.

Every token (a word of a document) has a topic; an epoch (sweep) draws each anew from

    p(k) ~ (n_dk + alpha) (n_wk + beta) / (n_k + V beta)

with n_dk the document's tokens of topic k, n_wk the word's, n_k all of them, without the
token itself, V words in the vocabulary (Griffiths and Steyvers 2004). The model is the table of
n_wk with the totals n_k as its last row; topics are part of their documents (W.-Y. Lee, 2020, ch.
2).

Documents of a mini-batch use the word counts of its start and their own current document counts.
Random numbers are keyed by (seed, document, sweep) and counts are integers, so the result is
equal for any number of workers. The first topics are those of `kernels/topic_start.py`. Ten or more
mini-batches per sweep reach the likelihood of sequential samplers; each additional one costs every
worker a request to every server.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.apps.automatic_batches import AutomaticBatches
from motet.apps.estimator import check_columns, check_names
from motet.apps.inputs.arrays import as_dataset
from motet.apps.inputs.memory import MODEL_COPIES, float64_bytes, require_memory
from motet.apps.kernels.topic_counts import (
    count_topics,
    expected_counts,
    first_topics,
    topics_of_words,
    word_log_likelihood,
)
from motet.apps.kernels.topic_start import word_topics
from motet.datasets.kinds import Corpus
from motet.domain.arrays import Array, Counts, Floats
from motet.domain.errors import BadArgument
from motet.runtime.core.application import Batch, Evaluation, ModelTable, Step, Update
from motet.runtime.core.changes import add_changes, compile_change_kernels
from motet.runtime.core.rows import Ragged, Rows


class LDA(AutomaticBatches):
    """Topics of a corpus.

    `topics`: how many. `alpha`, `beta`: Dirichlet parameters of a document's topics and of a
    topic's words; None: 1 / topics, as in scikit-learn. With a small `beta`, words that a topic has
    not had in training are improbable, and the perplexity of held-out documents is high.
    `batch_size`: documents per mini-batch over all workers; None: a tenth of the documents.
    Training ends once the loss falls by at most `tol` per epoch, relatively, between means over ten
    epochs: with 20 topics after 56 to 74 on pydoc, Reuters and KOS, within 0.9 % of the loss after
    200.

    Loss: minus log p(words, topics) per token. Fitted: `components_: (topics, words)`, the expected
    tokens of each word with each topic, given the topics of the others, plus beta;
    `document_topics_: (documents, topics)`, rows sum to 1; `vocabulary_: (words,)` where the corpus
    named its words.
    """

    name = "lda"
    dataset_kind = "corpus"
    state_columns = ("topics",)
    fitted_attribute = "components_"
    default_epochs = 200
    improvement_epochs = 10
    batches_per_epoch = 10

    components_: Floats
    document_topics_: Floats
    vocabulary_: NDArray[np.str_] | None = None

    def __init__(
        self,
        topics: int = 20,
        alpha: float | None = None,
        beta: float | None = None,
        batch_size: int | None = None,
        epochs: int = default_epochs,
        tol: float = 1e-4,
        random_state: int | None = 0,
    ) -> None:
        self.topics = topics
        self.alpha = alpha
        self.beta = beta
        self.batch_size = batch_size
        self.epochs = epochs
        self.tol = tol
        self.random_state = random_state

    # -- data and model ----------------------------------------------------------------------------

    def prepare(self, dataset: Corpus, seed: int) -> Rows:
        """One instance per document: its tokens' `words` and `topics` (both ragged)."""
        self._check_parameters()
        if not dataset.token_count:
            raise BadArgument(f"{dataset.source}: holds no words; lda needs at least one")
        self._require_memory(dataset.vocabulary_size, dataset.document_count)
        self.word_count_ = dataset.vocabulary_size
        self.token_count_ = dataset.token_count
        self.vocabulary_ = _names(dataset)
        self.choose_batch_size(dataset.document_count)
        offsets, documents = dataset.token_offsets, np.arange(dataset.document_count)
        words = dataset.token_words
        likely = word_topics(dataset, seed, self.topics, (self._alpha, self._beta))
        if likely is None:
            topics = first_topics(seed, documents, offsets, self.topics)
        else:
            topics = topics_of_words(seed, documents, offsets, words, likely)
        return Rows(documents, {"words": Ragged(offsets, words), "topics": Ragged(offsets, topics)})

    def model_table(self) -> ModelTable:
        """One key per word and one for the totals; a value is a count for each topic.

        A token that keeps its topic changes no count, so workers and servers exchange changes.
        """
        return ModelTable(
            self.word_count_ + 1, (self.topics,), np.dtype(np.int32), exchange="changes"
        )

    def initial_model(self, rows: Rows, seed: int) -> Counts:
        """The counts of the first topics."""
        del seed
        words, topics = rows.ragged("words").values, rows.ragged("topics").values
        return count_topics(words, topics, self.word_count_, self.topics)

    # -- one mini-batch ----------------------------------------------------------------------------

    def make_batch(self, rows: Rows) -> Batch:
        """Keeps the words of these documents, each once."""
        return Batch(rows, extras=np.unique(rows.ragged("words").values))

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        """Resample every token's topic; the delta holds the changes of the counts."""
        from motet.apps.kernels.topics import resample

        topics = batch.rows.ragged("topics")
        changes = resample(
            topics.offsets,
            batch.rows.ragged("words").values,
            topics.values,
            batch.rows.ids,
            model,
            batch.extras,
            (self._alpha, self._beta, self.word_count_ * self._beta),
            (step.seed, step.epoch),
        )
        return Update(changes, is_changes=True)

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        """Add the changes to the counts."""
        del step
        add_changes(values, delta)

    # -- evaluation --------------------------------------------------------------------------------

    def evaluate(self, rows: Rows, model: Array) -> Floats:
        """log p(topics) of these documents."""
        from motet.apps.kernels.topic_likelihood import document_log_likelihood

        del model
        topics = rows.ragged("topics")
        score = document_log_likelihood(topics.offsets, topics.values, self.topics, self._alpha)
        return np.array([score])

    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        """`log_likelihood_per_token`: log p(words, topics) / tokens; the loss is minus that."""
        del rows_count
        total = float(sums[0]) + word_log_likelihood(model[:-1], model[-1], self._beta)
        per_token = total / self.token_count_
        return Evaluation(-per_token, {"log_likelihood_per_token": per_token})

    def test_metrics(self, dataset: Any) -> dict[str, float]:
        """`test_log_likelihood_per_token` as by `score`, and `test_perplexity`, exp of minus it."""
        score = self.score(dataset)
        return {"test_log_likelihood_per_token": score, "test_perplexity": float(np.exp(-score))}

    # -- the fitted estimator ----------------------------------------------------------------------

    def adopt(self, model: Array, rows: Rows) -> None:
        """Keep the expected word counts and the documents' topics."""
        topics, words = rows.ragged("topics"), rows.ragged("words").values
        priors = (self._alpha, self._beta)
        expected = expected_counts(topics.offsets, words, topics.values, model, priors)
        expected += self._beta
        self.components_ = expected.T
        owners = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(topics.offsets))
        counts = count_topics(owners, topics.values, len(rows), self.topics)[:-1] + self._alpha
        self.document_topics_ = counts / counts.sum(axis=1, keepdims=True)

    def transform(self, X: Any) -> Floats:
        """Topic shares `(documents, topics)` of any documents; rows sum to 1.

        The topics stay as they are; a document's shares are the fixed point of expectation
        maximisation with `alpha` as prior counts. Words without training data are left out.
        """
        from motet.apps.kernels.topics import fold_in_documents

        corpus = self._corpus_of(X)
        return fold_in_documents(
            corpus.token_offsets, corpus.token_words, self._topic_words(), self._alpha
        )

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Train and return the topic shares of the documents."""
        return self.fit(X, y).document_topics_

    def score(self, X: Any, y: Any = None) -> float:
        """Log-likelihood per token of every second token of the documents, given the others."""
        from motet.apps.kernels.topic_likelihood import token_log_likelihood
        from motet.apps.kernels.topics import fold_in_documents

        del y
        corpus = self._corpus_of(X)
        seen, hidden = _halves(corpus)
        if not len(hidden[1]):
            raise BadArgument(f"{corpus.source}: no document has two words with training data")
        topic_words = self._topic_words()
        shares = fold_in_documents(*seen, topic_words, self._alpha)
        return token_log_likelihood(*hidden, shares, topic_words) / len(hidden[1])

    def top_words(self, count: int = 10) -> list[list[str]]:
        """Return the most frequent words of each topic; word numbers if the corpus had no names."""
        self.check_fitted()
        order = np.argsort(-self.components_, axis=1, kind="stable")[:, :count]
        names = np.arange(self.word_count_) if self.vocabulary_ is None else self.vocabulary_
        return [[str(word) for word in names[row]] for row in order]

    def warm_up(self) -> None:
        """Compile the kernels of training."""
        LDA(topics=2, epochs=1, tol=0).fit(np.ones((2, 2)))
        compile_change_kernels(np.dtype(np.int32))

    # -- inside ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self.check_number("topics", at_least=2, whole=True)
        for name in ("alpha", "beta"):
            if getattr(self, name) is not None:
                self.check_number(name, above=0)

    @property
    def _alpha(self) -> float:
        return 1 / self.topics if self.alpha is None else self.alpha

    @property
    def _beta(self) -> float:
        return 1 / self.topics if self.beta is None else self.beta

    def _require_memory(self, words: int, documents: int) -> None:
        """Check the memory of int32 counts and of the float64 shares that `adopt` computes."""
        counts, shares = (
            float64_bytes(words + 1, self.topics),
            float64_bytes(documents, self.topics),
        )
        needs = {
            f"counts of {words:,} words": MODEL_COPIES * counts // 2,
            f"shares of {documents:,} documents": 2 * shares,
        }
        require_memory(f"lda: topics={self.topics}", needs, "lower topics")

    def _topic_words(self) -> Floats:
        """`(words, topics)`: probability of each word in each topic.

        Raises BadInput for another shape, which the compiled kernels do not check.
        """
        if self.components_.shape != (self.topics, self.word_count_):
            raise BadArgument(
                f"lda: components_ has shape {self.components_.shape}, but the model has "
                f"{self.topics} topics and {self.word_count_} words; train or load it again"
            )
        totals = self.components_.sum(axis=1, keepdims=True)
        return np.ascontiguousarray((self.components_ / totals).T)

    def _corpus_of(self, X: Any) -> Corpus:
        """Return `X` with the word numbers of training; a matrix has them already."""
        self.check_fitted()
        if isinstance(X, Corpus):
            return X.reindexed_like(self._empty_corpus())
        corpus: Corpus = as_dataset(self.dataset_kind, X)
        check_columns(corpus.vocabulary_size, self.word_count_, "words")
        if corpus.vocabulary is not None and self.vocabulary_ is not None:
            check_names(corpus.vocabulary, self.vocabulary_.tolist(), "vocabulary_")
        return corpus

    def _empty_corpus(self) -> Corpus:
        names = None if self.vocabulary_ is None else tuple(self.vocabulary_.tolist())
        nothing = np.zeros(0, dtype=np.int32)
        start = np.zeros(1, dtype=np.int64)
        return Corpus(start, nothing, nothing, self.word_count_, names, source="training")


def _names(corpus: Corpus) -> NDArray[np.str_] | None:
    return None if corpus.vocabulary is None else np.array(corpus.vocabulary, dtype=np.str_)


def _halves(corpus: Corpus) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return offsets and words of every second token of each document, and of the others."""
    starts = np.repeat(corpus.token_offsets[:-1], np.diff(corpus.token_offsets))
    is_hidden = (np.arange(corpus.token_count) - starts) % 2 == 1
    before = np.concatenate([[0], np.cumsum(is_hidden)])[corpus.token_offsets]
    seen = corpus.token_offsets - before, corpus.token_words[~is_hidden]
    return seen, (before, corpus.token_words[is_hidden])
