"""Compiled inner loops of LDA.

The sampler is exact and sparse: its time per token grows with the topics in the document, not with
all topics. A mini-batch reads the word counts of its start, so a word's total weight over all
topics is computed once per mini-batch (compare SparseLDA: Yao, Mimno, McCallum 2009).

For a signed index Numba adds a check of its sign; a slice as an argument is two atomic operations.
"""

from __future__ import annotations

import numpy as np

from motet.apps.kernels.keyed_stream import next_state, stream_start, unit_float
from motet.apps.kernels.topic_moves import (
    Whole,
    changes_by_moves,
    count_document,
    moves_by_word,
)
from motet.domain.arrays import Counts, Floats, Indices, Ints, RowIndices
from motet.transport.native.compiled import njit

_NONE, _ONE = np.uint64(0), np.uint64(1)
_FIRST_SWEEP_STREAM = 1
_MOST_FOLD_IN_ROUNDS = 100
_FOLD_IN_TOLERANCE = 1e-4


@njit(cache=True, nogil=True, error_model="numpy")
def resample(
    offsets: Indices,
    words: Counts,
    topics: Counts,
    documents: Indices,
    counts: Counts,
    batch_words: Counts,
    priors: tuple[float, float, float],
    stream: tuple[int, int],
) -> Ints:
    """Make one Gibbs sweep over some documents; changes `topics`, returns how the counts change.

    `counts: (words + 1, topics)`: the last row holds the totals. `batch_words`: those of the
    documents, each once, ascending. `priors`: alpha, beta, V beta. `stream`: seed and sweep.
    Returns changes `(2, n)`: flat positions in `counts`, row after row, and what is added there.

    A token of topic z is drawn from three shares, in this order: staying at z; moving to another
    topic k of the document, in proportion to n_dk (n_wk + beta) / (n_k + V beta); moving to any
    other topic, in proportion to alpha (n_wk + beta) / (n_k + V beta).
    """
    alpha, beta, beta_sum = priors
    topic_count = counts.shape[1]
    inverse = 1.0 / (counts[-1] + beta_sum)
    inverse_without = 1.0 / (counts[-1] - 1 + beta_sum)
    word_weights = _word_weights(counts, batch_words, inverse, beta)
    in_document = np.zeros(topic_count, np.int32)
    present = np.empty(topic_count, np.uint32)
    pull = np.zeros(topic_count)
    cumulative = np.empty(topic_count)
    word_of, topic_of = words.view(np.uint32), topics.view(np.uint32)
    movers, left = np.empty(offsets[-1], np.uint32), np.empty(offsets[-1], np.uint32)
    move_count = _NONE
    for row in range(len(documents)):
        low, high = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
        present_count = count_document(topic_of, low, high, in_document, present)
        for place in range(present_count):
            pull[present[place]] = in_document[present[place]] * inverse[present[place]]
        state = stream_start(stream[0], _FIRST_SWEEP_STREAM + stream[1], documents[row])
        for token in range(low, high):
            word, old = word_of[token], topic_of[token]
            pull[old] = 0.0
            to_present = _sum_present(counts, word, beta, pull, present, present_count, cumulative)
            old_weight = counts[word, old] + beta
            stay = (in_document[old] - 1 + alpha) * (old_weight - 1) * inverse_without[old]
            to_any = alpha * (word_weights[word] - old_weight * inverse[old])
            state = next_state(state)
            draw = unit_float(state) * (stay + to_present + to_any) - stay
            if draw < 0:
                pull[old] = in_document[old] * inverse[old]
                continue
            if draw < to_present:
                new = present[_first_above(cumulative, draw)]
            else:
                new = _any_other(counts, word, inverse, beta, old, (draw - to_present) / alpha)
            # As a function, this would count references to both arrays by atomic operations.
            in_document[old] -= 1
            if in_document[old] == 0:
                present_count -= _ONE
                present[_place_of(old, present)] = present[present_count]
            if in_document[new] == 0:
                present[present_count] = new
                present_count += _ONE
            in_document[new] += 1
            pull[old] = in_document[old] * inverse[old]
            pull[new] = in_document[new] * inverse[new]
            topic_of[token] = new
            movers[move_count], left[move_count] = token, old
            move_count += _ONE
        for place in range(present_count):
            in_document[present[place]] = 0
            pull[present[place]] = 0.0
    moves = moves_by_word(movers, left, move_count, word_of, topic_of, len(counts))
    return changes_by_moves(moves, batch_words.view(np.uint32), counts.shape)


@njit(cache=True, nogil=True, inline="always")
def _sum_present(
    counts: Counts,
    word: Whole,
    beta: float,
    pull: Floats,
    present: RowIndices,
    present_count: Whole,
    cumulative: Floats,
) -> float:
    """Sum the weights of moving to the document's topics; fills `cumulative` up to each."""
    total = 0.0
    for place in range(present_count):
        topic = present[place]
        total += pull[topic] * (counts[word, topic] + beta)
        cumulative[place] = total
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _word_weights(counts: Counts, batch_words: Counts, inverse: Floats, beta: float) -> Floats:
    """`(words,)`: sum over topics of (n_wk + beta) / (n_k + V beta), only for `batch_words`.

    Four parallel sums are as fast as those of a reordering compiler and equal on every machine.
    """
    topic_count = counts.shape[1]
    whole = topic_count // 4 * 4
    smooth = beta * inverse.sum()
    weights = np.empty(len(counts) - 1)
    for word in batch_words:
        first, second, third, fourth = smooth, 0.0, 0.0, 0.0
        for topic in range(0, whole, 4):
            first += counts[word, topic] * inverse[topic]
            second += counts[word, topic + 1] * inverse[topic + 1]
            third += counts[word, topic + 2] * inverse[topic + 2]
            fourth += counts[word, topic + 3] * inverse[topic + 3]
        for topic in range(whole, topic_count):
            first += counts[word, topic] * inverse[topic]
        weights[word] = first + second + third + fourth
    return weights


@njit(cache=True, nogil=True, inline="always")
def _first_above(cumulative: Floats, draw: float) -> Whole:
    place = _NONE
    while cumulative[place] <= draw:
        place += _ONE
    return place


@njit(cache=True, nogil=True, inline="always")
def _any_other(
    counts: Counts, word: Whole, inverse: Floats, beta: float, old: Whole, draw: float
) -> Whole:
    """Return the topic other than `old` at which the weights' running sum passes `draw`."""
    last = np.uint32(counts.shape[1] - 1)
    if old == last:
        last -= np.uint32(1)
    for topic in range(last):
        if topic != old:
            draw -= (counts[word, topic] + beta) * inverse[topic]
            if draw < 0:
                return np.uint32(topic)
    return last


@njit(cache=True, nogil=True, inline="always")
def _place_of(topic: Whole, present: RowIndices) -> Whole:
    place = _NONE
    while present[place] != topic:
        place += _ONE
    return place


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def fold_in_documents(offsets: Indices, words: Counts, topic_words: Floats, alpha: float) -> Floats:
    """Return topic shares `(documents, topics)` for fixed `topic_words: (words, topics)`."""
    topic_count = topic_words.shape[1]
    shares = np.empty((len(offsets) - 1, topic_count))
    belief, expected = np.empty(topic_count), np.empty(topic_count)
    for row in range(len(shares)):
        low, high = offsets[row], offsets[row + 1]
        total = topic_count * alpha + high - low
        shares[row] = 1.0 / topic_count
        for _ in range(_MOST_FOLD_IN_ROUNDS):
            expected[:] = alpha
            for token in range(low, high):
                _topic_posterior(shares[row], topic_words[words[token]], belief)
                for topic in range(topic_count):
                    expected[topic] += belief[topic]
            change = 0.0
            for topic in range(topic_count):
                change = max(change, abs(expected[topic] / total - shares[row, topic]))
                shares[row, topic] = expected[topic] / total
            if change <= _FOLD_IN_TOLERANCE:
                break
    return shares


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy", inline="always")
def _topic_posterior(shares: Floats, likelihoods: Floats, belief: Floats) -> None:
    """Compute the probability of each topic of a token: proportional to share times likelihood.

    The sum has its own loop: in a loop that also stores, the compiler changes the order of addition
    if arrays are close in memory, so the last bit would depend on their addresses.
    """
    for topic in range(len(shares)):
        belief[topic] = shares[topic] * likelihoods[topic]
    total = 0.0
    for topic in range(len(shares)):
        total += belief[topic]
    for topic in range(len(shares)):
        belief[topic] /= total
