"""Which jobs a list has: those that are chosen, without those that ended long ago."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from motet.domain.errors import BadInput, NotFound, UnknownName
from motet.interfaces.server.job_rows import (
    FIELDS,
    ChosenJobs,
    chosen_fields,
    jobs_document,
    with_fields,
)
from motet.live.jobs.array_file import array_spec
from motet.live.jobs.job_state import JobState
from motet.live.master.intake import Change
from motet.live.master.submissions.submission import SubmitArray
from motet.live.queues.queue_changes import CreateQueue
from scripted_cluster import SECOND_US, ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    """Job 1 has ended long ago, 2 now; 3 is of another queue; array 4 has jobs 5, 6."""
    found = ScriptedCluster(tmp_path)
    found.submit()
    found.ask(found.launcher.ended("1.1"))
    found.now_us += 1000 * SECOND_US
    found.submit()
    found.ask(Change(2, "cancel", "ann"))
    found.ask(CreateQueue("ml", "ann"))
    found.submit(queue="ml")
    spec = {"name": "sweep", "run": "true", "workdir": "/", "array": "0-1"}
    found.ask(SubmitArray(array_spec(spec), "bob"))
    yield found
    found.close()


def listed(cluster: ScriptedCluster, limit: int = 100, after: int = 0, **chosen: Any) -> list[str]:
    live = cluster.master.state
    found = jobs_document(live, ChosenJobs(**chosen), "zoe", after, limit)
    return [each["id"] for each in found["jobs"]]


def test_jobs_are_chosen_by_user_queue_state_and_array(cluster: ScriptedCluster) -> None:
    assert listed(cluster) == ["1", "2", "3", "4"]
    assert listed(cluster, user="bob") == ["4"]
    assert listed(cluster, user="bob", array=0) == ["5", "6"]
    assert listed(cluster, queue="ml") == ["3"]
    assert listed(cluster, queue="ml", user="bob") == []
    assert listed(cluster, states=frozenset({JobState.CANCELLED, JobState.SUCCEEDED})) == ["1", "2"]
    assert listed(cluster, user="zoe") == []


def test_jobs_that_ended_long_ago_are_left_out_and_counted(cluster: ScriptedCluster) -> None:
    since_us = cluster.now_us - 100 * SECOND_US
    assert listed(cluster, ended_since_us=since_us) == ["2", "3", "4"]
    live = cluster.master.state
    pages = [
        jobs_document(live, ChosenJobs(ended_since_us=since_us), "zoe", after, 1)
        for after in (0, 2, 3)
    ]
    assert [page["hidden"] for page in pages] == [1, 0, 0]
    assert [page["next"] for page in pages] == ["2", "3", None]


def test_unknown_queues_users_and_arrays_are_errors(cluster: ScriptedCluster) -> None:
    with pytest.raises(UnknownName, match="unknown queue 'defualt'; did you mean 'default'"):
        listed(cluster, queue="defualt")
    with pytest.raises(BadInput, match="user 'bobb' has submitted no jobs; did you mean 'bob'"):
        listed(cluster, user="bobb")
    with pytest.raises(NotFound):
        listed(cluster, array=99)


def test_rows_have_the_fields_that_are_wanted(cluster: ScriptedCluster) -> None:
    page = jobs_document(cluster.master.state, ChosenJobs(), "zoe", 2, 100)
    assert {name for row in page["jobs"] for name in row} == set(FIELDS)
    assert with_fields(page, chosen_fields("")) == page
    single, array = with_fields(page, chosen_fields("state, id,counts"))["jobs"]
    assert ([*single], [*array]) == (["state", "id"], ["state", "id", "counts"])
    assert [single["id"], array["id"]] == ["3", "4"]
    with pytest.raises(UnknownName, match="unknown field 'sate'; did you mean 'state'"):
        chosen_fields("id,sate")
