"""A policy of a user's own that fails: the master lives, and jobs keep the slots that they have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.errors import MotetError
from motet.insight.cluster_wait import ClusterWait
from motet.interfaces.server.policy_routes import policy_document
from motet.interfaces.server.stories.explanation import why_waiting
from motet.live.jobs.job_state import JobState
from motet.live.master.intake import Change, ChoosePolicy
from scripted_cluster import SECOND_US, ScriptedCluster

FIFO = """
from dataclasses import dataclass, replace
import numpy as np
from motet.domain.policy import Policy
from motet.domain.snapshot import Placement
from motet.policies.fifo import Fifo

@dataclass(frozen=True)
class Own(Policy):
    def decide(self, snapshot):
        decision, jobs = Fifo().decide(snapshot), snapshot.jobs
        {fault}
        return decision

POLICIES = {{"own": Own}}
"""
ALL_THREE_TIMES = "decision = replace(decision, gpus=decision.gpus * 3)"
RAISES = "assert not (jobs.priority > 0).any(), 'never so many'"
"""Jobs with a priority are not among those that a policy is tried on."""
SAME_PLACE = (
    "decision = replace(decision, places={row: Placement((0,), (1,)) for row in range(len(jobs)) "
    "if decision.gpus[row] and jobs.priority[row]})"
)
RIGHT = "pass"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "own.py"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def write(file: Path, fault: str) -> ChoosePolicy:
    file.write_text(FIFO.format(fault=fault))
    return ChoosePolicy(str(file), {}, "ann")


def begin_again(cluster: ScriptedCluster) -> None:
    """A new master on the journal, started without a policy."""
    cluster.replay()
    cluster.master.choose_first(None)


def test_a_policy_that_overallocates_leaves_the_master_and_all_jobs_as_they_are(
    cluster: ScriptedCluster, file: Path
) -> None:
    running = cluster.submit(processes=2)
    cluster.ask(cluster.launcher.started("1.1"))
    write(file, ALL_THREE_TIMES.replace("* 3", "* np.where(len(jobs) > 1, 3, 1)"))
    cluster.ask(ChoosePolicy(str(file), {}, "ann"))
    waits = cluster.submit()
    assert cluster.job(running).state is JobState.RUNNING
    assert cluster.launcher.stopping == set()
    assert cluster.job(waits).state is JobState.PENDING
    failure = cluster.master.state.policy_failure
    assert failure.startswith(f"{file}:10 in decide: at 1700000005 s: 9 GPUs allocated of 4")
    name, sentence = why_waiting(cluster.master.state, cluster.job(waits))
    assert name == ClusterWait.POLICY_FAILED.value.name
    assert sentence == (
        f"the policy failed: {failure}; jobs run on, but no further one starts until you choose "
        "another with motet policy set"
    )
    assert policy_document(cluster.master.state)["failure"] == failure


@pytest.mark.parametrize("fault", [RAISES, SAME_PLACE])
def test_errors_of_any_kind_in_a_decision_change_nothing(
    cluster: ScriptedCluster, file: Path, fault: str
) -> None:
    cluster.ask(write(file, fault))
    jobs = [cluster.submit(priority=number) for number in range(4)]
    assert cluster.master.state.policy_failure
    cluster.ask(cluster.launcher.started("1.1"))
    states = [cluster.job(job).state for job in jobs]
    assert states[0] is JobState.RUNNING
    assert JobState.PENDING in states
    cluster.ask(ChoosePolicy("fifo"))
    assert JobState.PENDING not in {cluster.job(job).state for job in jobs}


def test_a_cancelled_job_stops_and_an_ended_one_ends_without_a_policy(
    cluster: ScriptedCluster, file: Path
) -> None:
    jobs = [cluster.submit(), cluster.submit()]
    cluster.ask(write(file, "assert len(jobs) == 2"))
    cluster.ask(Change(jobs[0], "cancel", "ann"))
    assert cluster.master.state.policy_failure
    assert cluster.launcher.stopping == {"1.1"}
    cluster.ask(cluster.launcher.ended("1.1", None, "stopped"))
    cluster.ask(cluster.launcher.ended("2.1"))
    assert [cluster.job(job).state for job in jobs] == [JobState.CANCELLED, JobState.SUCCEEDED]


def test_a_failed_policy_is_not_asked_again_also_after_a_restart(
    cluster: ScriptedCluster, file: Path
) -> None:
    cluster.ask(write(file, RAISES))
    cluster.submit()
    cluster.submit(priority=1)
    failure = cluster.master.state.policy_failure
    assert "never so many" in failure
    write(file, RAISES.replace("never so many", "asked again"))
    for _ in range(2):
        begin_again(cluster)
        assert cluster.master.state.policy_failure == failure
        assert cluster.master.recheck_at_us > cluster.now_us + 1000 * SECOND_US
        cluster.submit()
        assert cluster.master.state.policy_failure == failure


def test_another_policy_mends_it(cluster: ScriptedCluster, file: Path) -> None:
    cluster.ask(write(file, RAISES))
    jobs = [cluster.submit(), cluster.submit(priority=1)]
    with pytest.raises(MotetError, match="never so many"):
        cluster.ask(ChoosePolicy(str(file), {}, "ann"))
    cluster.ask(ChoosePolicy("fifo", {}, "ann"))
    assert not cluster.master.state.policy_failure
    assert {cluster.job(job).state for job in jobs} == {JobState.STARTING}
    begin_again(cluster)
    assert not cluster.master.state.policy_failure


def test_the_same_file_mends_it_when_it_is_right(cluster: ScriptedCluster, file: Path) -> None:
    cluster.ask(write(file, RAISES))
    jobs = [cluster.submit(), cluster.submit(priority=1)]
    cluster.ask(write(file, RIGHT))
    assert not cluster.master.state.policy_failure
    assert {cluster.job(job).state for job in jobs} == {JobState.STARTING}


def test_a_server_that_is_started_with_the_failed_policy_lives(
    cluster: ScriptedCluster, file: Path
) -> None:
    wanted = write(file, RAISES)
    cluster.ask(wanted)
    cluster.submit()
    cluster.submit(priority=1)
    cluster.replay()
    cluster.master.choose_first(ChoosePolicy(wanted.policy))
    assert cluster.master.state.policy_failure
    write(file, RIGHT)
    cluster.master.choose_first(ChoosePolicy(wanted.policy))
    assert not cluster.master.state.policy_failure


def test_the_policy_is_shown_although_its_file_is_gone(
    cluster: ScriptedCluster, file: Path
) -> None:
    cluster.ask(write(file, RAISES))
    cluster.submit()
    cluster.submit(priority=1)
    file.unlink()
    document = policy_document(cluster.master.state)
    assert document["policy"] == str(file)
    assert document["failure"]


def test_a_policy_is_tried_on_invented_jobs_where_there_are_none(
    cluster: ScriptedCluster, file: Path
) -> None:
    wrong = write(file, ALL_THREE_TIMES)
    with pytest.raises(MotetError, match=r"job 1: 3 of its 1 GPUs allocated; a rigid job gets all"):
        cluster.ask(wrong)
    assert cluster.master.state.policy.policy == "fifo"
    assert not cluster.master.state.policy_failure
