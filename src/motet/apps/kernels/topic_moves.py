"""Counts of documents' topics, and how those of words change by the moves of tokens."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from motet.domain.arrays import Counts, Ints, RowIndices
from motet.transport.native.compiled import njit

Whole: TypeAlias = np.unsignedinteger[Any]

_NONE, _ONE = np.uint64(0), np.uint64(1)
_OLD, _NEW = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True, inline="always")
def count_document(
    topics: RowIndices, low: Whole, high: Whole, in_document: Counts, present: RowIndices
) -> Whole:
    """Fill the document's counts and the list of its topics; return the number of topics.

    Its tokens are those from `low` to `high`.
    """
    present_count = _NONE
    for token in range(low, high):
        topic = topics[token]
        if in_document[topic] == 0:
            present[present_count] = topic
            present_count += _ONE
        in_document[topic] += 1
    return present_count


@njit(cache=True, nogil=True)
def moves_by_word(
    movers: RowIndices,
    left: RowIndices,
    move_count: Whole,
    words: RowIndices,
    topics: RowIndices,
    rows: int,
) -> tuple[RowIndices, RowIndices]:
    """Order moves by word (counting sort): `(moves, 2)` topics before and after.

    The moves of word w are `[ends[w] : ends[w + 1]]`.
    """
    ends = np.zeros(rows + 1, np.uint32)
    for move in range(move_count):
        ends[words[movers[move]] + np.uint64(2)] += np.uint32(1)
    for word in range(1, len(ends)):
        ends[word] += ends[word - 1]
    ordered = np.empty((move_count, 2), np.uint32)
    for move in range(move_count):
        row = words[movers[move]] + _ONE
        place = ends[row]
        ordered[place, _OLD], ordered[place, _NEW] = left[move], topics[movers[move]]
        ends[row] = place + np.uint32(1)
    return ordered, ends


@njit(cache=True, nogil=True)
def changes_by_moves(
    moves: tuple[RowIndices, RowIndices], batch_words: RowIndices, shape: tuple[int, int]
) -> Ints:
    """How the counts `shape` change by the moves from `moves_by_word`.

    Moves of one word are taken together, so that those that cancel out are not sent.
    """
    topics, ends = moves
    topic_count = np.uint64(shape[1])
    changes = np.empty((2, 2 * len(topics) + shape[1]), np.int64)
    of_word, totals = np.zeros(topic_count, np.int64), np.zeros(topic_count, np.int64)
    count = _NONE
    for word in batch_words:
        low, high = ends[word], ends[word + _ONE]
        for move in range(low, high):
            of_word[topics[move, _OLD]] -= 1
            of_word[topics[move, _NEW]] += 1
        for move in range(low, high):
            for side in range(_OLD, _NEW + _ONE):
                topic = topics[move, side]
                # Overwritten by the next one if it is 0: a branch would often be mispredicted.
                changes[0, count] = word * topic_count + topic
                changes[1, count] = of_word[topic]
                totals[topic] += of_word[topic]
                count += np.uint64(of_word[topic] != 0)
                of_word[topic] = 0
    for topic in range(topic_count):
        if totals[topic] != 0:
            changes[0, count] = (shape[0] - 1) * shape[1] + topic
            changes[1, count] = totals[topic]
            count += _ONE
    return changes[:, :count]
