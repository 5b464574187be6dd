"""GPUs that nobody won, or that hidden payments gave back: they go to whoever can use them.

Themis hands them out by lot (section 4.2), so nobody can gain by hoping for them. Who is next is
drawn by lot in both variants; they differ in which GPUs it gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from motet.domain.arrays import Ints
from motet.domain.snapshot import Placement


@dataclass(frozen=True)
class Taker:
    """Somebody who can use `least` to `most` GPUs more (equal: a gang).

    `machines`: where it runs already; more GPUs there are best for it.
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
    """What each taker gets of `free_gpus: (machines,)`; nothing: no machines.

    Among those who can use what is there one is drawn: it gets its least GPUs, or one more if it
    has those, until nobody can use any. The GPUs are drawn as well, or, if `is_placement_aware`,
    they are those that leave it on the fewest machines. `racks: (machines,)`; None: one.
    """
    rack = _known(racks, len(np.asarray(free_gpus)))
    free = np.array(free_gpus, dtype=np.int64)
    got = np.zeros((len(takers), len(free)), dtype=np.int64)
    while len(able := _able(takers, got, int(free.sum()))):
        row = int(rng.choice(able))
        gpus = _step(takers[row], int(got[row].sum()))
        if is_placement_aware:
            taken = _nearby(free, gpus, _homes(takers[row], got[row]), rack)
        else:
            taken = rng.multivariate_hypergeometric(free, gpus)
        got[row] += taken
        free -= taken
    return tuple(_placement(row) for row in got)


def nearby(
    free_gpus: ArrayLike, gpus: int, homes: frozenset[int], racks: ArrayLike | None = None
) -> Placement:
    """That many of `free_gpus: (machines,)`, at `homes` first, else on the fewest machines."""
    free = np.asarray(free_gpus, dtype=np.int64)
    return _placement(_nearby(free, gpus, homes, _known(racks, len(free))))


def _known(racks: ArrayLike | None, size: int) -> Ints:
    return np.zeros(size, dtype=np.int64) if racks is None else np.asarray(racks, dtype=np.int64)


def _able(takers: Sequence[Taker], got: Ints, free: int) -> Ints:
    held = got.sum(axis=1).tolist()
    return np.array(
        [
            row
            for row, (taker, gpus) in enumerate(zip(takers, held, strict=True))
            if gpus < taker.most and _step(taker, gpus) <= free
        ],
        dtype=np.int64,
    )


def _step(taker: Taker, held: int) -> int:
    return 1 if held else taker.least


def _homes(taker: Taker, got: Ints) -> frozenset[int]:
    return taker.machines | set(np.flatnonzero(got).tolist())


def _nearby(free: Ints, gpus: int, homes: frozenset[int], rack: Ints) -> Ints:
    """Where it is at home first; then the tightest machine for the rest, or the emptiest."""
    taken = np.zeros_like(free)
    for machine in sorted(homes):
        taken[machine] = min(free[machine], gpus - int(taken.sum()))
    while (lacking := gpus - int(taken.sum())) > 0:
        left = free - taken
        machine = _machine_for(left, lacking, rack, np.isin(rack, rack[taken > 0]))
        taken[machine] += min(left[machine], lacking)
    return taken


def _machine_for(left: Ints, lacking: int, rack: Ints, is_own: NDArray[np.bool_]) -> int:
    """In the racks where it is (`is_own`: machines) if they have enough, else one for all."""
    has_room = int(left[is_own].sum()) >= lacking
    area = is_own if has_room else np.ones_like(is_own)
    fitting = np.flatnonzero(area & (left >= lacking))
    if len(fitting):
        return int(fitting[np.argmin(left[fitting])])
    if not has_room:
        area = rack == _rack_for(left, lacking, rack)
    return int(np.argmax(np.where(area, left, 0)))


def _rack_for(left: Ints, lacking: int, rack: Ints) -> int:
    """The tightest that has enough, or the one with most."""
    room = np.bincount(rack, left).astype(np.int64)
    fitting = np.flatnonzero(room >= lacking)
    return int(fitting[np.argmin(room[fitting])] if len(fitting) else np.argmax(room))


def _placement(gpus: Ints) -> Placement:
    machines = np.flatnonzero(gpus)
    return Placement(tuple(machines.tolist()), tuple(gpus[machines].tolist()))
