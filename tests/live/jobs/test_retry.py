"""Failed attempts: what is run again, what is not, and what uses up no retry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.interfaces.server.stories.explanation import why_waiting
from motet.live.jobs.job_state import JobState
from motet.live.jobs.retry import LONG_US, MOST_NETWORK_FAILURES
from motet.live.master.intake import ChoosePolicy
from scripted_cluster import SECOND_US, ScriptedCluster

IMPORT = "ModuleNotFoundError: No module named 'torch'"
NETWORK = "ConnectionRefusedError: [Errno 111] Connection refused"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def fail(cluster: ScriptedCluster, job: int, log: str, code: int = 1) -> None:
    """The present attempt ends by itself."""
    attempt = f"{job}.{len(cluster.job(job).attempts)}"
    cluster.ask(cluster.launcher.ended(attempt, code, log_tail=log))


def test_what_cannot_pass_is_not_run_again(cluster: ScriptedCluster) -> None:
    job = cluster.submit(retry={"max_attempts": 5})
    fail(cluster, job, IMPORT)
    found = cluster.job(job)
    assert found.state is JobState.FAILED
    assert found.reason == (
        f"the process exited with status 1: {IMPORT}; "
        "not run again: a failed import would be met again"
    )
    assert found.attempts[-1].failure == "import_error"


def test_another_failure_is_run_again_as_often_as_the_user_wants(cluster: ScriptedCluster) -> None:
    job = cluster.submit(retry={"max_attempts": 2})
    fail(cluster, job, "ValueError: bad luck")
    assert not cluster.job(job).state.is_final
    cluster.until_started(job)
    fail(cluster, job, "ValueError: bad luck")
    assert cluster.job(job).state is JobState.FAILED
    assert cluster.job(job).reason == "the process exited with status 1: ValueError: bad luck"


def test_only_listed_exit_codes_are_run_again(cluster: ScriptedCluster) -> None:
    retry = {"max_attempts": 3, "on_exit_codes": [3, 75]}
    job = cluster.submit(retry=retry)
    fail(cluster, job, IMPORT, 75)
    assert not cluster.job(job).state.is_final
    cluster.until_started(job)
    fail(cluster, job, "ValueError: bad luck", 1)
    assert cluster.job(job).state is JobState.FAILED
    assert cluster.job(job).reason.endswith("not run again: retry.on_exit_codes does not list it")
    other = cluster.submit(retry={**retry, "max_attempts": 1})
    fail(cluster, other, "", 3)
    assert cluster.job(other).state is JobState.FAILED
    assert "not run again" not in cluster.job(other).reason


def test_network_failures_use_up_no_retry_but_have_a_limit(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    for _ in range(MOST_NETWORK_FAILURES):
        fail(cluster, job, NETWORK)
        assert not cluster.job(job).state.is_final
        cluster.until_started(job)
    fail(cluster, job, NETWORK)
    assert cluster.job(job).state is JobState.FAILED
    assert [each.failure for each in cluster.job(job).attempts] == ["network"] * 4


def test_classes_survive_a_restart_of_the_master(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    fail(cluster, job, NETWORK)
    before = cluster.job(job)
    cluster.replay()
    assert cluster.job(job) == before


def test_failures_in_a_row_are_run_again_later_and_later_in_the_same_place(
    cluster: ScriptedCluster,
) -> None:
    job, other = cluster.submit(processes=4), cluster.submit(processes=4)
    waits = []
    for number in range(1, 9):
        cluster.ask(cluster.launcher.ended(f"{job}.{number}", None, "lost"))
        began_us = cluster.now_us
        cluster.until_started(job)
        waits.append((cluster.now_us - began_us) // SECOND_US)
    assert waits == [0, 2, 4, 8, 16, 32, 60, 60]
    assert cluster.job(other).state is JobState.PENDING
    cluster.replay()
    cluster.ask(cluster.launcher.ended(f"{job}.9"))
    assert cluster.job(job).state is JobState.SUCCEEDED


def test_an_attempt_that_ran_for_long_begins_a_new_row(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    for number in (1, 2):
        cluster.ask(cluster.launcher.ended(f"{job}.{number}", None, "lost"))
        cluster.until_started(job)
    cluster.now_us += LONG_US
    cluster.ask(cluster.launcher.ended(f"{job}.3", None, "lost"))
    assert cluster.job(job).state is JobState.STARTING


def test_the_delay_is_the_reason_of_the_wait(cluster: ScriptedCluster) -> None:
    job = cluster.submit()
    for number in (1, 2):
        cluster.ask(cluster.launcher.ended(f"{job}.{number}", None, "lost"))
    reason, sentence = why_waiting(cluster.master.state, cluster.job(job))
    assert reason == "RestartDelayed"
    assert sentence == (
        "it runs again after a delay, because its last attempts failed: within 2 s; "
        "its slots stay free for it"
    )


def test_the_delay_is_told_where_the_policy_decides_earlier(tmp_path: Path) -> None:
    policy = ChoosePolicy("tiresias-las", {"quantum_s": "1"})
    cluster = ScriptedCluster(tmp_path, policy)
    other, job = cluster.submit(), cluster.submit()
    assert cluster.job(other).attempt is not None
    for number in (1, 2, 3):
        cluster.ask(cluster.launcher.ended(f"{job}.{number}", None, "lost"))
        if number < 3:
            cluster.until_started(job)
    _, sentence = why_waiting(cluster.master.state, cluster.job(job))
    assert ": within 4 s;" in sentence
    cluster.close()
