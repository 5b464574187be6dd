"""A decision is replayed with the input that it had, and compared with what was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import NotFound
from motet.domain.units import SECOND_US
from motet.interfaces.forecasts.decision_replay import DecisionQuestion, decided_again
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.live.journal.store import JournalStore
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import Change, ChoosePolicy
from motet.live.master.replay import ReplayedCluster
from timed_master import play

CLUSTER = ClusterDeclared(("m0", "m1"), (4, 2))
NOON_US = 1_700_000_000 * SECOND_US


def at(second: int) -> int:
    return NOON_US + second * SECOND_US


@pytest.fixture
def address(tmp_path: Path) -> str:
    """Job 2 takes the slots of job 1, which has used up its first queue."""
    found = str(tmp_path / "journal.db")
    rows = [(at(0), 100 * SECOND_US, 6), (at(30), 5 * SECOND_US, 6)]
    policy = ChoosePolicy("tiresias-las", {"thresholds": "20"})
    with JournalStore(found) as store:
        play(store, CLUSTER, rows, policy, [(at(200), Change(2, "cancel", "ann"))], at(150))
    return found


def test_every_decision_is_the_same_again(address: str) -> None:
    journal = FollowedJournal(address)
    journal.read()
    history = journal.cluster.state.history
    moments = [each.time_us for each in history.rounds(0, history.round_count)]
    journal.close()
    assert len(moments) > 3
    for moment in moments:
        found = decided_again(FollowedJournal(address), DecisionQuestion(moment))
        assert found["is_same"]
        for step in found["steps"]:
            assert step["then"] == step["again"]


def test_a_replay_shows_input_state_and_actions(address: str) -> None:
    found = decided_again(FollowedJournal(address), DecisionQuestion(at(30)))
    assert [(step["events"], step["then"]) for step in found["steps"]] == [
        (["job 2 submitted"], ["preempt job 1"]),
        (["job 1 has left its slots"], ["start job 2 on m0 (4 slots) and m1 (2 slots)"]),
        (["job 2 runs on its slots"], []),
    ]
    assert (found["policy"], found["settings"]) == ("tiresias-las", {"thresholds": "20"})
    assert (found["slots"], found["held"], found["job_count"]) == (6, 6, 1)
    (job,) = found["jobs"]
    assert (job["id"], job["slots"], job["held"], job["attained_s"]) == ("1", 6, 6, 24)


def test_another_decision_is_noticed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a policy were not deterministic."""
    decided = ReplayedCluster.decided
    monkeypatch.setattr(
        ReplayedCluster, "decided", lambda cluster, record: decided(cluster, record)[:-1]
    )
    monkeypatch.setattr(ReplayedCluster, "replay", decided)
    found = decided_again(FollowedJournal(address), DecisionQuestion(at(30)))
    assert not found["is_same"]
    assert (found["steps"][0]["then"], found["steps"][0]["again"]) == (["preempt job 1"], [])


def test_a_moment_without_a_decision_is_not_found(address: str) -> None:
    with pytest.raises(NotFound, match="no decision of this time"):
        decided_again(FollowedJournal(address), DecisionQuestion(at(1)))
