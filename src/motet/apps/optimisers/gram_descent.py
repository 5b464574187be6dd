"""Coordinate descent for the Lasso on the all-reduced Gram matrix, if columns^2 fits into memory.

A key is a coefficient j, its row [w_j, c_j, G_j] with c = X'y / n and G = X'X / n. The first
epoch sums up c and G from the workers' instances. Later epochs do not read the
data: all workers run the same sweeps over the coefficients from the same table, and each pushes its
result weighted by its number of instances, so the owners' weighted mean is that result for any
number of workers. (Coordinate descent on parts of the data, averaged or summed, stalls or
diverges.)
"""

from __future__ import annotations

import math
import mmap

import numpy as np

from motet.apps.inputs.centred import Centred
from motet.apps.optimisers.gram_columns import COEFFICIENT, CORRELATION, GRAM
from motet.domain.arrays import Array
from motet.runtime.core.application import Step

SWEEPS_PER_EPOCH = 20


def gram_row_width(column_count: int) -> int:
    """Return the numbers per key."""
    return column_count + GRAM


def initial_gram_rows(column_count: int) -> Array:
    """Return rows with zero coefficients, before c and G are summed up."""
    return np.zeros((column_count, gram_row_width(column_count)))


def gram_coefficients(rows: Array) -> Array:
    """Return the current coefficients w, `(keys,)`."""
    return rows[:, COEFFICIENT]


def gram_delta(features: Centred, target: Array, model: Array, l1: float, step: Step) -> Array:
    """Return the instances' part of c and G in the first epoch, then weighted coefficients."""
    from motet.apps.optimisers.coordinate_descent import descend_coordinates

    delta = _zeros_in_small_pages(model.shape)
    if step.epoch == 0:
        features.gram(out=delta[:, GRAM:])
        delta[:, CORRELATION] = features.T @ target
    else:
        delta[:, COEFFICIENT] = len(target) * descend_coordinates(model, l1, SWEEPS_PER_EPOCH)
    return delta


def _zeros_in_small_pages(shape: tuple[int, ...]) -> Array:
    """Return zeros that take no memory where they are never written.

    `np.zeros` asks for huge pages: a column would make all of the array resident.
    """
    size_bytes = np.dtype(np.float64).itemsize * math.prod(shape)
    memory = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory).reshape(shape)


def apply_gram_delta(rows: Array, delta: Array, step: Step) -> None:
    """Sum up c and G, or set the coefficients to the mean of the workers'."""
    if step.epoch == 0:
        rows[:, CORRELATION:] += delta[:, CORRELATION:] / step.instance_count
    else:
        rows[:, COEFFICIENT] = delta[:, COEFFICIENT] / step.instances


def gram_violation(rows: Array, l1: float) -> float:
    """Return by how much the coefficients miss the optimality conditions, at most.

    At the optimum the gradient c - G w is l1 times the sign of w_j, or between -l1 and l1 where w_j
    is 0.
    """
    weights = gram_coefficients(rows)
    used = np.flatnonzero(weights)
    gradient = rows[:, CORRELATION] - rows[:, GRAM + used] @ weights[used]
    excess = np.where(weights != 0, np.abs(gradient - l1 * np.sign(weights)), np.abs(gradient) - l1)
    return float(max(excess.max(), 0.0))
