"""The waits of a decision that are new to the log, and the blockers of each. Compiled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numba import njit

from motet.domain.arrays import Bools, Ints, read_only
from motet.domain.decision import Decision
from motet.domain.log_entry import NO_JOBS, OtherJobs
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.wait import WAITS, BlockerRule, Wait
from motet.engine.journal.blocker_search import (
    ALL,
    BEFORE,
    HEAD,
    LISTED,
    MOST_NAMED,
    OF_QUEUE,
    holder_rows,
    holders_before,
    name_blockers,
)

_NEARER = 4
_FEW = 16
_RUNS = int(Wait.RUNS)
_NUMBERS = {
    BlockerRule.HOLDERS_BEFORE: BEFORE,
    BlockerRule.HEAD_OF_LINE: HEAD,
    BlockerRule.HOLDERS_OF_QUEUE: OF_QUEUE,
    BlockerRule.ALL_HOLDERS: ALL,
}
_RULES = np.full(max(Wait) + 1, HEAD)
"""By wait code."""
_RULES[[*WAITS]] = [_NUMBERS[wait.reason.blockers] for wait in WAITS]
_IS_HEAD = _RULES != HEAD
"""By wait code: whether jobs behind may not overtake one that waits for this reason. Jobs overtake
those of a queue on hold; those that run, or for which GPUs stay free until they start again, are in
no line."""
_IS_HEAD[[Wait.RUNS, Wait.QUEUE_HELD, Wait.RESTART_DELAYED]] = False
_KEPT = 16
_NO_LEVELS: Ints = np.zeros(0, dtype=np.int64)
_Columns: TypeAlias = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints]


class NewWait(NamedTuple):
    """`before`: number of waiting jobs before it in the order; UNKNOWN without an order.

    `blockers`: the head of the line if the job may not overtake it (of its own queue, if that queue
    has one), with the GPUs that it requests; else the jobs before it with GPUs. Without an order,
    or if the policy withholds free GPUs from the job: all jobs with GPUs.
    """

    row: int
    job: int
    gpus: int
    code: int
    free_gpus: int
    before: int
    blockers: OtherJobs


class ToldRows(NamedTuple):
    """`moved`: rows of jobs on another level than before. `waits`: those that began, have another
    reason, or at most a quarter of the jobs before them that their last entry had; by row."""

    moved: Ints
    waits: list[NewWait]


def rows_to_tell(
    snapshot: Snapshot, decision: Decision, known: Ints, *, looks: bool
) -> ToldRows | None:
    """What of a decision is new; None: a job has a number for which `known` lacks room.

    `known`: (code, position, level) of the last entries, by job number; codes and positions are
    kept up to date. `looks`: whether positions are compared, too.
    """
    level = read_only(snapshot.memory.get("level", _NO_LEVELS))
    most, moved, found = _told(*_columns(snapshot, decision), level, known, _RULES, _IS_HEAD, looks)
    return ToldRows(moved, _waits(found)) if most < known.shape[1] else None


def _columns(snapshot: Snapshot, decision: Decision) -> _Columns:
    """What the kernels read."""
    jobs, reasons = snapshot.jobs, decision.reasons
    return (
        read_only(jobs.number),
        read_only(jobs.gpus),
        read_only(jobs.queue),
        read_only(decision.gpus),
        read_only(reasons.code),
        read_only(reasons.free_gpus),
        read_only(reasons.position),
    )


def _waits(found: Ints) -> list[NewWait]:
    alone = LISTED - 1
    return [NewWait._make((*each[:alone], _others(*each[alone:]))) for each in found.tolist()]


def wait_of(row: int, snapshot: Snapshot, decision: Decision) -> NewWait | None:
    """The wait of one job, whether it is new or not; None: it does not wait."""
    none = np.full(snapshot.jobs.number.item(row) + 1, UNKNOWN)
    seen = _columns(snapshot, decision)
    found = _new_waits(np.array([row]), *seen, none, none.copy(), _RULES, _IS_HEAD)
    return _waits(found)[0] if len(found) else None


@lru_cache(_KEPT)
def _others(total: int, *named: int) -> OtherJobs:
    """`named`: jobs and their GPUs in turn. Waits often have the blockers of the one before."""
    if not total:
        return NO_JOBS
    pairs = tuple(zip(named[::2], named[1::2], strict=True))
    return OtherJobs(pairs[:total], total)


def first_of(jobs: Sequence[tuple[int, int]]) -> OtherJobs:
    """`OtherJobs` that names only the first few of these (job, GPUs)."""
    return OtherJobs(tuple(jobs[:MOST_NAMED]), len(jobs))


@njit(cache=True)
def row_of(numbers: Ints, job: int) -> int:
    """The row of a job; jobs that came last are found first."""
    row = len(numbers) - 1
    while numbers[row] != job:
        row -= 1
    return row


@njit(cache=True)
def _told(
    numbers: Ints,
    wanted: Ints,
    queue: Ints,
    gpus: Ints,
    code: Ints,
    free: Ints,
    position: Ints,
    level: Ints,
    known: Ints,
    rules: Ints,
    is_head: Bools,
    looks: bool,
) -> tuple[int, Ints, Ints]:
    """The largest job number; rows of jobs on another level; new waits. One call, as a call takes
    longer than its work.

    `level`: by row, or empty. Where `known` lacks a job, nothing is found, and nothing has changed.
    """
    codes, positions, levels = known[0], known[1], known[2]
    most = UNKNOWN
    for row in range(len(numbers)):  # With an index the compiler uses vectors.
        most = numbers[row] if numbers[row] > most else most
    size = len(numbers) if most < len(codes) else 0
    moved, moves = np.empty(min(len(level), size), np.int64), 0
    for row in range(len(moved)):
        if level[row] != levels[numbers[row]]:
            moved[moves] = row
            moves += 1
    rows, count = np.empty(size, np.int64), 0
    for row in range(size):
        is_told = codes[numbers[row]] == code[row]
        if not is_told and code[row] == _RUNS:
            codes[numbers[row]] = _RUNS
        elif looks or not is_told:
            rows[count] = row
            count += 1
    seen = (numbers, wanted, queue, gpus, code, free, position)
    found = _new_waits(rows[:count], *seen, codes, positions, rules, is_head)
    return most, moved[:moves], found


@njit(cache=True)
def _new_waits(
    rows: Ints,
    numbers: Ints,
    wanted: Ints,
    queue: Ints,
    gpus: Ints,
    code: Ints,
    free: Ints,
    position: Ints,
    codes: Ints,
    positions: Ints,
    rules: Ints,
    is_head: Bools,
) -> Ints:
    """A row of `NewWait` for each of these, with the first few blockers and their GPUs, then 0."""
    count, left = len(rows), 0
    found = np.zeros((count, LISTED + 2 * MOST_NAMED), np.int64)
    if not count:  # At many decisions.
        return found
    places = np.sort(position[holder_rows(gpus)]) if count > _FEW else position[:0]
    for row in rows:
        job = numbers[row]
        is_same, codes[job] = codes[job] == code[row], code[row]
        if code[row] == _RUNS:
            continue
        if count > _FEW:
            ahead = int(np.searchsorted(places, position[row]))
        else:
            ahead = holders_before(gpus, position, position[row])
        before = UNKNOWN if position[row] == UNKNOWN else position[row] - ahead
        if is_same and not (0 <= before < positions[job] and before * _NEARER <= positions[job]):
            continue
        one = found[left]
        one[0], one[1], one[2], one[3] = row, job, wanted[row], code[row]
        one[4], one[5], one[6] = free[row], before, ahead
        positions[job] = before
        left += 1
    name_blockers(found[:left], numbers, wanted, queue, gpus, code, position, rules, is_head)
    return found[:left]
