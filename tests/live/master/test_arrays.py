"""Arrays of jobs: one submission, one experiment, one change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from motet.domain.errors import BadInput, NotFound
from motet.interfaces.server.job_rows import ChosenJobs, jobs_document
from motet.interfaces.server.views import array_page, job_line
from motet.live.jobs.array_file import array_spec
from motet.live.jobs.job_state import JobState
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import Change
from motet.live.master.job_updates import UpdateJob
from motet.live.master.submissions.repeated_request import KeyReused
from motet.live.master.submissions.submission import SubmitArray
from scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def _submit(cluster: ScriptedCluster, key: str = "", **values: Any) -> int:
    spec = array_spec({"name": "sweep", "run": "true", "workdir": "/", **values})
    number: int = cluster.ask(SubmitArray(spec, "ann", key))
    return number


def _states(cluster: ScriptedCluster, array: int) -> list[JobState]:
    return [job.state for job in cluster.master.state.arrays[array].jobs]


def test_an_array_is_one_submission_of_many_jobs(cluster: ScriptedCluster) -> None:
    array = _submit(cluster, array="3-6", key="k")
    assert _submit(cluster, array="3-6", key="k") == array == 1
    for other in ({"array": "3-7"}, {"array": "3-6%2"}, {"array": "3-6", "queue": "other"}):
        with pytest.raises(KeyReused, match="the key 'k' belongs to array 1"):
            _submit(cluster, **other, key="k")
    with pytest.raises(KeyReused, match="the key 'k' belongs to array 1"):
        cluster.submit(key="k")
    jobs = cluster.master.state.arrays[array].jobs
    assert [job.number for job in jobs] == [2, 3, 4, 5]
    assert cluster.submit() == 6
    (rank,) = cluster.launcher.running["3.1"].ranks
    names = ("MOTET_ARRAY_ID", "MOTET_ARRAY_INDEX", "MOTET_ARRAY_COUNT", "MOTET_JOB_ID")
    assert [rank.env[name] for name in names] == ["1", "4", "4", "3"]


def test_the_limit_holds_over_restarts(cluster: ScriptedCluster) -> None:
    array = _submit(cluster, array="0-3%2")
    assert _states(cluster, array) == ["STARTING", "STARTING", "PENDING", "PENDING"]
    last = job_line(cluster.master.state, cluster.job(5))
    assert (last["reason"], last["message"]) == (
        "ArrayLimit",
        "waits until fewer than 2 jobs of its array are open",
    )
    cluster.begin()
    cluster.ask(cluster.launcher.ended("2.1"))
    assert _states(cluster, array) == ["SUCCEEDED", "STARTING", "STARTING", "PENDING"]
    cluster.begin()
    cluster.ask(Change(4, "suspend", "ann"))
    assert _states(cluster, array)[3] is JobState.PENDING
    cluster.ask(Change(3, "cancel", "ann"))
    cluster.ask(cluster.launcher.ended("3.1", None, "stopped"))
    assert _states(cluster, array)[3] is JobState.STARTING


def test_jobs_of_an_array_have_its_place_in_line(cluster: ScriptedCluster) -> None:
    _submit(cluster, array="0-1%1", processes=4)
    other = cluster.submit(processes=4)
    cluster.ask(cluster.launcher.ended("2.1"))
    assert cluster.job(3).state is JobState.STARTING
    assert cluster.job(other).state is JobState.PENDING


def test_an_array_is_one_experiment_of_the_engine(cluster: ScriptedCluster) -> None:
    array = _submit(cluster, array="0-2")
    alone = cluster.submit()
    table = cluster.master._engine.state.jobs
    found = dict(zip(table.number.tolist(), table.experiment.tolist(), strict=True))
    assert found == {2: array, 3: array, 4: array, alone: -1}


def test_a_list_has_a_row_for_an_array_that_opens(cluster: ScriptedCluster) -> None:
    array, alone = _submit(cluster, array="0-2%2"), cluster.submit()
    cluster.ask(cluster.launcher.ended("2.1", 1))
    state = cluster.master.state
    rows = jobs_document(state, ChosenJobs(), "ann", 0, 10)["jobs"]
    assert [(row["id"], row["kind"], row["state"]) for row in rows] == [
        (str(array), "array", "STARTING"),
        (str(alone), "command", "STARTING"),
    ]
    assert rows[0]["reason"] == "2 STARTING, 1 FAILED"
    assert rows[0]["processes"] == 2
    opened = jobs_document(state, ChosenJobs(array=array), "ann", 0, 10)["jobs"]
    assert [(row["id"], row["index"]) for row in opened] == [("2", 0), ("3", 1), ("4", 2)]
    assert opened == array_page(state, array)["jobs"]
    every = jobs_document(
        state, ChosenJobs(states=frozenset([JobState.STARTING]), array=0), "ann", 0, 10
    )["jobs"]
    assert [row["id"] for row in every] == ["3", "4", "5"]
    first = jobs_document(state, ChosenJobs(), "ann", 0, 1)
    assert first["next"] == "1"
    assert jobs_document(state, ChosenJobs(), "ann", 1, 1)["jobs"][0]["id"] == "5"
    failed = jobs_document(state, ChosenJobs(states=frozenset([JobState.FAILED])), "ann", 0, 10)[
        "jobs"
    ]
    assert [row["id"] for row in failed] == ["1"]
    with pytest.raises(NotFound, match="no job 9"):
        jobs_document(state, ChosenJobs(array=9), "ann", 0, 10)


def test_an_array_is_cancelled_suspended_and_updated_as_one(cluster: ScriptedCluster) -> None:
    array = _submit(cluster, array="0-2%2")
    cluster.ask(cluster.launcher.ended("2.1"))
    cluster.ask(UpdateJob(array, "ann", priority=7))
    assert [job.spec.priority for job in cluster.master.state.arrays[array].jobs] == [0, 7, 7]
    cluster.ask(Change(array, "suspend", "ann"))
    assert _states(cluster, array) == ["SUCCEEDED", "SUSPENDED", "SUSPENDED"]
    cluster.ask(Change(array, "resume", "ann"))
    cluster.ask(Change(array, "cancel", "ann"))
    assert _states(cluster, array) == ["SUCCEEDED", "CANCELLED", "CANCELLED"]
    cluster.ask(Change(array, "cancel", "ann"))
    with pytest.raises(BadInput, match="all jobs of 1 have ended; they cannot be resumed"):
        cluster.ask(Change(array, "resume", "ann"))


def test_a_job_can_wait_for_all_jobs_of_an_array(cluster: ScriptedCluster) -> None:
    array = _submit(cluster, array="0-1")
    last = cluster.submit(after=array)
    behind = _submit(cluster, array="0-1%1", after=last)
    cluster.ask(cluster.launcher.ended("2.1"))
    assert cluster.job(last).state is JobState.PENDING
    cluster.ask(cluster.launcher.ended("3.1"))
    assert cluster.job(last).state is JobState.STARTING
    cluster.ask(cluster.launcher.ended("4.1"))
    assert _states(cluster, behind) == ["STARTING", "PENDING"]


def test_a_failed_job_of_an_array_cancels_those_that_wait_for_the_array(
    cluster: ScriptedCluster,
) -> None:
    array = _submit(cluster, array="0-1")
    last = cluster.submit(after=array)
    cluster.ask(cluster.launcher.ended("3.1", 1))
    assert cluster.job(last).state is JobState.CANCELLED
    assert cluster.job(last).reason == "it waits for job 3 to succeed, which is FAILED"
    with pytest.raises(BadInput, match="after: job 3 is FAILED; the job could never start"):
        cluster.submit(after=array)


def test_what_belongs_to_one_job_names_the_jobs_of_an_array(cluster: ScriptedCluster) -> None:
    _submit(cluster, array="0-2")
    with pytest.raises(BadInput, match="1 is an array of jobs; give one of them, 2 to 4"):
        cluster.master.state.job(1)


def test_no_job_is_accepted_if_one_could_never_start(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, cluster=ClusterDeclared(("m0",), (2,)))
    with pytest.raises(BadInput, match="processes: 3, but the cluster has 2 slots"):
        _submit(cluster, matrix={"n": [1, 2, 3]}, processes="{{n}}")
    assert not cluster.master.state.jobs
    cluster.close()


def test_processes_of_an_array_are_those_that_run_or_else_all(cluster: ScriptedCluster) -> None:
    array = _submit(cluster, array="0-1", processes=4)
    state = cluster.master.state
    assert array_page(state, array)["processes"] == 4
    for job in (2, 3):
        cluster.ask(cluster.launcher.ended(f"{job}.1"))
    assert _states(cluster, array) == ["SUCCEEDED"] * 2
    assert array_page(state, array)["processes"] == 8
