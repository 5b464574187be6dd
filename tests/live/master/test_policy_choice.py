"""The policy in force: asked for at the start or later, and what it needs to know of the jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.errors import BadInput, UnknownName
from motet.domain.units import NEVER_US
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.interfaces.server.stories.explanation import why_waiting
from motet.live.jobs.job_state import JobState
from motet.live.master.intake import Change, ChoosePolicy
from motet.live.master.master import FIRST_POLICY
from motet.live.master.policy_choice import policy_of
from scripted_cluster import SECOND_US, ScriptedCluster

NEED_DURATIONS = {"srtf", "srsf", "tetris", "themis"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def test_these_policies_need_durations() -> None:
    needing = {name for name in built_in_policies() if policy_of(name, {}).needs_durations}
    assert needing == NEED_DURATIONS
    assert not policy_of("tetris", {"short_jobs": "0"}).needs_durations


@pytest.mark.parametrize("name", built_in_policies())
def test_every_policy_runs_jobs_of_a_live_cluster(tmp_path: Path, name: str) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy(name))
    durations = {"duration_s": 60} if name in NEED_DURATIONS else {}
    jobs = [cluster.submit(processes=3, **durations) for _ in range(3)]
    for _ in range(2000):
        if all(cluster.job(job).state.is_final for job in jobs):
            break
        running = sorted(cluster.launcher.running)
        for attempt in running:
            is_stopping = attempt in cluster.launcher.stopping
            state = (None, "stopped") if is_stopping else (0, "exited")
            cluster.handle(cluster.launcher.ended(attempt, *state))
        cluster.handle()
    assert {cluster.job(job).state for job in jobs} == {JobState.SUCCEEDED}
    cluster.close()


def test_a_server_starts_with_the_policy_asked_for_or_not_at_all(cluster: ScriptedCluster) -> None:
    with pytest.raises(UnknownName, match="parameter of tiresias-las 'quantum'"):
        cluster.master.choose_first(ChoosePolicy("tiresias-las", {"quantum": "1"}))
    cluster.submit()
    with pytest.raises(BadInput, match=r"srtf compares jobs .* not known of job 1;"):
        cluster.master.choose_first(ChoosePolicy("srtf"))
    assert cluster.master.state.policy.policy == FIRST_POLICY


def test_without_a_wish_the_policy_in_force_before_stays(cluster: ScriptedCluster) -> None:
    cluster.ask(ChoosePolicy("tiresias-las", {"thresholds": "10"}, "ann"))
    cluster.replay()
    cluster.master.choose_first(None)
    chosen = cluster.master.state.policy
    assert (chosen.policy, chosen.settings) == ("tiresias-las", {"thresholds": "10"})
    assert chosen.user == "ann"


def test_a_job_without_duration_is_refused_while_the_policy_needs_it(
    cluster: ScriptedCluster,
) -> None:
    cluster.ask(ChoosePolicy("srtf"))
    with pytest.raises(BadInput, match="duration_s is missing: the policy in force, srtf,"):
        cluster.submit()
    cluster.submit(duration_s=5)
    cluster.ask(ChoosePolicy("fifo"))
    cluster.submit()


def test_ended_jobs_need_no_duration(cluster: ScriptedCluster) -> None:
    job, other = cluster.submit(), cluster.submit()
    with pytest.raises(BadInput, match="of job 1 and 1 other;"):
        cluster.ask(ChoosePolicy("srtf"))
    cluster.ask(cluster.launcher.ended("1.1"))
    cluster.ask(Change(other, "cancel", "ann"))
    cluster.ask(ChoosePolicy("srtf"))
    assert cluster.job(job).state is JobState.SUCCEEDED


def test_the_least_remaining_time_goes_first(tmp_path: Path) -> None:
    """30 s are left of the first job when the others come, the third needs less than that."""
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("srtf"))
    first = cluster.submit(processes=4, duration_s=60)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.now_us += 29 * SECOND_US
    longer = cluster.submit(processes=4, duration_s=40)
    assert cluster.job(first).state is JobState.RUNNING
    shorter = cluster.submit(processes=4, duration_s=20)
    assert cluster.launcher.stopping == {"1.1"}
    cluster.ask(cluster.launcher.ended("1.1", 0, "stopped"))
    cluster.ask(cluster.launcher.ended(f"{shorter}.1"))
    assert cluster.job(first).state is JobState.STARTING  # About 27 s are left of it.
    assert cluster.job(longer).state is JobState.PENDING
    cluster.close()


def test_service_under_another_policy_counts(cluster: ScriptedCluster) -> None:
    """The first job has run 50 of 60 s under fifo, so srtf leaves it its slots."""
    cluster.submit(processes=4, duration_s=60)
    cluster.ask(cluster.launcher.started("1.1"))
    cluster.submit(processes=4, duration_s=30)
    cluster.now_us += 50 * SECOND_US
    cluster.ask(ChoosePolicy("srtf"))
    assert cluster.launcher.stopping == set()
    cluster.submit(processes=4, duration_s=1)
    assert cluster.launcher.stopping == {"1.1"}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("tiresias-las", {"quantum_s": "5", "thresholds": "40"}),
        ("gandiva", {"quantum_s": "5", "packing": "false"}),
    ],
)
@pytest.mark.parametrize("late_us", [0, 300, 1_300_000])
def test_policies_with_a_quantum_decide_though_the_clock_is_late(
    tmp_path: Path, name: str, settings: dict[str, str], late_us: int
) -> None:
    """They decide only at multiples of the quantum, which no timer meets exactly."""
    cluster = ScriptedCluster(tmp_path, ChoosePolicy(name, settings))
    cluster.now_us += 123_456
    first, second = cluster.submit(processes=4), cluster.submit(processes=4)
    for _ in range(20):
        assert cluster.master.recheck_at_us > cluster.now_us
        if cluster.master.recheck_at_us == NEVER_US:  # No time changes a queue any more.
            break
        cluster.now_us = cluster.master.recheck_at_us + late_us - SECOND_US
        cluster.handle(*[cluster.launcher.started(each) for each in cluster.launcher.running])
        for attempt in sorted(cluster.launcher.stopping):
            cluster.handle(cluster.launcher.ended(attempt, 0, "stopped"))
    assert len(cluster.job(first).attempts) > 1
    assert cluster.job(second).attempts
    cluster.replay()
    cluster.close()


def test_after_an_absence_decisions_of_the_past_are_not_made_up_for(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("tiresias-las", {"quantum_s": "1"}))
    cluster.now_us += 123_456
    job = cluster.submit()
    cluster.now_us += 3600 * SECOND_US
    cluster.handle()
    cluster.handle()
    (attempt,) = cluster.job(job).attempts
    assert cluster.now_us - attempt.requested_us <= 2 * SECOND_US
    cluster.close()


def test_no_job_is_preempted_before_its_time(tmp_path: Path) -> None:
    settings = {"min_runtime": "60"}
    cluster = ScriptedCluster(tmp_path, ChoosePolicy("srtf", settings))
    cluster.submit(processes=4, duration_s=100)
    short = cluster.submit(processes=4, duration_s=5)
    for _ in range(30):
        cluster.handle()
    cluster.ask(cluster.launcher.started("1.1"))
    for _ in range(50):
        cluster.handle()
    assert cluster.launcher.stopping == set()
    assert why_waiting(cluster.master.state, cluster.job(short)) == (
        "MinimumRuntime",
        "needs 4 slots, none was free: no job is preempted before it has run for min_runtime "
        "(place 1 in line); running: job 1 (4 slots), which may be preempted after 1 min",
    )
    cluster.begin()
    for _ in range(12):
        cluster.handle()
    assert cluster.launcher.stopping == {"1.1"}
    assert cluster.job(1).attempts[0].running_us is not None
    assert 60 <= (cluster.now_us - cluster.job(1).attempts[0].running_us) // SECOND_US <= 64
    cluster.ask(cluster.launcher.ended("1.1", 0, "stopped"))
    assert cluster.job(short).state is JobState.STARTING
    with pytest.raises(BadInput, match="min_runtime=x: give seconds"):
        cluster.ask(ChoosePolicy("fifo", {"min_runtime": "x"}))
    cluster.close()


def test_a_restarted_master_continues_under_the_changed_policy(cluster: ScriptedCluster) -> None:
    cluster.submit(processes=4, duration_s=60)
    cluster.submit(processes=4, duration_s=10)
    cluster.ask(ChoosePolicy("srtf", user="ann"))
    assert cluster.launcher.stopping == {"1.1"}
    before = cluster.master.state.policies
    cluster.replay()
    assert cluster.master.state.policies == before
    assert [chosen.policy for _, chosen in before] == ["fifo", "srtf"]
