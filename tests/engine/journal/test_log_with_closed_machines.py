"""The decision log while a machine takes no jobs."""

from __future__ import annotations

from motet.domain.cluster import ClusterSpec
from motet.domain.events import Drained, Event, MachineLeft, Started, Stopped, Submitted, Tick
from motet.domain.snapshot import Queues
from motet.domain.units import FULL_SPEED, SECOND_US
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.policy_loading.catalogue import find_policy, make_policy
from motet.engine.state.cluster_state import ClusterState
from motet.engine.step import Engine
from motet.placement.planners import CountPlanner


def test_a_change_of_the_queue_is_told_by_the_decision_that_makes_it() -> None:
    policy = make_policy(*find_policy("tiresias-las"), {"thresholds": "5"})
    state = ClusterState(ClusterSpec.of((1, 1)), dict(policy.memory_columns), {}, Queues())
    log = DecisionLog()
    engine = Engine(policy, CountPlanner(), state, log)
    engine.step(0, [Drained(1), Submitted(1, {"gpus": 1, "submit_us": 0})])
    engine.step(0, [Started(1, 0, FULL_SPEED, FULL_SPEED)])
    engine.step(10 * SECOND_US, [Tick()])
    assert [(each.time_us, each.event) for each in log] == [
        (0, "start"),
        (10 * SECOND_US, "demote"),
    ]


def test_a_waiting_job_loses_nothing_with_the_machine_on_which_it_ran() -> None:
    policy = make_policy(*find_policy("fifo"), {})
    state = ClusterState(ClusterSpec.of((1, 1)), dict(policy.memory_columns), {}, Queues())
    log = DecisionLog()
    engine = Engine(policy, CountPlanner(), state, log)
    steps: list[list[Event]] = [
        [Submitted(1, {"gpus": 2, "submit_us": 0})],
        [Started(1, 0, FULL_SPEED, FULL_SPEED)],
        [Drained(1)],
        [Stopped(1)],
        [MachineLeft(1)],
    ]
    for second, events in enumerate(steps):
        engine.step(second * SECOND_US, events)
    assert [(each.time_us, each.event) for each in log] == [
        (0, "start"),
        (3 * SECOND_US, "machines_drained"),
    ]
