"""Compiled inner loops of multinomial logistic regression (`mlr.py`)."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Array
from motet.transport.native.compiled import njit

# An epoch is unstable if its mean loss exceeds that of the one before by more than this.
_TOLERATED_RISE = 1e-3
_STEP_SIZE, _LOSS_SUM, _SEEN, _LAST_LOSS = range(4)


@njit(cache=True, nogil=True)
def softmax_residual(logits: Array, label: int) -> float:
    """Turn one instance's logits `(classes,)` into p - onehot(label); returns -log p(label)."""
    highest = logits[0]
    for c in range(1, len(logits)):
        highest = max(highest, logits[c])
    label_logit = logits[label] - highest
    total = 0.0
    for c in range(len(logits)):
        logits[c] = np.exp(logits[c] - highest)
        total += logits[c]
    for c in range(len(logits)):
        logits[c] /= total
    logits[label] -= 1.0
    return np.log(total) - label_logit  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def expand_softmax(logits: Array, labels: Array, curvatures: Array) -> float:
    """Turn logits into residuals and write p (1 - p) to `curvatures`, all `(rows, classes)`.

    Returns the sum of the rows' losses.
    """
    loss = 0.0
    for i in range(len(labels)):
        loss += softmax_residual(logits[i], labels[i])
        for c in range(logits.shape[1]):
            p = logits[i, c] + (c == labels[i])
            curvatures[i, c] = p * (1.0 - p)
    return loss


@njit(cache=True, nogil=True)
def renew_residuals(logits: Array, labels: Array, residuals: Array) -> float:
    """Store new residuals, and their change in `logits`, all `(rows, classes)`.

    Returns the sum of the rows' losses.
    """
    loss = 0.0
    for i in range(len(labels)):
        loss += softmax_residual(logits[i], labels[i])
        for c in range(logits.shape[1]):
            change = logits[i, c] - residuals[i, c]
            residuals[i, c] = logits[i, c]
            logits[i, c] = change
    return loss


@njit(cache=True, nogil=True)
def sparse_gradient(
    offsets: Array,
    positions: Array,
    entries: Array,
    labels: Array,
    residuals: Array,
    model: Array,
    start: Array,
    delta: Array,
) -> float:
    """Add the rows' changes of gradient to `delta: (keys, classes)`; returns the sum of losses.

    Row i holds `entries[offsets[i]:offsets[i + 1]]` at `positions` among the pulled keys; the
    intercept is the last key but one. `start: (classes,)` are the logits of an empty row.
    `residuals: (rows, classes)` is updated in place.
    """
    classes = delta.shape[1]
    intercept = len(delta) - 2
    logits = np.empty(classes)
    loss = 0.0
    for i in range(len(labels)):
        for c in range(classes):
            logits[c] = start[c]
        for k in range(offsets[i], offsets[i + 1]):
            key, entry = positions[k], entries[k]
            for c in range(classes):
                logits[c] += entry * model[key, c]
        loss += softmax_residual(logits, labels[i])
        for c in range(classes):
            change = logits[c] - residuals[i, c]
            residuals[i, c] = logits[c]
            logits[c] = change
            delta[intercept, c] += change
        for k in range(offsets[i], offsets[i + 1]):
            key, entry = positions[k], entries[k]
            for c in range(classes):
                delta[key, c] += entry * logits[c]
    return loss


@njit(cache=True, nogil=True)
def loss_and_hits(logits: Array, labels: Array) -> tuple[float, int]:
    """Return the sum of -log p(label) and the number of labels with the highest logit."""
    loss, hits = 0.0, 0
    for i in range(len(labels)):
        hits += np.argmax(logits[i]) == labels[i]
        highest = logits[i].max()
        loss += np.log(np.exp(logits[i] - highest).sum()) - (logits[i, labels[i]] - highest)
    return loss, hits


@njit(cache=True, nogil=True)
def variance_reduced_step(
    rows: Array,
    delta: Array,
    step_size: float,
    instances: int,
    share: float,
    instance_count: int,
) -> None:
    """Make one step of every row [w: classes | mean gradient: classes | penalty] in place.

    A row with a negative penalty holds the step size, see `_adapt_step_size`.
    """
    classes = delta.shape[1]
    for j in range(len(rows)):
        penalty = rows[j, 2 * classes]
        if penalty < 0:
            _adapt_step_size(rows[j], delta[j], instance_count)
            continue
        for c in range(classes):
            mean_gradient = rows[j, classes + c]
            regular = share * (mean_gradient + penalty * rows[j, c])
            rows[j, c] -= step_size * (delta[j, c] / instances + regular)
            rows[j, classes + c] = mean_gradient + delta[j, c] / instance_count


@njit(cache=True, nogil=True)
def _adapt_step_size(row: Array, delta: Array, instance_count: int) -> None:
    """Sum up losses; halve the step size if the mean loss of all instances has risen."""
    row[_LOSS_SUM] += delta[0]
    row[_SEEN] += delta[1]
    if row[_SEEN] < instance_count - 0.5:
        return
    loss = row[_LOSS_SUM] / row[_SEEN]
    if loss > row[_LAST_LOSS] * (1 + _TOLERATED_RISE):
        row[_STEP_SIZE] /= 2
    row[_LAST_LOSS] = loss
    row[_LOSS_SUM] = 0.0
    row[_SEEN] = 0.0
