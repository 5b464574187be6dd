"""Variance-reduced mini-batch SGD for softmax regression, on the rows of a parameter server.

Every instance stores its last residual p - onehot(label), `(classes,)`, which moves with it;
servers store the mean of all stored gradients. A mini-batch then moves W by

    step_size * (mean over the batch of x (residual - stored residual) + mean gradient + l2 W)

(SAGA, Defazio et al. 2014, in mini-batches). Its noise vanishes at the optimum, so no schedule
needs tuning: the step size follows from the data's curvature and is halved after an epoch in which
the loss has risen.

A key is a feature, its row [w: classes | mean gradient: classes | penalty]. The last key but one
is the intercept (penalty 0). The last is the step-size row: the current step size
and the losses so far. The workers pull it and report the step size to all blocks as a statistic.
"""

from __future__ import annotations

import numpy as np

from motet.apps.inputs.centred import Centred
from motet.apps.inputs.coordinates import gram_norm
from motet.domain.arrays import Array
from motet.runtime.core.application import Batch, ModelTable, Update
from motet.runtime.core.rows import Rows

_STEP_SIZE_ROW = -1.0
_TOWERING = 10.0


def saga_table(columns: int, classes: int) -> ModelTable:
    """Features, intercept, step-size row."""
    return ModelTable(columns + 2, (2 * classes + 1,), np.dtype(np.float64), delta_shape=(classes,))


def initial_saga_rows(penalty: Array, classes: int, step_size: float) -> Array:
    """Return zero weights and the first step size; `penalty: (columns,)`."""
    rows = np.zeros((len(penalty) + 2, 2 * classes + 1))
    rows[:-2, -1] = penalty
    rows[-1, [0, 3, -1]] = step_size, np.inf, _STEP_SIZE_ROW
    return rows


def saga_weights(rows: Array, classes: int) -> Array:
    """Return the weights, the intercept last, `(columns + 1, classes)`."""
    return rows[:-1, :classes]


def saga_gradient_norm(rows: Array, classes: int) -> float:
    """Return the largest entry of the mean of the stored gradients, with the penalty's."""
    weights, penalty = rows[:-1, :classes], rows[:-1, -1:]
    return float(np.abs(rows[:-1, classes:-1] + penalty * weights).max())


def saga_batch(rows: Rows, centre: Array) -> Batch:
    """Sparse rows pull only the features that occur in them, if that is at most half of all.

    `centre: (columns,)` is subtracted from every row. If it is not 0, all features are pulled.
    """
    if "x" in rows.columns:
        return Batch(rows)
    columns, indices = len(centre), rows.ragged("columns").values
    occurring = np.unique(indices).astype(np.int64)
    if centre.any() or 2 * len(occurring) > columns:
        return Batch(rows, extras=indices)
    keys = np.append(occurring, [columns, columns + 1])
    return Batch(rows, keys, extras=np.searchsorted(occurring, indices).astype(np.int32))


def saga_update(batch: Batch, model: Array, classes: int, centre: Array) -> Update:
    """Return the changes of gradient, and loss and instances for the step-size row.

    `centre`: as in `saga_batch`.
    """
    from motet.apps.kernels.softmax import sparse_gradient

    rows = batch.rows
    delta = np.zeros((len(model), classes))
    if "x" in rows.columns:
        loss = _dense_gradient(rows, model, delta)
    else:
        entries, start = rows.ragged("entries"), model[-2, :classes]
        is_centred = bool(centre.any())
        if is_centred:
            start = start - centre @ model[:-2, :classes]
        loss = sparse_gradient(
            entries.offsets,
            batch.extras,
            entries.values,
            rows["label"],
            rows["residual"],
            model,
            np.ascontiguousarray(start),
            delta,
        )
        if is_centred:
            delta[:-2] -= np.outer(centre, delta[-2])
    delta[-1, :2] = loss, len(rows)
    return Update(delta, (float(model[-1, 0]) * len(rows),))


def stable_step_size(features: Centred, penalty: Array, classes: int, batch_size: int) -> float:
    """1 / (1 / classes * L): softmax's curvature at uniform probabilities, and that of X'X / n.

    The part of X'X / n that a mini-batch of B instances adds to the mean is at most the mean
    squared row norm / B. `batch_size` 0: all instances.
    """
    rows = features.shape[0]
    spread = features.square_sums(np.ones((rows, 1))).sum() / rows + 1
    curvature = (gram_norm(features) + spread / (batch_size or rows)) / classes
    return float(1 / (curvature + penalty.max(initial=0.0)))


def shrink_large_columns(mean_squares: Array) -> Array:
    """Return divisors that shrink columns far above the typical one; all others stay the same.

    Full standardisation would enlarge columns that hardly vary (a border pixel) and cost more
    epochs than it saves.
    """
    varying = mean_squares[mean_squares > 0]
    if not len(varying):
        return np.ones_like(mean_squares)
    heights = mean_squares / (_TOWERING * np.median(varying))
    return np.asarray(np.sqrt(np.maximum(heights, 1.0)))


def _dense_gradient(rows: Rows, model: Array, delta: Array) -> float:
    """Add the rows' changes of gradient to `delta: (keys, classes)`; returns the sum of losses."""
    from motet.apps.kernels.softmax import renew_residuals

    classes = delta.shape[1]
    changes = rows["x"] @ model[:-2, :classes]
    changes += model[-2, :classes]
    loss = renew_residuals(changes, rows["label"], rows["residual"])
    np.matmul(rows["x"].T, changes, out=delta[:-2])
    delta[-2] = changes.sum(axis=0)
    return float(loss)
