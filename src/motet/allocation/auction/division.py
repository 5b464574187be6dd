"""How an experiment divides a stretch of GPUs among its jobs: as fast as can be in their order.

Its agent alone knows the jobs; the auction sees only what the whole stretch is worth. A job gets a
piece of the stretch, the next one a piece behind that; GPUs between them may stay idle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from motet.allocation.auction.line import Line
from motet.domain.arrays import Floats, Ints
from motet.estimate.finish_time import JobWork

Piece = tuple[int, int]
_IDLE = -1


def speeds(jobs: Sequence[JobWork], line: Line, slowdowns: Floats) -> Floats:
    """`(kinds, most + 1)`: the highest total speed on a stretch by kind of start and length.

    `slowdowns`: of `Line.slowdowns`, as long as the longest stretch that is asked for. Zero where
    the line or its reach ends before. Speeds never fall with the length.
    """
    alone = _alone(jobs, slowdowns.shape[1] - 1)
    table = np.zeros_like(slowdowns)
    for kind, start in enumerate(line.first.tolist()):
        length = min(slowdowns.shape[1] - 1, line.reach, line.size - start)
        fastest, _ = _divide(*alone, line.kind[start : start + length + 1], slowdowns)
        table[kind, : length + 1] = fastest[-1]
    return table


def divide(
    jobs: Sequence[JobWork], line: Line, slowdowns: Floats, start: int, gpus: int
) -> list[Piece]:
    """(start, GPUs) of each job's piece of a stretch; no GPUs: the job waits."""
    _, taken = _divide(*_alone(jobs, gpus), line.kind[start : start + gpus + 1], slowdowns)
    pieces: list[Piece] = []
    end = gpus
    for job in reversed(range(len(jobs))):
        while taken[job, end] == _IDLE:
            end -= 1
        held = int(taken[job, end])
        end -= held
        pieces.append((start + end, held))
    return pieces[::-1]


def _alone(jobs: Sequence[JobWork], longest: int) -> tuple[Ints, Ints, Floats]:
    """Least and most GPUs of each job, and its speeds on 0, 1, ... GPUs that lie together."""
    least = np.array([min(job.least, longest + 1) for job in jobs], dtype=np.int64)
    most = np.array([min(job.most, longest) for job in jobs], dtype=np.int64)
    speed = np.tile(np.arange(longest + 1, dtype=np.float64), (len(jobs), 1))
    for row, job in enumerate(jobs):
        if job.speeds is not None:
            speed[row, least[row] : most[row] + 1] = job.speeds[: most[row] - least[row] + 1]
    return least, most, speed


@njit(cache=True)
def _divide(
    least: Ints, most: Ints, speed_of: Floats, kind: Ints, slowdowns: Floats
) -> tuple[Floats, Ints]:
    """`fastest[j, q]`: of the first j jobs on the first q GPUs; `taken[j, q]`: by job j there."""
    length = len(kind) - 1
    fastest = np.zeros((len(least) + 1, length + 1))
    taken = np.zeros((len(least), length + 1), np.int64)
    for job in range(len(least)):
        for end in range(length + 1):
            speed, gpus = fastest[job, end], 0
            for wanted in range(least[job], min(most[job], end) + 1):
                start = end - wanted
                found = fastest[job, start] + speed_of[job, wanted] / slowdowns[kind[start], wanted]
                if found > speed:
                    speed, gpus = found, wanted
            if end > 0 and fastest[job + 1, end - 1] >= speed:
                speed, gpus = fastest[job + 1, end - 1], _IDLE
            fastest[job + 1, end], taken[job, end] = speed, gpus
    return fastest, taken
