"""What a decision changes is allocated at once and becomes actions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from decisions import decision, on, state_with
from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.snapshot import Placement
from motet.engine.actions.diff import changes_of
from motet.engine.actions.fitting import Overcommitted
from motet.engine.actions.requests import Requests
from motet.engine.actions.slots import Slots
from motet.engine.state.cluster_state import ClusterState
from motet.engine.state.partners import Partners
from motet.placement.planners import ConsolidatingPlanner

CLUSTER = ClusterSpec.of([4, 4])


class ObservingPlanner(ConsolidatingPlanner):
    """Remembers what it learns of places."""

    learns = True

    def __init__(self) -> None:
        self.observed: list[tuple[Placement, int]] = []

    def observe(self, model: int, placement: Placement, rate: int) -> None:
        self.observed.append((placement, rate))


def carried_out(
    state: ClusterState, asked: Decision, planner: ConsolidatingPlanner | None = None
) -> list[Action]:
    snapshot = state.snapshot()
    partners = Partners(asked, snapshot.jobs)
    changes = changes_of(asked, snapshot, partners, has_elastic=True, has_shared=True)
    requests = Requests(CLUSTER.gpus.tolist())
    for job, place in state.placements.items():
        requests.adopt(job, place, state.sharing.others(job))
    slots = Slots(state, planner or ConsolidatingPlanner(), requests)
    return slots.carry_out(changes, asked, snapshot, partners)


def test_preemptions_come_first_and_are_counted() -> None:
    state = state_with({"gpus": 4}, {"gpus": 8}, cluster=CLUSTER, held={10: on(0, 4)})
    both = Placement((0, 1), (4, 4))
    assert carried_out(state, decision([0, 8], order=[1, 0])) == [
        Preempt(10),
        Start(11, both, 8, 0),
    ]
    assert state.placements == {11: both}
    assert state.table.column("preemptions").tolist() == [1, 0]


def test_a_job_that_moves_is_counted_as_a_migration() -> None:
    state = state_with({"gpus": 2}, cluster=CLUSTER, held={10: on(0, 2)})
    actions = carried_out(state, decision([2], places={0: on(1, 2)}))
    assert actions == [Migrate(10, on(1, 2), 2, 0)]
    assert state.usable_gpus.tolist() == [4, 2]
    assert state.table.column("migrations").tolist() == [1]
    assert state.table.column("rescales").tolist() == [0]


def test_a_job_with_other_workers_is_counted_as_rescaled() -> None:
    elastic = {"gpus": 2, "workers": 2, "min_workers": 1, "max_workers": 4, "worker_gpus": 1}
    state = state_with(elastic, cluster=CLUSTER, held={10: on(0, 2)})
    assert carried_out(state, decision([3])) == [Migrate(10, on(0, 3), 3, 0)]
    assert state.table.column("migrations").tolist() == [0]
    assert state.table.column("rescales").tolist() == [1]


def test_the_engine_knows_how_a_job_trains_since_its_last_start() -> None:
    state = state_with({"gpus": 1}, {"gpus": 1}, cluster=CLUSTER, held={10: on(0, 1)})
    switched = replace(decision([1, 1]), asynchronous=np.array([True, True]))
    carried_out(state, switched)
    state.change_memory({"of_another_policy": 0})
    assert state.snapshot().jobs.is_asynchronous.tolist() == [1, 1]
    carried_out(state, decision([1, 1], places={0: on(1, 1)}))
    assert state.snapshot().jobs.is_asynchronous.tolist() == [0, 1]


@pytest.mark.parametrize("asynchronously", [True, False])
def test_a_job_that_trains_another_way_starts_again_on_its_slots(asynchronously: bool) -> None:
    """The planner would choose machine 0, which has fewer free GPUs."""
    held = {10: on(1, 1), 11: on(0, 1), 12: on(0, 2)}
    state = state_with({"gpus": 1}, {"gpus": 1}, {"gpus": 2}, cluster=CLUSTER, held=held)
    state.jobs.is_asynchronous[:] = not asynchronously
    column = np.array([asynchronously, not asynchronously, asynchronously])
    actions = carried_out(state, replace(decision([1, 1, 0]), asynchronous=column))
    assert actions == [Preempt(12), Migrate(10, on(1, 1), 1, 0, asynchronously)]
    assert state.placements == {10: on(1, 1), 11: on(0, 1)}
    assert carried_out(state, decision([1, 1, 0])) == []  # It says nothing: they go on as they are.


def test_no_job_that_starts_gets_the_slots_of_one_that_trains_another_way() -> None:
    state = state_with({"gpus": 4}, {"gpus": 2}, cluster=CLUSTER, held={11: on(0, 2)})
    asked = decision([4, 2], order=[0, 1])
    actions = carried_out(state, replace(asked, asynchronous=np.array([False, True])))
    assert actions == [Migrate(11, on(0, 2), 2, 0, asynchronous=True), Start(10, on(1, 4), 4, 0)]


def test_all_jobs_that_share_slots_may_train_another_way_at_once() -> None:
    state = state_with({"gpus": 4}, {"gpus": 4}, cluster=CLUSTER, held={10: on(1, 4)})
    together = decision([4, 4], group=np.array([0, 0]))
    carried_out(state, together)
    switched = replace(together, asynchronous=np.array([True, True]))
    moved = [Migrate(job, on(1, 4), 4, 0, asynchronous=True) for job in (10, 11)]
    assert carried_out(state, replace(switched, places={0: on(1, 4), 1: on(1, 4)})) == moved
    assert [*state.sharing.others(10)] == [11]


def test_a_place_of_the_policy_that_is_taken_is_a_problem_of_its_job() -> None:
    state = state_with({"gpus": 4}, {"gpus": 2}, cluster=CLUSTER, held={10: on(0, 4)})
    with pytest.raises(Overcommitted, match="2 GPUs on machine 0, which has 0 free") as raised:
        carried_out(state, decision([4, 2], places={1: on(0, 2)}))
    assert raised.value.problem.row == 1


def test_the_planner_learns_the_speed_of_a_job_on_the_slots_that_it_leaves() -> None:
    planner = ObservingPlanner()
    state = state_with({"gpus": 4}, cluster=CLUSTER, held={10: on(0, 4)})
    state.jobs.rate[0] = 8_000
    carried_out(state, decision([0]), planner)
    assert planner.observed == [(on(0, 4), 8_000)]
