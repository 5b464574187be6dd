"""Loss histories of jobs: validation and removal of single spikes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from motet.domain.arrays import Floats, Ints
from motet.domain.errors import BadInput

LARGEST = 1e150
"""Larger values overflow when squared."""
SPIKE = 5.0
"""Distance of a spike from both of its neighbours, in usual changes."""
RECENT = 128
"""Number of latest reports that determine the usual change and spacing."""


class Histories(NamedTuple):
    """Reports of all jobs, one job after another; job i's end before row `ends[i]`."""

    iterations: Floats
    losses: Floats
    ends: Ints


def joined_histories(histories: Sequence[tuple[ArrayLike, ArrayLike]]) -> Histories:
    """Check (iterations, losses) of every job and put them into one table.

    Raises BadInput, with the index of the job, if a history is empty, its columns differ in length,
    a number is not finite or beyond `LARGEST`, or iterations are negative or do not ascend.
    """
    columns = [
        (np.asarray(iterations, dtype=np.float64), np.asarray(losses, dtype=np.float64))
        for iterations, losses in histories
    ]
    for job, (iterations, losses) in enumerate(columns):
        if iterations.shape != losses.shape or losses.ndim != 1 or not len(losses):
            raise BadInput(
                f"history {job}: iterations of shape {iterations.shape} and losses of shape "
                f"{losses.shape}; both must be of the same length, at least 1"
            )
    if not columns:
        return Histories(np.empty(0), np.empty(0), np.empty(0, np.int64))
    ends = np.cumsum([len(losses) for _, losses in columns])
    whole = Histories(
        np.concatenate([iterations for iterations, _ in columns]),
        np.concatenate([losses for _, losses in columns]),
        ends,
    )
    _check(whole)
    return whole


def _check(whole: Histories) -> None:
    for name, column in (("iteration", whole.iterations), ("loss", whole.losses)):
        limit = f"must be a number within +-{LARGEST:g}: leave this report out"
        _require(whole, np.abs(column) <= LARGEST, name, limit)
    _require(whole, whole.iterations >= 0, "iteration", "must be 0 or more")
    ascends = np.diff(whole.iterations, prepend=-1.0) > 0
    ascends[whole.ends[:-1]] = True
    _require(whole, ascends, "iteration", "must be above the one before it")


def _require(whole: Histories, is_good: NDArray[np.bool_], name: str, limit: str) -> None:
    if is_good.all():
        return
    row = int(np.argmin(is_good))
    job = int(np.searchsorted(whole.ends, row, side="right"))
    report = row - (int(whole.ends[job - 1]) if job else 0)
    column = whole.losses if name == "loss" else whole.iterations
    raise BadInput(f"history {job}, report {report}: {name}={column[row]:g} {limit}")


def largest_changes(whole: Histories) -> Floats:
    """The largest change between two reports of every job so far, `(jobs,)`; 0 with one report."""
    changes = np.abs(np.diff(whole.losses, prepend=0.0))
    if not len(whole.ends):
        return changes
    starts = np.concatenate([[0], whole.ends[:-1]])
    changes[starts] = 0.0
    largest: Floats = np.maximum.reduceat(changes, starts)
    return largest


def normalised_changes(losses: ArrayLike) -> Floats:
    """Changes between reports, each divided by the largest so far (SLAQ, section 4.1), `(n - 1,)`.

    Decreases are positive; the numbers lie between -1 and 1, and are 0 before the first change.
    """
    falls = -np.diff(np.asarray(losses, dtype=np.float64))
    largest = np.maximum.accumulate(np.abs(falls))
    normalised: Floats = np.divide(falls, largest, out=np.zeros_like(falls), where=largest > 0)
    return normalised


@njit(cache=True)
def without_spikes(losses: Floats) -> Floats:
    """Losses with the nearer neighbour in place of each spike.

    A spike is above or below both of its neighbours by more than `SPIKE` usual (median) changes.
    Monotonically falling losses contain none, however steep; the last report is never a spike.
    """
    clean = losses.copy()
    if len(losses) < 4:
        return clean
    recent = losses[-RECENT:]
    usual = SPIKE * np.median(np.abs(recent[1:] - recent[:-1]))
    for i in range(1, len(losses) - 1):
        lower = min(losses[i - 1], losses[i + 1])
        upper = max(losses[i - 1], losses[i + 1])
        if losses[i] > upper + usual:
            clean[i] = upper
        elif losses[i] < lower - usual:
            clean[i] = lower
    return clean


@njit(cache=True)
def usual_spacing(iterations: Floats) -> float:
    """Median distance between the latest reports; 1 if there is only one."""
    recent = iterations[-RECENT:]
    return np.median(recent[1:] - recent[:-1]) if len(recent) > 1 else 1.0


@njit(cache=True)
def falls(losses: Floats) -> bool:
    """Whether the median of the later half is no higher than that of the earlier half."""
    half = len(losses) // 2
    return half == 0 or bool(np.median(losses[-half:]) <= np.median(losses[:half]))
