"""Distribution of GPUs without a winner, or returned by hidden payments.

Themis distributes them by lottery (section 4.2), so that bidders cannot profit from them. Both
variants draw the next taker at random; they differ in which GPUs it gets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from motet.domain.arrays import Bools, Ints, read_only
from motet.domain.snapshot import UNKNOWN, Placement


class Taker(NamedTuple):
    """A candidate that can use `least` to `most` additional GPUs (equal: a gang).

    `machines`: current machines; additional GPUs there are preferred.
    """

    least: int
    most: int
    machines: frozenset[int] = frozenset()


class _Takers(NamedTuple):
    """`least`, `most`, `held: (takers,)` GPUs; `got: (takers, machines)` those that were handed
    out; `is_home: (takers, machines)`: where additional GPUs are preferred.
    """

    least: Ints
    most: Ints
    held: Ints
    got: Ints
    is_home: Bools

    @classmethod
    def of(cls, takers: Sequence[Taker], machines: int) -> Self:
        """Before anything is handed out."""
        least, most = np.array([(each.least, each.most) for each in takers]).reshape(-1, 2).T.copy()
        got = np.zeros((len(takers), machines), dtype=np.int64)
        is_home = np.zeros(got.shape, dtype=np.bool_)
        homes = [(row, machine) for row, each in enumerate(takers) for machine in each.machines]
        is_home[tuple(np.array(homes, dtype=np.int64).reshape(-1, 2).T)] = True
        return cls(least, most, np.zeros_like(most), got, is_home)


def hand_out(
    free_gpus: ArrayLike,
    takers: Sequence[Taker],
    lots: Callable[[], np.random.Generator],
    *,
    is_placement_aware: bool = False,
    racks: ArrayLike | None = None,
) -> tuple[Placement, ...]:
    """The placement of each taker on `free_gpus: (machines,)`; empty: no machines.

    Draws one of the takers whose request fits; the taker gets its least number of GPUs, or one more
    if it has that. Repeats until no taker can use more. The GPUs are drawn at random or, with
    `is_placement_aware`, chosen so that the taker uses the fewest machines. `lots`: gives the
    generator; it is not asked where one taker alone takes GPUs nearby: to make a generator takes
    longer than the rest. `racks: (machines,)`; None: one rack.
    """
    free = np.array(free_gpus, dtype=np.int64)
    rack, state = _known(racks, len(free)), _Takers.of(takers, len(free))
    able = _able(state, free)
    while able:
        # The same draw as Generator.choice; a choice of one changes no generator.
        drawn = int(lots().integers(able)) if able > 1 else 0
        if is_placement_aware:
            able = _give_nearby(drawn, state, free, rack)
        else:
            taken = lots().multivariate_hypergeometric(free, _next_step(drawn, state, free))
            able = _give(drawn, state, free, taken)
    return _placements(state.got)


def nearby(
    free_gpus: ArrayLike, gpus: int, homes: frozenset[int], racks: ArrayLike | None = None
) -> Placement:
    """`gpus` of `free_gpus: (machines,)`, at `homes` first, otherwise on the fewest machines."""
    free = np.array(free_gpus, dtype=np.int64)
    is_home = np.zeros(len(free), dtype=np.bool_)
    is_home[[*homes]] = True
    taken = _nearby(free, gpus, is_home, _known(racks, len(free)))
    return _placements(taken[None])[0]


def _known(racks: ArrayLike | None, size: int) -> Ints:
    rack = np.zeros(size, dtype=np.int64) if racks is None else np.asarray(racks, dtype=np.int64)
    return read_only(rack)


def _placements(got: Ints) -> tuple[Placement, ...]:
    """`got: (takers, machines)`."""
    rows, machines = np.nonzero(got)
    ends = np.searchsorted(rows, np.arange(len(got)), side="right").tolist()
    on, counts = machines.tolist(), got[rows, machines].tolist()
    return tuple(
        Placement(tuple(on[begin:end]), tuple(counts[begin:end]))
        for begin, end in pairwise([0, *ends])
    )


# -- compiled -------------------------------------------------------------------------------------


@njit(cache=True)
def _is_able(held: int, least: int, most: int, free: int) -> bool:
    """Whether a taker can use more GPUs and its next step fits. Of numbers: to pass `_Takers`, all
    of its columns are counted as in use, which takes far longer than this."""
    return bool(held < most and _step(held, least) <= free)


@njit(cache=True)
def _step(held: int, least: int) -> int:
    return 1 if held else int(least)


@njit(cache=True)
def _able(takers: _Takers, free: Ints) -> int:
    """How many takers are able to take more."""
    count, whole = 0, free.sum()
    held, least, most = takers.held, takers.least, takers.most
    for row in range(len(held)):
        count += _is_able(held[row], least[row], most[row], whole)
    return count


@njit(cache=True)
def _row_of(drawn: int, takers: _Takers, free: Ints) -> int:
    """The row of the able taker with this number among them."""
    whole = free.sum()
    held, least, most = takers.held, takers.least, takers.most
    for row in range(len(held)):
        drawn -= _is_able(held[row], least[row], most[row], whole)
        if drawn < 0:
            return row
    raise IndexError("fewer takers are able to take more")


@njit(cache=True)
def _next_step(drawn: int, takers: _Takers, free: Ints) -> int:
    """GPUs that this able taker takes."""
    row = _row_of(drawn, takers, free)
    return _step(takers.held[row], takers.least[row])


@njit(cache=True)
def _give(drawn: int, takers: _Takers, free: Ints, taken: Ints) -> int:
    """Give GPUs to this able taker; how many takers are able afterwards."""
    row = _row_of(drawn, takers, free)
    for machine in range(len(free)):
        takers.got[row, machine] += taken[machine]
        takers.held[row] += taken[machine]
        free[machine] -= taken[machine]
    return _able(takers, free)


@njit(cache=True)
def _give_nearby(drawn: int, takers: _Takers, free: Ints, rack: Ints) -> int:
    """As `_give`, near the machines of the taker."""
    row = _row_of(drawn, takers, free)
    is_home = takers.is_home[row].copy()
    for machine in range(len(free)):
        is_home[machine] |= takers.got[row, machine] > 0
    gpus = _step(takers.held[row], takers.least[row])
    return _give(drawn, takers, free, _nearby(free, gpus, is_home, rack))


@njit(cache=True)
def _nearby(free: Ints, gpus: int, is_home: Bools, rack: Ints) -> Ints:
    """GPUs at homes first; then the tightest machine that fits the rest, or the emptiest."""
    taken, left, lacking = np.zeros_like(free), free.copy(), gpus
    for machine in range(len(free)):
        if is_home[machine]:
            lacking -= _take(machine, lacking, taken, left)
    while lacking > 0:
        lacking -= _take(_machine_for(left, lacking, rack, taken), lacking, taken, left)
    return taken


@njit(cache=True)
def _take(machine: int, lacking: int, taken: Ints, left: Ints) -> int:
    more = min(left[machine], lacking)
    taken[machine] += more
    left[machine] -= more
    return int(more)


@njit(cache=True)
def _machine_for(left: Ints, lacking: int, rack: Ints, taken: Ints) -> int:
    """The next machine: in the current racks if they have room, otherwise in any rack."""
    is_current = np.zeros(rack.max() + 1, np.bool_)
    for machine in range(len(taken)):
        is_current[rack[machine]] |= taken[machine] > 0
    area, room = np.ones(len(rack), np.bool_), 0
    for machine in range(len(rack)):
        room += left[machine] if is_current[rack[machine]] else 0
    has_room = room >= lacking
    if has_room:
        for machine in range(len(rack)):
            area[machine] = is_current[rack[machine]]
    tightest = _tightest(left, lacking, area)
    if tightest != UNKNOWN:
        return tightest
    if not has_room:
        chosen = _rack_for(left, lacking, rack)
        for machine in range(len(rack)):
            area[machine] = rack[machine] == chosen
    return _emptiest(left, area)


@njit(cache=True)
def _tightest(room: Ints, lacking: int, area: Bools) -> int:
    """The first with the least room that fits; UNKNOWN if there is none."""
    found = UNKNOWN
    for place in range(len(room)):
        fits = area[place] and room[place] >= lacking
        if fits and (found == UNKNOWN or room[place] < room[found]):
            found = place
    return found


@njit(cache=True)
def _emptiest(room: Ints, area: Bools) -> int:
    """The first with the most room."""
    found, most = 0, 0
    for place in range(len(room)):
        if area[place] and room[place] > most:
            found, most = place, room[place]
    return found


@njit(cache=True)
def _rack_for(left: Ints, lacking: int, rack: Ints) -> int:
    """The rack with the least room that fits, otherwise the rack with the most room."""
    room = np.zeros(rack.max() + 1, np.int64)
    for machine in range(len(rack)):
        room[rack[machine]] += left[machine]
    anywhere = np.ones(len(room), np.bool_)
    tightest = _tightest(room, lacking, anywhere)
    return _emptiest(room, anywhere) if tightest == UNKNOWN else tightest
