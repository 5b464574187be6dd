"""What a policy sees of machines that take no jobs, and what becomes of the jobs there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision, GroupForecast, Reasons, Straggler
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import NEVER_US
from motet.domain.wait import Wait
from motet.engine.actions.staying_jobs import StayingJobs
from policy_snapshots import snapshot

CLUSTER = ClusterSpec.of([4, 4], cpus=[8, 8], memory_bytes=[100, 100])


def column(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def staying(places: dict[int, Placement], size: int = 3, **columns: Any) -> StayingJobs:
    """Jobs of a cluster whose machine 1 takes none."""
    held = [sum(places[job].counts) if job in places else 0 for job in range(size)]
    seen = snapshot(CLUSTER, size, places=places, held_gpus=held, **columns)
    return StayingJobs.of(seen, column(1))


def decided(*gpus: int, **more: Any) -> Decision:
    code = np.where(column(*gpus) > 0, int(Wait.RUNS), int(Wait.TOO_FEW_GPUS))
    return Decision(column(*gpus), Reasons(code, column(*gpus), np.arange(len(gpus))), **more)


def test_a_policy_sees_the_open_machines_and_the_jobs_that_hold_nothing_else() -> None:
    found = staying(
        {0: Placement((0,), (2,)), 1: Placement((1,), (3,))}, memory={"rank": [7, 8, 9]}
    )
    seen = found.hidden()
    assert found.rows.tolist() == [1]
    assert seen.jobs.number.tolist() == [0, 2]
    assert seen.jobs.held_gpus.tolist() == [2, 0]
    assert seen.memory["rank"].tolist() == [7, 9]
    assert seen.placements == {0: Placement((0,), (2,))}
    assert (seen.gpu_count, seen.cluster.gpus.tolist()) == (4, [4, 0])
    assert (seen.cluster.cpus.tolist(), seen.cluster.memory_bytes.tolist()) == ([8, 0], [100, 0])
    assert not seen.jobs.gpus.flags.writeable
    assert not seen.memory["rank"].flags.writeable


def test_a_job_that_reaches_to_an_open_machine_keeps_its_gpus_there() -> None:
    seen = staying({0: Placement((0, 1), (3, 1))}).hidden()
    assert seen.jobs.number.tolist() == [1, 2]
    assert (seen.gpu_count, seen.cluster.gpus.tolist()) == (1, [1, 0])


def test_jobs_that_share_gpus_hold_them_once() -> None:
    place = Placement((0, 1), (1, 1))
    found = staying({0: place, 1: place}, partner=[1, 0, UNKNOWN], sharers=[2, 2, 1])
    assert found.hidden().cluster.gpus.tolist() == [3, 0]
    group = found.joined(decided(1), found.hidden().jobs).group
    assert group is not None
    assert group[0] == group[1] != UNKNOWN
    assert group[2] == UNKNOWN


def test_groups_of_the_policy_and_of_jobs_that_stay_are_different_ones() -> None:
    place = Placement((1,), (1,))
    columns = {"partner": [UNKNOWN, 3, UNKNOWN, 1], "sharers": [1, 2, 1, 2]}
    found = staying({1: place, 3: place}, 4, **columns)
    joined = found.joined(decided(1, 1, group=column(5, 5)), found.hidden().jobs)
    assert joined.group is not None
    first, other, second, partner = joined.group.tolist()
    assert first == second != other == partner


def test_without_closed_machines_the_policy_sees_everything() -> None:
    whole = snapshot(CLUSTER, 2)
    found = StayingJobs.of(whole, column())
    assert found.hidden() is whole
    decision = decided(1, 0)
    assert found.joined(decision, whole.jobs) is decision


def test_jobs_that_stay_keep_their_gpus_and_come_last() -> None:
    places = {0: Placement((0,), (2,)), 1: Placement((1,), (3,))}
    found = staying(places, memory={"rank": [7, 8, 9]}, is_asynchronous=[0, 1, 0])
    joined = found.joined(
        decided(
            0,
            4,
            places={1: Placement((0,), (4,))},
            memory={"rank": column(1, 2)},
            exclude={1: Straggler(1, 2.0)},
            share=column(50, 50),
            spill=np.array([0.0, 0.5]),
            asynchronous=np.array([False, True]),
            forecasts={1: GroupForecast(1.0, 2.0, 0.5, 0.5, 2)},
        ),
        found.hidden().jobs,
    )
    assert joined.gpus.tolist() == [0, 3, 4]
    assert joined.reasons.code.tolist() == [Wait.TOO_FEW_GPUS, Wait.RUNS, Wait.RUNS]
    assert joined.reasons.position.tolist() == [0, 2, 1]
    assert joined.places == {2: Placement((0,), (4,))}
    assert joined.exclude == {2: Straggler(1, 2.0)}
    assert joined.memory["rank"].tolist() == [1, 8, 2]
    assert joined.share is not None
    assert joined.share.tolist() == [50, 100, 50]
    assert (joined.workers, joined.group) == (None, None)
    assert joined.spill is not None
    assert joined.spill.tolist() == [0.0, 0.0, 0.5]
    assert joined.asynchronous is not None
    assert joined.asynchronous.tolist() == [False, True, True]
    assert [*joined.forecasts] == [2]


def test_measures_bars_and_times_stay_with_their_jobs() -> None:
    found = staying({0: Placement((1,), (1,))})
    reasons = Reasons(column(1, 1), column(0, 0), column(0, 1), np.array([0.5, 2.5]), 1.5)
    reasons = replace(reasons, until_us=column(7, 8))
    joined = found.joined(Decision(column(0, 0), reasons), found.hidden().jobs).reasons
    assert joined.measure is not None
    np.testing.assert_array_equal(joined.measure, [np.nan, 0.5, 2.5])
    assert joined.bar == 1.5
    assert joined.until_us is not None
    assert joined.until_us.tolist() == [NEVER_US, 7, 8]


def test_an_elastic_job_stays_with_its_workers_and_servers() -> None:
    """The policy names none, so an elastic job that starts gets the servers that it requests."""
    found = staying(
        {0: Placement((1,), (3,))},
        2,
        gpus=[5, 5],
        workers=[4, 4],
        servers=1,
        min_workers=1,
        max_workers=4,
        min_servers=1,
        max_servers=2,
        server_gpus=1,
        held_workers=[1, 0],
        held_servers=[2, 0],
    )
    joined = found.joined(decided(4), found.hidden().jobs)
    assert joined.workers is not None
    assert joined.servers is not None
    assert (joined.workers.tolist(), joined.servers.tolist()) == ([1, 3], [2, 1])
