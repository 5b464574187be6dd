"""Actions and decisions come back from a record as they were."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.decision import Straggler
from motet.domain.log_entry import LogEntry, OtherJobs, Team
from motet.domain.snapshot import Placement
from motet.engine.effects import DecisionEffects, DeclaredPolicy
from motet.live.journal.recorded_step import (
    RecordedDecision,
    actions_of,
    actions_text,
    decision_of,
    decision_text,
)

PLACE = Placement((0, 3), (2, 1))
ACTIONS: list[Action] = [
    Preempt(7),
    Start(8, PLACE, 2, 1),
    Migrate(9, PLACE, 3, 0),
    Start(10, PLACE, 3, 0, asynchronous=True),
]
ENTRIES = [
    LogEntry(5, 7, "preempt", 3, placement=PLACE, others=OtherJobs(((8, 3),), 1), queue=2),
    LogEntry(5, 8, "start", 3, left=Straggler(1, 2.5), team=Team(2, 1, 3)),
    LogEntry(5, 9, "resize", 3, team_before=Team(1, 1, 2), exchange=OtherJobs(((1, 1), (2, 2)), 9)),
    LogEntry(5, 4, "InsufficientGpus", 2, free_gpus=1, position=3, measure=0.1, bar=float("inf")),
]
jobs = st.lists(st.integers(1, 60), min_size=1, unique=True).map(sorted)
changes = st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), jobs), max_size=3)


def test_actions_come_back() -> None:
    found = actions_of(actions_text(ACTIONS))
    assert [(type(each), each) for each in found] == [(type(each), each) for each in ACTIONS]


def test_actions_are_written_as_before_where_a_policy_switches_no_job() -> None:
    assert actions_text(ACTIONS[1:2]) == '[["Start",8,[[0,3],[2,1]],2,1]]'
    assert actions_text(ACTIONS[3:]) == '[["Start",10,[[0,3],[2,1]],3,0,true]]'


def test_actions_of_journals_from_before_switch_no_job() -> None:
    text = '[["Start",8,[[0,3],[2,1]],2,1],["Migrate",9,[[0,3],[2,1]],3,0]]'
    assert actions_of(text) == [Start(8, PLACE, 2, 1), Migrate(9, PLACE, 3, 0)]


def test_a_step_without_a_decision_is_null() -> None:
    assert decision_text(RecordedDecision(None, ()), []) == "null"
    assert decision_of("null", 5, []) == RecordedDecision(None, ())


@settings(max_examples=examples(100))
@given(memory=changes, waits=st.booleans(), declares=st.booleans())
def test_a_decision_comes_back(
    memory: list[tuple[int, list[int]]], waits: bool, declares: bool
) -> None:
    effects = DecisionEffects(
        tuple(ACTIONS[:2] if waits else ACTIONS),
        {8: (1, 2)},
        {"level": memory} if memory else {},
        {4: 1} if waits else {},
        99,
        DeclaredPolicy({"level": 0}, wants_estimates=True, wants_machine_speeds=False)
        if declares
        else None,
    )
    given = RecordedDecision(effects, ENTRIES)
    text = decision_text(given, ACTIONS)
    assert repr(decision_of(text, 5, ACTIONS)) == repr(given)
