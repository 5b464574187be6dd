"""Who waits comes first; elastic jobs take the rest in whole workers, where that pays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from motet.allocation.auction.floor import Floor
from motet.allocation.auction.lottery import Lottery
from motet.allocation.auction.standings import MEMORY, Standings
from motet.domain.cluster import ClusterSpec
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import SECOND_US
from policy_snapshots import snapshot

LEASE_US = 600 * SECOND_US
ELASTIC = {"gpus": 2, "workers": 2, "min_workers": 1, "max_workers": 6}


def lottery(
    size: int, places: dict[int, Placement] | None = None, **columns: Any
) -> tuple[Lottery, Floor]:
    """On eight GPUs; `places`: of those that keep them for a lease."""
    held = places or {}
    gpus = [sum(held[row].counts) if row in held else 0 for row in range(size)]
    seen = snapshot(
        ClusterSpec.of([4, 4]),
        size,
        memory=MEMORY,
        places=held,
        experiment=columns.pop("experiment", UNKNOWN),
        held_gpus=gpus,
        rate=10_000,
        remaining_us=LEASE_US,
        **columns,
    )
    keeps = np.array(gpus) > 0
    floor = Floor(seen, keeps, np.full(size, LEASE_US))
    lots = np.random.default_rng(0)
    return Lottery(seen, Standings.of_snapshot(seen), floor, lambda: lots, is_near=True), floor


def gpus_of(floor: Floor) -> list[int]:
    return [int(gpus) for gpus in floor.gpus]


def test_elastic_jobs_draw_their_least_and_share_what_is_left() -> None:
    drawing, floor = lottery(2, **ELASTIC)
    drawing.hand_out(np.arange(2), LEASE_US)
    assert gpus_of(floor) == [1, 1]
    drawing.widen(rescale_us=0)
    assert sum(gpus_of(floor)) == 8
    assert max(gpus_of(floor)) <= 6


def test_no_part_of_a_worker_is_handed_out() -> None:
    drawing, floor = lottery(1, gpus=3, min_workers=1, max_workers=4, worker_gpus=3)
    drawing.hand_out(np.arange(1), LEASE_US)
    drawing.widen(rescale_us=0)
    assert gpus_of(floor) == [6]


@pytest.mark.parametrize(("rescale_s", "gpus"), [(10, 6), (500, 2)])
def test_running_jobs_widen_only_if_it_pays(rescale_s: int, gpus: int) -> None:
    """From 2 to 6 workers it does in 200 s what took 600 s; it must lose less than 400 s."""
    here = {0: Placement((0,), (2,))}
    drawing, floor = lottery(1, here, held_workers=2, **ELASTIC)
    drawing.widen(rescale_us=rescale_s * SECOND_US)
    assert gpus_of(floor) == [gpus]
    assert floor.place(0).machines[0] == 0


def test_heirs_get_no_more_than_was_left_to_them() -> None:
    drawing, floor = lottery(
        3,
        experiment=[0, 0, 1],
        gpus=[4, 2, 2],
        workers=[4, 2, 2],
        min_workers=[4, 2, 2],
        max_workers=[4, 2, 2],
    )
    drawing.hand_on(np.array([0, 1]), 3, LEASE_US // 2)
    assert gpus_of(floor) == [0, 2, 0]
    assert floor.lease_us[1] == LEASE_US // 2


def test_what_a_job_draws_lies_together() -> None:
    """Two start with a GPU each on one machine; each has one of its own in the end."""
    two = {"gpus": 2, "workers": 2, "min_workers": 1, "max_workers": 4}
    drawing, floor = lottery(2, **two)
    drawing.hand_out(np.arange(2), LEASE_US)
    assert {place.machines for place in floor.places.values()} == {(0,)}
    drawing.widen(rescale_us=0)
    assert sorted(floor.places.values()) == [Placement((0,), (4,)), Placement((1,), (4,))]
    assert floor.lease_us.tolist() == [LEASE_US] * 2
    assert floor.free.tolist() == [0, 0]
