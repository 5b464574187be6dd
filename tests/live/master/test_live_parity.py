"""The master and a driver that only has the engine's ports take the same actions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from fake_driver import drive
from motet.domain.actions import Action
from motet.domain.events import Event
from motet.domain.units import SECOND_US
from motet.engine.policy_loading.catalogue import find_policy, make_policy
from motet.live.journal.recorded_step import actions_text
from motet.live.journal.store import JournalStore
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from motet.placement.planners import CountPlanner
from soak_cases import others_in_soak
from timed_master import TimedRows, play

CLUSTER = ClusterDeclared(("m0", "m1"), (4, 2))
POLICIES: dict[str, tuple[str, dict[str, str]]] = {
    "fifo": ("fifo", {}),
    "best-effort": ("best-effort", {}),
    "tiresias-las": ("tiresias-las", {"thresholds": "4,20"}),
    "gandiva": ("gandiva", {"packing": "false", "quantum_s": "4"}),
    "drf": ("drf", {}),
    "fair": ("fair", {}),
    "yarn-cs": ("yarn-cs", {}),
}
Taken: TypeAlias = list[tuple[int, list[Any]]]
"""Times of steps, and the actions of each."""
jobs = st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 6))


@dataclass
class Actions:
    """A journal of the fake driver, whose jobs count from 0; those of the master count from 1."""

    taken: Taken = field(default_factory=list)

    def received(self, now_us: int, events: Sequence[Event]) -> None:
        """See Journal."""

    def decided(
        self, now_us: int, snapshot: object, decision: object, actions: Sequence[Action]
    ) -> None:
        """See Journal."""
        del snapshot, decision
        shifted = [action._replace(job=action.job + 1) for action in actions]
        self.taken.append((now_us, json.loads(actions_text(shifted))))


def taken_by_the_master(rows: TimedRows, policy: ChoosePolicy) -> Taken:
    with tempfile.TemporaryDirectory() as home, JournalStore(f"{home}/journal.db") as store:
        first = play(store, CLUSTER, rows, policy)
        return [(each.at_us, json.loads(each.actions)) for each in store.records(first)]


def by_time(taken: Taken) -> dict[int, list[Any]]:
    """Actions of each time, by job.

    The fake driver's journal has a start with its decision, the master's once its slots are free.
    """
    found: dict[int, list[Any]] = {}
    for now_us, actions in taken:
        for action in actions:
            found.setdefault(now_us, []).append(action)
    return {now_us: sorted(actions, key=lambda each: each[1]) for now_us, actions in found.items()}


@pytest.mark.parametrize("name", others_in_soak(POLICIES, ["tiresias-las", "gandiva", "drf"]))
@settings(max_examples=examples(10))
@given(drawn=st.lists(jobs, min_size=1, max_size=8).map(sorted))
def test_the_master_takes_the_actions_of_the_other_drivers(name: str, drawn: TimedRows) -> None:
    """The fake driver takes those of the simulator: tests/engine/test_driver_parity.py."""
    policy, parameters = POLICIES[name]
    rows = [(submit * SECOND_US, length * SECOND_US, gpus) for submit, length, gpus in drawn]
    journal = Actions()
    own = make_policy(*find_policy(policy), parameters)
    drive(rows, CLUSTER.spec(), own, CountPlanner(), journal)
    taken = taken_by_the_master(rows, ChoosePolicy(policy, parameters))
    assert by_time(taken) == by_time(journal.taken)
    started = {action[1] for _, actions in taken for action in actions if action[0] == "Start"}
    assert started == set(range(1, len(rows) + 1))
