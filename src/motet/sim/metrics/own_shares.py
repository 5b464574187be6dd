"""The schedule that finish-time fairness compares with: every experiment on a share of its own.

At every moment each of the N experiments that are present has 1/N of the GPUs, and no more when
others leave theirs unused. Only the workload and the cluster determine this schedule, so all
policies are compared with the same times.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints
from motet.estimate.shares import GroupPieces

_DONE = 1e-9
"""Part of an experiment's work that counts as rounding."""


def times_on_own_shares(
    submit_us: Floats,
    service_gpu_us: Floats,
    longest_us: Floats,
    leave_us: Floats,
    pieces: GroupPieces,
    gpu_count: int,
) -> Floats:
    """`(experiments,)`: microseconds from submission to the end of each experiment.

    `service_gpu_us`: work of all jobs of the experiment; `longest_us`: the least time that it
    takes; `leave_us`: when it is cancelled (infinite: never). `pieces`: speed by share, groups in
    the order of the experiments.
    """
    first = np.searchsorted(pieces.group, np.arange(len(submit_us) + 1))
    order = np.argsort(submit_us, kind="stable")
    needs = service_gpu_us, longest_us, leave_us
    return _times(order, submit_us, *needs, first, pieces.gpus, pieces.gain, float(gpu_count))


@njit(cache=True)
def _times(
    order: Ints,
    submit_us: Floats,
    service_gpu_us: Floats,
    longest_us: Floats,
    leave_us: Floats,
    first: Ints,
    piece_gpus: Floats,
    gain: Floats,
    gpu_count: float,
) -> Floats:
    count = len(order)
    left, speed = service_gpu_us.copy(), np.zeros(count)
    present, end_us, times_us = np.empty(count, np.int64), np.zeros(count), np.zeros(count)
    size, arrived, now_us = 0, 0, 0.0
    while arrived < count or size > 0:
        until_us = submit_us[order[arrived]] if arrived < count else np.inf
        for place in range(size):
            each = present[place]
            share = gpu_count / size
            speed[each] = _speed(share, first[each], first[each + 1], piece_gpus, gain)
            if longest_us[each] > 0:
                speed[each] = min(speed[each], service_gpu_us[each] / longest_us[each])
            end_us[each] = min(now_us + left[each] / speed[each], max(leave_us[each], now_us))
            until_us = min(until_us, end_us[each])
        kept = 0
        for place in range(size):
            each = present[place]
            left[each] -= speed[each] * (until_us - now_us)
            if end_us[each] <= until_us or left[each] <= _DONE * service_gpu_us[each]:
                times_us[each] = until_us - submit_us[each]
            else:
                present[kept] = each
                kept += 1
        size, now_us = kept, until_us
        while arrived < count and submit_us[order[arrived]] <= now_us:
            if service_gpu_us[order[arrived]] > 0:
                present[size] = order[arrived]
                size += 1
            arrived += 1
    return times_us


@njit(cache=True)
def _speed(share: float, begin: int, end: int, piece_gpus: Floats, gain: Floats) -> float:
    """Total speed of an experiment's jobs on its share, from its pieces in descending gain."""
    total, rest = 0.0, share
    for piece in range(begin, end):
        taken = min(rest, piece_gpus[piece])
        total += taken * gain[piece]
        rest -= taken
        if rest <= 0:
            break
    return total
