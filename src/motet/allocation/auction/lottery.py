"""Lottery for GPUs without a winner, or released between two auctions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numba import njit

from motet.allocation.auction.floor import Floor
from motet.allocation.auction.leftovers import Taker, hand_out, nearby
from motet.allocation.auction.standings import Standings
from motet.domain.arrays import Ints
from motet.domain.snapshot import UNKNOWN, Placement, Snapshot


class Lottery:
    """Assigns free GPUs of the floor to jobs."""

    def __init__(
        self,
        snapshot: Snapshot,
        standings: Standings,
        floor: Floor,
        lots: Callable[[], np.random.Generator],
        *,
        is_near: bool,
    ) -> None:
        """`lots`: called when the first lot is drawn: most decisions leave no GPUs to draw for.
        `is_near`: choose GPUs near the job's previous machines; otherwise draw the GPUs."""
        self._jobs, self._now_us = snapshot.jobs, snapshot.now_us
        self._racks = snapshot.cluster.rack
        self._standings, self._widths = standings, standings.widths
        self._floor, self._lots, self._is_near = floor, lots, is_near
        self._drawn: set[int] = set()

    @cached_property
    def _rng(self) -> np.random.Generator:
        return self._lots()

    # -- without a draw ----------------------------------------------------------------------------

    def hand_on(self, rows: Ints, gpus: int, until_us: int) -> None:
        """Assign the GPUs of an ended job to waiting jobs of its experiment, in this order."""
        left = min(gpus, self._free)
        for row in rows.tolist():
            if not self._floor.gpus[row] and self._least(row) <= left:
                taken = self._largest(row, left)
                self._floor.grant(row, self._near(self._home(row), taken), until_us)
                left -= taken

    # -- to waiting jobs ------------------------------------------------------------------------

    def hand_out(self, rows: Ints, until_us: int) -> None:
        """Assign GPUs to one job per experiment at a time, until no waiting job fits.

        Elastic jobs get their minimum.
        """
        while self._free and (heads := self._heads(rows)):
            if len(heads) > self._free:  # No more takers than GPUs can draw.
                heads = self._rng.choice(heads, self._free, replace=False).tolist()
            takers = self._takers(heads)
            places = hand_out(
                self._floor.free,
                takers,
                lambda: self._rng,
                is_placement_aware=self._is_near,
                racks=self._racks,
            )
            for row, place in zip(heads, places, strict=True):
                if place.machines:
                    self._floor.grant(row, place, until_us)
                    self._drawn.add(row)

    def _heads(self, rows: Ints) -> list[int]:
        """The first job of each experiment that fits: running jobs first, then the largest."""
        jobs, of = self._jobs, self._standings.of
        is_left = (self._widths.least[rows] <= self._free) & (self._floor.lease_us[rows] == 0)
        heads: list[int] = _firsts(
            rows[is_left], of, jobs.held_gpus, jobs.gpus, jobs.number
        ).tolist()
        return heads

    def _takers(self, rows: Sequence[int]) -> list[Taker]:
        gpus = self._widths.least[rows].tolist()
        return [Taker(each, each, self._home(row)) for row, each in zip(rows, gpus, strict=True)]

    def _home(self, row: int) -> frozenset[int]:
        place = self._floor.before(row)
        return frozenset(place.machines if place else ())

    # -- to jobs that can use more ----------------------------------------------------------------

    def widen(self, rescale_us: int) -> None:
        """Widen elastic jobs: starting or moving jobs step by step, then running jobs as far as
        they can use GPUs, if the gain exceeds the cost of the change.
        """
        if not self._free:
            return
        rows = np.flatnonzero(self._jobs.is_elastic & (self._floor.gpus > 0))
        if not len(rows):
            return
        rows = rows[np.argsort(self._jobs.number[rows])]
        stays = self._floor.stays[rows]
        self._step_by_step(rows[~stays].tolist())
        for row in self._rng.permutation(rows[stays]).tolist():
            gpus = self._largest(row, self._floor.held(row) + self._free)
            if gpus > self._floor.held(row) and self._pays(row, gpus, rescale_us):
                self._widen(row, gpus)

    def _step_by_step(self, rows: Sequence[int]) -> None:
        sizes, able = {row: self._floor.held(row) for row in rows}, list(rows)
        free = self._free
        while able := [row for row in able if 0 < self._next(row, sizes[row]) <= sizes[row] + free]:
            row = int(self._rng.choice(able))
            free += sizes[row]
            sizes[row] = self._next(row, sizes[row])
            free -= sizes[row]
        self._place(sizes)

    def _next(self, row: int, gpus: int) -> int:
        """The next larger width; 0 if there is none."""
        entry = self._widths.entry(row, gpus) + 1
        return 0 if entry == self._widths.of(row).stop else int(self._widths.gpus[entry])

    def _place(self, sizes: Mapping[int, int]) -> None:
        """Place drawn jobs anew, largest first; jobs that won GPUs keep them and get more."""
        grown = [row for row, gpus in sizes.items() if gpus > self._floor.held(row)]
        for row in grown:
            if row not in self._drawn:
                self._widen(row, sizes[row])
        anew = [row for row in grown if row in self._drawn]
        until_us = {row: self._floor.give_back(row) for row in anew}
        for row in sorted(anew, key=lambda row: -sizes[row]):
            self._floor.grant(row, self._near(self._home(row), sizes[row]), until_us[row])

    def _pays(self, row: int, gpus: int, rescale_us: int) -> bool:
        """Whether the job progresses further until its lease or the job ends,
        including the pause.
        """
        now, then = (self._speed(row, each) for each in (self._floor.held(row), gpus))
        left_us = int(self._standings.left_us[row]) * int(self._jobs.gpus[row]) / now
        time_us = min(left_us, int(self._floor.lease_us[row]) - self._now_us)
        return (time_us - rescale_us) * then > time_us * now

    def _widen(self, row: int, gpus: int) -> None:
        home = frozenset(self._floor.place(row).machines)
        more = gpus - self._floor.held(row)
        self._floor.widen(row, self._near(home, more))

    def _near(self, home: frozenset[int], gpus: int) -> Placement:
        return nearby(self._floor.free, gpus, home, self._racks)

    # -- sizes -------------------------------------------------------------------------------------

    @property
    def _free(self) -> int:
        return self._floor.free_gpus

    def _least(self, row: int) -> int:
        """The smallest width of the job."""
        return int(self._widths.gpus[self._widths.first[row]])

    def _largest(self, row: int, gpus: int) -> int:
        """The largest width of the job with at most `gpus` GPUs."""
        return int(self._widths.gpus[self._widths.entry(row, gpus)])

    def _speed(self, row: int, gpus: int) -> float:
        return float(self._widths.speed[self._widths.entry(row, gpus)])


@njit(cache=True)
def _firsts(rows: Ints, of: Ints, held_gpus: Ints, gpus: Ints, number: Ints) -> Ints:
    """The first of these rows of each experiment, in the order of experiments: with GPUs first,
    then the largest, then by number."""
    first = np.full(of.max() + 1 if len(of) else 0, UNKNOWN)
    for row in rows:
        other = first[of[row]]
        if other == UNKNOWN:
            first[of[row]] = row
            continue
        key = (held_gpus[row] == 0, -gpus[row], number[row])
        if key < (held_gpus[other] == 0, -gpus[other], number[other]):
            first[of[row]] = row
    found: Ints = first[first != UNKNOWN]
    return found
