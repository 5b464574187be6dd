"""Only jobs that shall hold other slots than they do are changed, in the policy's order."""

from __future__ import annotations

from typing import Any

from decisions import decision, on, rows, state_with
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.snapshot import Snapshot
from motet.engine.actions.diff import changes_of
from motet.engine.state.cluster_state import ClusterState
from motet.engine.state.partners import Partners

CLUSTER = ClusterSpec.of([4, 4])
ELASTIC = {"gpus": 2, "workers": 2, "min_workers": 1, "max_workers": 4, "worker_gpus": 1}


def changed(asked: Decision, snapshot: Snapshot) -> list[tuple[int, int, int]]:
    """(number, GPUs held, GPUs wanted)"""
    partners = Partners(asked, snapshot.jobs)
    found = changes_of(asked, snapshot, partners, has_elastic=True, has_shared=True)
    return [(change.number, change.held, change.wanted) for change in found]


def snapshot_of(*jobs: dict[str, int], **others: Any) -> Snapshot:
    return state_with(*jobs, cluster=CLUSTER, **others).snapshot()


def test_jobs_that_go_on_as_they_are_do_not_change() -> None:
    snapshot = snapshot_of({"gpus": 4}, {"gpus": 2}, held={10: on(0, 4)})
    assert changed(decision([4, 0]), snapshot) == []


def test_changes_are_in_the_order_of_the_policy() -> None:
    snapshot = snapshot_of({"gpus": 4}, {"gpus": 2}, {"gpus": 2}, held={10: on(0, 4)})
    asked = decision([0, 2, 2], order=[2, 0, 1])
    assert changed(asked, snapshot) == [(12, 0, 2), (10, 4, 0), (11, 0, 2)]


def test_a_place_of_the_policy_moves_a_job_unless_it_is_there() -> None:
    snapshot = snapshot_of({"gpus": 2}, held={10: on(0, 2)})
    assert changed(decision([2], places={0: on(0, 2)}), snapshot) == []
    assert changed(decision([2], places={0: on(1, 2)}), snapshot) == [(10, 2, 2)]


def test_an_elastic_job_changes_with_its_workers() -> None:
    snapshot = snapshot_of(ELASTIC, held={10: on(0, 2)})
    assert changed(decision([2]), snapshot) == []
    assert changed(decision([3]), snapshot) == [(10, 2, 3)]


def test_the_later_of_two_running_jobs_moves_to_its_new_partner() -> None:
    snapshot = snapshot_of({"gpus": 2}, {"gpus": 2}, held={10: on(0, 2), 11: on(1, 2)})
    asked = decision([2, 2], order=[1, 0], group=rows(7, 7))
    assert changed(asked, snapshot) == [(10, 2, 2)]


def test_the_later_of_two_partners_moves_when_they_part() -> None:
    state = state_with({"gpus": 2}, {"gpus": 2}, cluster=CLUSTER, held={10: on(0, 2)})
    state.started(11, on(0, 2), 2, 0, partner=10)
    assert changed(decision([2, 2]), state.snapshot()) == [(11, 2, 2)]


def shared_by_three() -> ClusterState:
    """Jobs 10, 11 and 12 on the same GPUs, and 13 beside them."""
    jobs = [{"gpus": 2}] * 4
    state = state_with(*jobs, cluster=CLUSTER, held={10: on(0, 2), 13: on(1, 2)})
    state.started(11, on(0, 2), 2, 0, partner=10)
    state.started(12, on(0, 2), 2, 0, partner=11)
    return state


def test_a_group_that_stays_together_does_not_change() -> None:
    snapshot = shared_by_three().snapshot()
    assert changed(decision([2, 2, 2, 2], group=rows(7, 7, 7, -1)), snapshot) == []
    without_11 = decision([2, 0, 2, 2], group=rows(7, -1, 7, -1))
    assert changed(without_11, snapshot) == [(11, 2, 0)]


def test_a_job_that_comes_to_a_group_moves_and_the_group_stays() -> None:
    snapshot = shared_by_three().snapshot()
    assert changed(decision([2, 2, 2, 2], group=rows(7, 7, 7, 7)), snapshot) == [(13, 2, 2)]


def test_of_a_group_that_parts_the_group_with_the_first_job_keeps_the_gpus() -> None:
    snapshot = shared_by_three().snapshot()
    parted = decision([2, 2, 2, 2], order=[3, 2, 1, 0], group=rows(7, 7, 8, 8))
    # 13 is the first of its group, so 12 goes there; 10 and 11 stay.
    assert changed(parted, snapshot) == [(12, 2, 2)]
    alone = decision([2, 2, 2, 0], order=[2, 1, 0, 3])
    assert changed(alone, snapshot) == [(11, 2, 2), (10, 2, 2), (13, 2, 0)]


def test_jobs_in_a_group_keep_the_gpus_before_jobs_alone() -> None:
    snapshot = shared_by_three().snapshot()
    asked = decision([2, 2, 2, 2], group=rows(-1, 5, 5, -1))
    assert changed(asked, snapshot) == [(10, 2, 2)]
