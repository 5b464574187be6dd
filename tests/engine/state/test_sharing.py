"""Sets of jobs on the same GPUs, and what their columns say."""

from __future__ import annotations

from decisions import on, state_with
from motet.domain.cluster import ClusterSpec
from motet.engine.state.cluster_state import ClusterState
from motet.engine.state.sharing import SHARED_SET

CLUSTER = ClusterSpec.of([4, 4])


def three_together() -> ClusterState:
    """10, 11 and 12 on the same 2 GPUs of the first machine."""
    state = state_with(*[{"gpus": 2}] * 3, cluster=CLUSTER, held={11: on(0, 2)})
    state.started(12, on(0, 2), 2, 0, partner=11)
    state.started(10, on(0, 2), 2, 0, partner=12)
    return state


def company(state: ClusterState) -> list[tuple[int, int, int]]:
    """(number, partner, sharers)"""
    jobs = state.jobs
    return list(
        zip(jobs.number.tolist(), jobs.partner.tolist(), jobs.sharers.tolist(), strict=True)
    )


def test_every_job_of_a_set_names_the_lowest_other_one() -> None:
    state = three_together()
    assert company(state) == [(10, 11, 3), (11, 10, 3), (12, 10, 3)]
    assert state.sharing.others(11) == [10, 12]
    assert state.usable_gpus.tolist() == [2, 4]


def test_the_gpus_are_free_when_the_last_job_has_left() -> None:
    state = three_together()
    state.vacated(10)
    assert company(state) == [(10, -1, 1), (11, 12, 2), (12, 11, 2)]
    state.finished(12)
    assert company(state) == [(10, -1, 1), (11, -1, 1)]
    assert state.usable_gpus.tolist() == [2, 4]
    state.vacated(11)
    assert state.usable_gpus.tolist() == [4, 4]


def test_a_set_has_another_number_after_every_change() -> None:
    state = three_together()
    names = [state.table.column(SHARED_SET).tolist()]
    state.vacated(10)
    names.append(state.table.column(SHARED_SET).tolist())
    state.started(10, on(0, 2), 2, 0, partner=11)
    names.append(state.table.column(SHARED_SET).tolist())
    assert len({name for row in names for name in row if name != -1}) == 3
    assert names[1][0] == -1
    assert all(len(set(row) - {-1}) == 1 for row in names)


def test_a_restored_state_has_the_same_sets() -> None:
    state = three_together()
    restored = state_with(cluster=CLUSTER)
    restored.restore(state.capture())
    assert company(restored) == company(state)
    assert restored.sharing.others(12) == [10, 11]
    assert restored.usable_gpus.tolist() == [2, 4]
    for number in (10, 11, 12):
        restored.vacated(number)
    assert restored.usable_gpus.tolist() == [4, 4]
