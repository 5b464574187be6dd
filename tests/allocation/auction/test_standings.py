"""How experiments stand is known for as long as one of their jobs is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from motet.allocation.auction.standings import MEMORY, Standings
from motet.allocation.fill import fill
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot
from motet.domain.units import SECOND_US
from motet.estimate.speed_function import SpeedFunctions, SpeedMode
from motet.placement.planners import CountPlanner
from motet.sim.replay.simulation import Simulation
from motet.sim.speeds.speed_model import SameEverywhere
from motet.sim.workload.workload import Workload
from policy_snapshots import snapshot

SHARE = 2.0


class Watching(Policy):
    """In the order of numbers without preemption; notes the standings."""

    memory_columns: ClassVar[dict[str, int]] = MEMORY
    knows_durations: ClassVar[bool] = True

    def __init__(self) -> None:
        self.noted: list[tuple[float, list[float], list[float], list[float]]] = []

    def decide(self, snapshot: Snapshot) -> Decision:
        standings, jobs = Standings.of_snapshot(snapshot), snapshot.jobs
        if len(jobs):
            ideal_s = standings.ideal_s(SHARE)
            rho = standings.rho_by_share(SHARE, 10.0, ideal_s)
            columns = standings.elapsed_s(), ideal_s, rho
            self.noted.append((snapshot.now_us / SECOND_US, *(each.tolist() for each in columns)))
        filled = fill(np.argsort(jobs.number), jobs.gpus, snapshot.gpu_count, may_overtake=True)
        return Decision(filled.gpus, filled.reasons, memory=standings.memory)


def test_a_search_counts_from_its_first_submission_with_the_work_of_jobs_that_ended() -> None:
    """Two jobs of 100 s and 40 s on 2 GPUs each, and one of 60 s alone, on all 4 GPUs in turn."""
    jobs = Workload.of(
        ["a", "b", "c"],
        [0, 0, 20 * SECOND_US],
        [100 * SECOND_US, 40 * SECOND_US, 60 * SECOND_US],
        [2, 2, 4],
        experiments=["search", "search", ""],
    )
    policy = Watching()
    Simulation(jobs, ClusterSpec.uniform(1, 4), policy, CountPlanner(), SameEverywhere()).run()
    at_0, at_20, at_40, at_100 = policy.noted
    # 280 GPU-seconds on a share of 2; left as much, after 10 s.
    assert at_0 == (0.0, [0.0], [140.0], [150 / 140])
    # 200 GPU-seconds left; the other one needs 120 s on its share, where it could use 4.
    assert at_20 == (20.0, [20.0, 0.0], [140.0, 120.0], [130 / 140, 130 / 120])
    assert at_40 == (40.0, [40.0, 20.0], [140.0, 120.0], [110 / 140, 150 / 120])
    assert at_100 == (100.0, [80.0], [120.0], [pytest.approx(210 / 120)])


def elastic(size: int, **memory: Any) -> Standings:
    """Of one search: each asks for two workers, which need 600 s more, and may have up to six.

    Steps of w workers take 1 / w + 0.1 w seconds, so three are the fastest.
    """
    slower = SpeedFunctions(
        np.full(size, int(SpeedMode.SYNC)), np.tile([1.0, 0.0, 0.0, 0.1, 0.0, 1.0], (size, 1))
    )
    seen = snapshot(
        ClusterSpec.uniform(2, 4),
        size,
        memory={**MEMORY, **memory},
        experiment=0,
        gpus=2,
        workers=2,
        max_workers=6,
        remaining_us=600 * SECOND_US,
    )
    known = replace(seen.wanted_estimates, speed_mode=slower.mode, speed=slower.parameters)
    return Standings.of_snapshot(replace(seen, estimates=known))


def test_an_elastic_job_would_be_as_fast_as_its_share_makes_it() -> None:
    """In steps per second: 1 / 1.1, 1 / 0.7 and 1 / (1 / 3 + 0.3), which is 6 / 3.8."""
    alone, steps = elastic(1), 600 / 0.7
    assert alone.work_of(0, share_gpus=100).most == 3
    assert alone.ideal_s(1).tolist() == pytest.approx([steps * 1.1])
    assert alone.ideal_s(2.5).tolist() == pytest.approx([steps / ((1 / 0.7 + 6 / 3.8) / 2)])
    assert alone.ideal_s(100).tolist() == pytest.approx([steps * 3.8 / 6])
    assert alone.rho_by_share(2, 60, alone.ideal_s(2)).tolist() == pytest.approx([1.1])


@pytest.mark.parametrize(("share_gpus", "most"), [(0.3, 2), (2.9, 2), (3.0, 3), (8.0, 3)])
def test_an_elastic_job_bids_for_no_more_than_its_request_or_share(
    share_gpus: float, most: int
) -> None:
    assert elastic(1).work_of(0, share_gpus).most == most


@pytest.mark.parametrize("share_gpus", [0.5, 1.0, 3.0, 3.5, 50.0])
def test_jobs_that_have_ended_were_like_those_that_are_left(share_gpus: float) -> None:
    whole = {"whole_gpu_us": 2400 * SECOND_US, "whole_gpus": 4, "longest_us": 600 * SECOND_US}
    np.testing.assert_allclose(
        elastic(2).ideal_s(share_gpus), elastic(1, **whole).ideal_s(share_gpus)
    )
