"""Distribution of GPUs without a winner, or returned by hidden payments.

Themis distributes them by lottery (section 4.2), so that bidders cannot profit from them. Both
variants draw the next taker at random; they differ in which GPUs it gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motet.domain.arrays import Ints
from motet.domain.snapshot import Placement

_NOWHERE = Placement((), ())


@dataclass(frozen=True)
class Taker:
    """A candidate that can use `least` to `most` additional GPUs (equal: a gang).

    `machines`: current machines; additional GPUs there are preferred.
    """

    least: int
    most: int
    machines: frozenset[int] = field(default_factory=frozenset)


def hand_out(
    free_gpus: ArrayLike,
    takers: Sequence[Taker],
    rng: np.random.Generator,
    *,
    is_placement_aware: bool = False,
    racks: ArrayLike | None = None,
) -> tuple[Placement, ...]:
    """The placement of each taker on `free_gpus: (machines,)`; empty: no machines.

    Draws one of the takers whose request fits; the taker gets its least number of GPUs, or one more
    if it has that. Repeats until no taker can use more. The GPUs are drawn at random or, with
    `is_placement_aware`, chosen so that the taker uses the fewest machines. `racks: (machines,)`;
    None: one rack.
    """
    free = np.array(free_gpus, dtype=np.int64)
    rack = _known(racks, len(free))
    least, most = np.array([(each.least, each.most) for each in takers]).reshape(-1, 2).T
    held, got = np.zeros_like(most), np.zeros((len(takers), len(free)), dtype=np.int64)
    while len(able := _able(least, most, held, int(free.sum()))):
        row = int(able[rng.integers(len(able))])  # The same draw as Generator.choice.
        gpus = _step(int(least[row]), int(held[row]))
        if is_placement_aware:
            taken = _nearby(free, gpus, _homes(takers[row], got[row]), rack)
        else:
            taken = rng.multivariate_hypergeometric(free, gpus)
        got[row] += taken
        held[row] += gpus
        free -= taken
    return tuple(_placement(row) if gpus else _NOWHERE for row, gpus in zip(got, held, strict=True))


def nearby(
    free_gpus: ArrayLike, gpus: int, homes: frozenset[int], racks: ArrayLike | None = None
) -> Placement:
    """`gpus` of `free_gpus: (machines,)`, at `homes` first, otherwise on the fewest machines."""
    free = np.asarray(free_gpus, dtype=np.int64)
    return _placement(_nearby(free, gpus, homes, _known(racks, len(free))))


def _known(racks: ArrayLike | None, size: int) -> Ints:
    return np.zeros(size, dtype=np.int64) if racks is None else np.asarray(racks, dtype=np.int64)


def _able(least: Ints, most: Ints, held: Ints, free: int) -> Ints:
    """Takers that can use more GPUs and whose next step fits."""
    return np.flatnonzero((held < most) & (np.where(held > 0, 1, least) <= free))


def _step(least: int, held: int) -> int:
    return 1 if held else least


def _homes(taker: Taker, got: Ints) -> frozenset[int]:
    return taker.machines | set(np.flatnonzero(got).tolist())


def _nearby(free: Ints, gpus: int, homes: frozenset[int], rack: Ints) -> Ints:
    """GPUs at `homes` first; then the tightest machine that fits the rest, or the emptiest."""
    taken, lacking = np.zeros_like(free), gpus
    for machine in sorted(homes):
        taken[machine] = min(int(free[machine]), lacking)
        lacking -= int(taken[machine])
    while lacking > 0:
        left = free - taken
        machine = _machine_for(left, lacking, rack, np.isin(rack, rack[taken > 0]))
        more = min(int(left[machine]), lacking)
        taken[machine] += more
        lacking -= more
    return taken


def _machine_for(left: Ints, lacking: int, rack: Ints, is_own: NDArray[np.bool_]) -> int:
    """The next machine: in the current racks (`is_own`) if they have room, otherwise
    in any rack.
    """
    has_room = int(left[is_own].sum()) >= lacking
    area = is_own if has_room else np.ones_like(is_own)
    fitting = np.flatnonzero(area & (left >= lacking))
    if len(fitting):
        return int(fitting[np.argmin(left[fitting])])
    if not has_room:
        area = rack == _rack_for(left, lacking, rack)
    return int(np.argmax(np.where(area, left, 0)))


def _rack_for(left: Ints, lacking: int, rack: Ints) -> int:
    """The rack with the least room that fits, otherwise the rack with the most room."""
    room = np.bincount(rack, left).astype(np.int64)
    fitting = np.flatnonzero(room >= lacking)
    return int(fitting[np.argmin(room[fitting])] if len(fitting) else np.argmax(room))


def _placement(gpus: Ints) -> Placement:
    machines = np.flatnonzero(gpus)
    return Placement(tuple(machines.tolist()), tuple(gpus[machines].tolist()))
