"""Division of stretches of GPUs among the jobs of an experiment, for the highest total speed.

Only an experiment's agent has access to its jobs; the auction receives the value of the whole
stretch. Jobs get consecutive pieces of the stretch in their order; GPUs between pieces may stay
idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numba import njit

from motet.allocation.auction.line import Line
from motet.domain.arrays import Floats, Ints
from motet.estimate.finish_time import JobWork

LinePiece = tuple[int, int]
_IDLE = -1


class JobSpeeds(NamedTuple):
    """The jobs of all experiments: those of experiment i start at `first_job[i]`. Each job runs on
    `least` to `most` GPUs; its speeds on contiguous GPUs start at its `first_speed`.
    """

    first_job: Ints
    least: Ints
    most: Ints
    first_speed: Ints
    speed: Floats

    @classmethod
    def of(cls, experiments: Sequence[Sequence[JobWork]], longest: int) -> Self:
        """Columns of these jobs, limited to `longest` GPUs per job."""
        jobs = [job for each in experiments for job in each]
        speed: list[float] = []
        ends = [0]
        for job in jobs:
            most = min(job.most, longest)
            if job.speeds is None:
                speed += range(job.least, most + 1)
            else:
                speed += job.speeds[: max(most - job.least + 1, 0)]
            ends.append(len(speed))
        return cls(
            np.cumsum([0, *map(len, experiments)]),
            np.array([job.least for job in jobs], dtype=np.int64),
            np.array([min(job.most, longest) for job in jobs], dtype=np.int64),
            np.array(ends, dtype=np.int64),
            np.array(speed, dtype=np.float64),
        )


class Slowdowns(NamedTuple):
    """`table: (tables, kinds, longest + 1)`, each of `Line.slowdowns`; `of`: table index of each
    experiment.
    """

    table: Floats
    of: Ints

    @classmethod
    def of_each(cls, tables: Sequence[Floats]) -> Self:
        """One table per experiment; identical objects are stored once."""
        known = {id(table): table for table in tables}
        place = {key: number for number, key in enumerate(known)}
        longest = max((table.shape[1] for table in tables), default=1)
        kinds = tables[0].shape[0] if tables else 1
        found = np.full((len(known), kinds, longest), np.inf)
        for number, table in enumerate(known.values()):
            found[number, :, : table.shape[1]] = table
        return cls(found, np.array([place[id(table)] for table in tables], dtype=np.int64))


class Stretches(NamedTuple):
    """Sections of the line, each with its experiment."""

    experiment: Ints
    start: Ints
    gpus: Ints


def speed_tables(
    jobs: JobSpeeds, line: Line, slowdowns: Slowdowns, most: Ints
) -> tuple[Floats, Ints]:
    """The highest total speeds on stretches, and the end of each experiment's entries.

    The entries of an experiment are `(kinds, most + 1)` by kind of start and length, up to its
    `most`; 0 beyond the line or its reach. Speeds never decrease with the length.
    """
    ends = np.cumsum((most + 1) * line.kinds)
    flat = np.zeros(int(ends[-1]) if len(ends) else 0)
    _fill_tables(jobs, line.kind, line.first, line.reach, slowdowns, most, flat)
    return flat, ends


def pieces(
    jobs: JobSpeeds, line: Line, slowdowns: Slowdowns, won: Stretches
) -> list[list[LinePiece]]:
    """(start, GPUs) of each job's piece of each stretch; 0 GPUs: the job waits."""
    sizes = np.diff(jobs.first_job)[won.experiment]
    ends = np.cumsum(sizes)
    found = _pieces(jobs, line.kind, slowdowns, won, ends - sizes, int(sizes.sum()))
    flat = list(map(tuple, found.tolist()))
    return [flat[end - size : end] for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)]


@njit(cache=True)
def _fill_tables(
    jobs: JobSpeeds,
    kind: Ints,
    first: Ints,
    reach: int,
    slowdowns: Slowdowns,
    most: Ints,
    flat: Floats,
) -> None:
    size, at, longest = len(kind) - 1, 0, most.max() if len(most) else 0
    fastest, taken = np.zeros((2, longest + 1)), np.zeros(longest + 1, np.int64)
    for experiment in range(len(most)):
        slowdown = slowdowns.table[slowdowns.of[experiment]]
        for place in range(len(first)):
            start = first[place]
            length = min(most[experiment], reach, size - start)
            fastest[0, : length + 1] = 0.0
            for job in range(jobs.first_job[experiment], jobs.first_job[experiment + 1]):
                _add_job(job, jobs, kind[start : start + length + 1], slowdown, fastest, taken)
                # A loop: for an array assigned to a slice, each process compiles an error message.
                for gpus in range(length + 1):
                    fastest[0, gpus] = fastest[1, gpus]
            for gpus in range(length + 1):
                flat[at + gpus] = fastest[0, gpus]
            at += most[experiment] + 1


@njit(cache=True)
def _add_job(
    job: int, jobs: JobSpeeds, kind: Ints, slowdown: Floats, fastest: Floats, taken: Ints
) -> None:
    """`fastest[0, q]`: total speed of the previous jobs on the first q GPUs of a stretch;
    `fastest[1, q]`: including this job, which has `taken[q]` GPUs that end there.
    """
    least, most = jobs.least[job], jobs.most[job]
    speed_of = jobs.speed[jobs.first_speed[job] : jobs.first_speed[job + 1]]
    for end in range(len(kind)):
        speed, gpus = fastest[0, end], 0
        for wanted in range(least, min(most, end) + 1):
            start = end - wanted
            found = fastest[0, start] + speed_of[wanted - least] / slowdown[kind[start], wanted]
            if found > speed:
                speed, gpus = found, wanted
        if end > 0 and fastest[1, end - 1] >= speed:
            speed, gpus = fastest[1, end - 1], _IDLE
        fastest[1, end], taken[end] = speed, gpus


@njit(cache=True)
def _pieces(
    jobs: JobSpeeds, kind: Ints, slowdowns: Slowdowns, won: Stretches, first: Ints, size: int
) -> Ints:
    """`(pieces, 2)`: the pieces of stretch i start at `first[i]`."""
    found = np.zeros((size, 2), np.int64)
    for stretch in range(len(won.start)):
        experiment, start, length = won.experiment[stretch], won.start[stretch], won.gpus[stretch]
        slowdown = slowdowns.table[slowdowns.of[experiment]]
        begin = jobs.first_job[experiment]
        count = jobs.first_job[experiment + 1] - begin
        fastest, taken = np.zeros((count + 1, length + 1)), np.zeros((count, length + 1), np.int64)
        for job in range(count):
            both = fastest[job : job + 2]
            _add_job(
                begin + job, jobs, kind[start : start + length + 1], slowdown, both, taken[job]
            )
        end = length
        for job in range(count - 1, -1, -1):
            while taken[job, end] == _IDLE:
                end -= 1
            gpus = taken[job, end]
            end -= gpus
            found[first[stretch] + job, 0], found[first[stretch] + job, 1] = start + end, gpus
    return found
