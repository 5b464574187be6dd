"""Lanes of the bars of a Gantt chart: which of its machine's GPUs each bar is drawn on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from motet.report.cluster_run.placements import Placements


def gantt_lanes(placements: Placements) -> list[tuple[int, ...]]:
    """Lanes of every row: numbers of GPUs of its machine. Jobs that share GPUs share lanes.

    A job that continues on a machine keeps its lanes, as far as it still has GPUs, and gets more
    lanes next to them. Other jobs get the first free lanes, adjacent ones if possible. A run
    records numbers of GPUs per machine, not which GPUs, so the lanes are a drawing convention.
    """
    found: list[tuple[int, ...]] = [()] * len(placements)
    order = np.argsort(placements.machine, kind="stable")
    cuts = np.flatnonzero(np.diff(placements.machine[order])) + 1
    for rows in np.split(order, cuts) if len(order) else ():
        size = int(placements.machine_gpus[placements.machine[rows[0]]])
        for row, chosen in zip(rows.tolist(), _lanes_of(placements.of(rows), size), strict=True):
            found[row] = chosen
    return found


class _Hold(NamedTuple):
    """A row on one machine."""

    row: int
    job: int
    first_sharer: int
    gpus: int
    start_s: float
    end_s: float


class _Stay(NamedTuple):
    """A job on some lanes for some time."""

    lanes: tuple[int, ...]
    start_s: float
    end_s: float


_NOWHERE = _Stay((), float("-inf"), float("-inf"))


def _lanes_of(rows: Placements, size: int) -> list[tuple[int, ...]]:
    """Lanes of the rows of one machine with `size` GPUs."""
    chosen: list[tuple[int, ...]] = [()] * len(rows)
    machine = _Lanes(size)
    columns = (rows.job, rows.first_sharer, rows.gpus, rows.start_s, rows.end_s)
    numbered = zip(range(len(rows)), *(column.tolist() for column in columns), strict=True)
    holds = sorted((_Hold(*each) for each in numbered), key=lambda each: (each.start_s, each.row))
    for _, together in groupby(holds, key=lambda hold: hold.start_s):
        for hold, mine in machine.begin(list(together)):
            chosen[hold.row] = mine
    return chosen


class _Lanes:
    """The lanes of a machine: when each becomes free, and the last stay of every job."""

    def __init__(self, size: int) -> None:
        self._until_s = [float("-inf")] * size
        self._last: dict[int, _Stay] = {}

    def begin(self, holds: Sequence[_Hold]) -> Iterator[tuple[_Hold, tuple[int, ...]]]:
        """Lanes for holds that begin at the same time; jobs that continue are served first."""
        in_order = sorted(holds, key=lambda hold: not self._goes_on(hold))
        first, chosen = dict[int, _Hold](), dict[int, tuple[int, ...]]()
        for hold in in_order:
            first.setdefault(hold.first_sharer, hold)
        kept = {hold.row: self._keep(hold) for hold in first.values()}
        for hold in in_order:
            mine = chosen.get(hold.first_sharer)
            if mine is None:
                mine = _beside(kept.get(hold.row, ()), self._free(hold.start_s), hold.gpus)
                chosen[hold.first_sharer] = mine
            self._take(mine, hold.end_s)
            self._last[hold.job] = _Stay(mine, hold.start_s, hold.end_s)
            yield hold, mine

    def _goes_on(self, hold: _Hold) -> bool:
        """Whether the job was on this machine until the hold begins."""
        return self._last.get(hold.job, _NOWHERE).end_s == hold.start_s

    def _keep(self, hold: _Hold) -> tuple[int, ...]:
        if not self._goes_on(hold):
            return ()
        free = set(self._free(hold.start_s))
        before = [lane for lane in self._last[hold.job].lanes if lane in free]
        self._take(before[: hold.gpus], hold.end_s)
        return tuple(before[: hold.gpus])

    def _free(self, now_s: float) -> list[int]:
        return [lane for lane, until_s in enumerate(self._until_s) if until_s <= now_s]

    def _take(self, lanes: Sequence[int], until_s: float) -> None:
        for lane in lanes:
            self._until_s[lane] = max(self._until_s[lane], until_s)


def _beside(kept: tuple[int, ...], free: Sequence[int], gpus: int) -> tuple[int, ...]:
    """The kept lanes and the free ones nearest to them; without kept lanes, the first free ones."""
    more = gpus - len(kept)
    if not kept:
        return _first(free, more)
    nearest = sorted(free, key=lambda lane: min(abs(lane - mine) for mine in kept))
    return tuple(sorted((*kept, *nearest[:more])))


def _first(lanes: Sequence[int], gpus: int) -> tuple[int, ...]:
    """The first adjacent lanes, or the first ones if there are not enough adjacent lanes."""
    sides = zip(lanes, lanes[gpus - 1 :], strict=False)
    first = next((n for n, (low, high) in enumerate(sides) if high - low == gpus - 1), 0)
    return tuple(lanes[first : first + gpus])
