"""Stored predictions and their coverage."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from motet.domain.units import SECOND_US
from motet.interfaces.forecasts.expected_starts import ExpectedStart
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.follower import follow, predict_starts
from motet.interfaces.forecasts.prediction_store import Coverage, PredictionStore
from motet.live.master.intake import Change, ChoosePolicy
from scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def span(cluster: ScriptedCluster, low_s: float, high_s: float) -> ExpectedStart:
    low_us, high_us = (round(cluster.now_us + at * SECOND_US) for at in (low_s, high_s))
    return ExpectedStart(low_us, (low_us + high_us) // 2, high_us)


def test_starts_are_compared_with_the_first_prediction_of_their_wait(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    store, jobs = PredictionStore(tmp_path), cluster.master.state.jobs
    holder = cluster.submit(processes=4)
    for _ in range(3):
        cluster.submit(processes=4)
    first, second = span(cluster, 0, 20), span(cluster, 100, 130)
    store.add(jobs, {2: first, 3: second, 4: span(cluster, 0, 1000)}, cluster.now_us, "fifo")
    store.add(jobs, {2: span(cluster, 500, 600)}, cluster.now_us, "fifo")
    assert store.coverage(cluster.now_us) == Coverage(3, 0, 0, None)
    cluster.ask(cluster.launcher.ended(f"{holder}.1"))
    cluster.ask(cluster.launcher.ended("2.1"))
    cluster.ask(Change(4, "cancel", "ann"))
    store.settle(jobs, cluster.now_us)
    assert store.coverage(cluster.now_us) == Coverage(2, 2, 1, 25.0)
    store.close()
    assert PredictionStore(tmp_path).coverage(cluster.now_us).document()["share"] == 0.5


def test_predictions_of_waits_before_a_restore_are_forgotten(tmp_path: Path) -> None:
    """Jobs 3 and 4 were submitted after the backup, and the number 3 was given again."""
    before, restored = ScriptedCluster(tmp_path / "before"), ScriptedCluster(tmp_path / "restored")
    for cluster in (before, restored):
        cluster.submit(processes=4)
        cluster.submit(processes=4)
    for _ in range(2):
        before.submit(processes=4)
    waits = {job: span(before, 0, 100) for job in (2, 3, 4)}
    with closing(PredictionStore(tmp_path)) as store:
        store.add(before.master.state.jobs, waits, before.now_us, "fifo")
        restored.now_us = before.now_us + 50 * SECOND_US
        restored.submit(processes=4)
    follow(
        str(tmp_path / "restored" / "journal.db"),
        tmp_path,
        io.StringIO(json.dumps({"now_us": restored.now_us}) + "\n"),
        answers := io.StringIO(),
    )
    answer = json.loads(answers.getvalue())
    assert answer["failed"] == ""
    assert answer["starts"].keys() == {"2", "3"}
    assert answer["coverage"]["waits"] == 2
    for cluster in (before, restored):
        cluster.close()


def test_a_job_that_still_waits_after_its_range_was_not_within_it(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    store, jobs = PredictionStore(tmp_path), cluster.master.state.jobs
    cluster.submit(processes=4)
    cluster.submit(processes=4)
    unknown = ExpectedStart(None, None, None, "nothing is known")
    store.add(jobs, {2: span(cluster, 0, 10), 1: unknown}, cluster.now_us, "fifo")
    assert store.coverage(cluster.now_us + 9 * SECOND_US) == Coverage(2, 0, 0, None)
    assert store.coverage(cluster.now_us + 13 * SECOND_US) == Coverage(2, 1, 0, 10.0)


@pytest.mark.parametrize("action", ["cancel", "suspend"])
def test_a_wait_that_has_missed_its_range_counts_also_if_it_ends_without_a_start(
    cluster: ScriptedCluster, tmp_path: Path, action: Any
) -> None:
    store, jobs = PredictionStore(tmp_path), cluster.master.state.jobs
    cluster.submit(processes=4)
    for _ in range(2):
        cluster.submit(processes=4)
    store.add(jobs, {2: span(cluster, 0, 5), 3: span(cluster, 0, 500)}, cluster.now_us, "fifo")
    cluster.now_us += 10 * SECOND_US
    store.settle(jobs, cluster.now_us)
    for job in (2, 3):
        cluster.ask(Change(job, action, "ann"))
    store.settle(jobs, cluster.now_us)
    assert store.coverage(cluster.now_us) == Coverage(1, 1, 0, 5.0)


def test_a_wait_that_is_cancelled_after_its_range_has_missed_it(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    """No round was between the end of the range and that of the wait."""
    store, jobs = PredictionStore(tmp_path), cluster.master.state.jobs
    cluster.submit(processes=4)
    cluster.submit(processes=4)
    store.add(jobs, {2: span(cluster, 0, 5)}, cluster.now_us, "fifo")
    cluster.now_us += 10 * SECOND_US
    cluster.ask(Change(2, "cancel", "ann"))
    store.settle(jobs, cluster.now_us)
    assert store.coverage(cluster.now_us) == Coverage(1, 1, 0, 5.0)


def fifo_while(folder: Path, holds: str) -> Path:
    """The file of a policy that fails where this claim about `snapshot` does not hold."""
    own = folder / "own.py"
    own.write_text(
        "from dataclasses import dataclass\n"
        "from motet.policies.fifo import Fifo\n"
        "@dataclass(frozen=True)\n"
        "class Own(Fifo):\n"
        "    def decide(self, snapshot):\n"
        f"        assert {holds}\n"
        "        return super().decide(snapshot)\n"
        "POLICIES = {'own': Own}\n"
    )
    return own


def test_a_simulation_that_fails_ends_its_round_alone(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    """The policy fails only in the future: the live cluster does not come there."""
    own = fifo_while(tmp_path, f"snapshot.now_us < {cluster.now_us + 30 * SECOND_US}")
    cluster.ask(ChoosePolicy(str(own)))
    cluster.submit(processes=4, duration_s=100)
    waits = cluster.submit(processes=4, duration_s=100)
    assert not cluster.master.state.policy_failure
    store, journal = PredictionStore(tmp_path), FollowedJournal(str(tmp_path / "journal.db"))
    found = predict_starts(journal, store, cluster.now_us)
    assert "own.py" in found["failed"]
    assert (found["starts"], found["coverage"]["waits"]) == ({}, 0)
    cluster.ask(ChoosePolicy("fifo"))
    found = predict_starts(journal, store, cluster.now_us)
    assert (found["failed"], [*found["starts"]]) == ("", [str(waits)])


def test_a_round_predicts_waiting_jobs_and_settles_those_that_have_started(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    store, journal = PredictionStore(tmp_path), FollowedJournal(str(tmp_path / "journal.db"))
    cluster.submit(processes=4, duration_s=100)
    cluster.submit(processes=4, duration_s=100)
    paused = cluster.submit(processes=1)
    cluster.ask(Change(paused, "suspend", "ann"))
    found = predict_starts(journal, store, cluster.now_us)
    assert set(found["starts"]) == {"2"}
    low_s, high_s = (found["starts"]["2"][name] for name in ("low_s", "high_s"))
    assert 50 - 3 <= low_s < 100 - 3 < high_s <= 200 - 3
    cluster.now_us += 96 * SECOND_US
    cluster.ask(cluster.launcher.ended("1.1"))
    found = predict_starts(journal, store, cluster.now_us)
    assert found["starts"] == {}
    assert found["coverage"] == {
        "waits": 1,
        "known": 1,
        "inside": 1,
        "share": 1.0,
        "median_width_s": pytest.approx(high_s - low_s),
    }


def test_nothing_is_predicted_while_the_policy_has_failed(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    own = fifo_while(tmp_path, "not (snapshot.jobs.priority > 0).any()")
    cluster.ask(ChoosePolicy(str(own)))
    cluster.submit(processes=4, duration_s=100)
    cluster.submit(processes=4, duration_s=100, priority=1)
    assert cluster.master.state.policy_failure
    store, journal = PredictionStore(tmp_path), FollowedJournal(str(tmp_path / "journal.db"))
    found = predict_starts(journal, store, cluster.now_us)
    assert (found["starts"], found["ends"]) == ({}, {})
