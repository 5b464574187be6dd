"""Aggregators as attempts of the cluster's launcher: requests out, reports in, files between."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.domain.errors import Unreachable
from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptRunning,
    LauncherRequest,
    RankExit,
    StartAttempt,
    StopAttempt,
)
from motet.live.shared_pool.cluster_launcher import AggregatorProgram, ClusterLauncher
from waiting import wait_until

EXIT = RankExit(0, None, "exited", 1.0, 2.0)
PROGRAM = AggregatorProgram({"PATH": "/bin"}, 60.0)


class Cluster:
    """The launcher of a cluster, which remembers; Aggregators listen when the test says so."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sent: list[LauncherRequest] = []
        self.launcher = self.next_server()

    def next_server(self) -> ClusterLauncher:
        found = ClusterLauncher(PoolFolder(self.folder), PROGRAM, self.send)
        found.use_machines(["m0", "m1"])
        return found

    def send(self, requests: Sequence[LauncherRequest]) -> None:
        self.sent += requests

    def listens(self, number: int) -> None:
        folder = self.folder / "aggregators" / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "endpoint.json").write_text(f"endpoint {number}\n")

    def started(self, *numbers: int) -> None:
        for number in numbers:
            self.listens(number)
            assert self.launcher.start(number) == f"endpoint {number}"


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def ended(number: int) -> AttemptEnded:
    return AttemptEnded(f"aggregator.{number}", (EXIT,))


def test_an_aggregator_is_a_process_under_a_shepherd_that_takes_no_slot(cluster: Cluster) -> None:
    cluster.started(0)
    (request,) = cluster.sent
    assert isinstance(request, StartAttempt)
    assert (request.attempt, request.takes_slots, request.lease_s) == ("aggregator.0", False, 60.0)
    (task,) = request.ranks
    assert "motet.aggregation.aggregator" in task.argv
    assert str(cluster.folder / "pool-secret") in task.argv
    assert task.env["PATH"] == "/bin"
    assert task.env["MOTET_ATTEMPT"] == request.folder


def test_each_goes_to_a_machine_with_the_fewest(cluster: Cluster) -> None:
    cluster.started(0, 1, 2)
    assert [cluster.launcher.machine_of(n) for n in range(3)] == ["m0", "m1", "m0"]
    cluster.launcher.take(ended(0))
    cluster.launcher.take(ended(2))
    cluster.started(3)
    assert cluster.launcher.machine_of(3) == "m0"


def test_a_machine_that_takes_no_processes_gets_none(cluster: Cluster) -> None:
    cluster.launcher.use_machines(["m1"])
    cluster.started(0, 1)
    assert {cluster.launcher.machine_of(n) for n in range(2)} == {"m1"}
    cluster.launcher.use_machines([])
    with pytest.raises(Unreachable, match="no machine of the cluster takes an Aggregator now"):
        cluster.launcher.start(2)


def test_an_aggregator_that_runs_is_not_started_again(cluster: Cluster) -> None:
    cluster.started(0)
    assert cluster.launcher.start(0) == "endpoint 0"
    assert len(cluster.sent) == 1


def test_one_that_ends_before_it_listens_is_an_error(cluster: Cluster) -> None:
    with ThreadPoolExecutor() as threads:
        starting = threads.submit(cluster.launcher.start, 0)
        wait_until(lambda: cluster.sent)
        cluster.launcher.take(ended(0))
        with pytest.raises(Unreachable, match=r"does not start; see .*rank-0/log"):
            starting.result(60.0)


def test_its_end_is_awaited(cluster: Cluster) -> None:
    cluster.started(0)
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(cluster.launcher.await_end, 0)
        cluster.launcher.stop(0)
        assert isinstance(cluster.sent[-1], StopAttempt)
        assert not waiting.done()
        assert cluster.launcher.take(ended(0))
        waiting.result(60.0)
    assert cluster.launcher.running() == {}
    cluster.launcher.stop(0)
    assert len(cluster.sent) == 2, "what has ended is not stopped"


def test_one_that_does_not_answer_is_killed(cluster: Cluster) -> None:
    cluster.started(0)
    cluster.launcher.kill(0)
    assert cluster.sent[-1] == StopAttempt("aggregator.0", 9, 0.0)
    assert cluster.launcher.requests()[-1] == cluster.sent[-1], "the next launcher hears it, too"


def test_reports_about_jobs_are_not_its_own(cluster: Cluster) -> None:
    assert not cluster.launcher.take(AttemptRunning("7.1", 1.0))
    assert not cluster.launcher.take(AttemptEnded("7.1", (EXIT,)))
    assert cluster.launcher.take(AttemptRunning("aggregator.0", 1.0))


def test_the_next_server_finds_those_that_run(cluster: Cluster) -> None:
    cluster.started(0, 1, 2)
    cluster.launcher.take(ended(1))
    cluster.launcher.stop(2)
    assert cluster.launcher.requests() == [*cluster.sent[0:1], *cluster.sent[2:4]]
    after = cluster.next_server()
    assert after.running() == {0: "endpoint 0", 2: "endpoint 2"}
    assert after.requests() == [cluster.sent[0], cluster.sent[2]]
    assert after.start(0) == "endpoint 0"


def test_a_server_that_was_killed_while_it_wrote_a_request_leaves_none(cluster: Cluster) -> None:
    folder = cluster.folder / "aggregators" / "0"
    folder.mkdir(parents=True)
    (folder / ".request.json").write_text('{"kind": "StartAtt')
    cluster.launcher = cluster.next_server()
    assert cluster.launcher.requests() == []
    cluster.started(0)
    assert cluster.next_server().requests() == cluster.sent


def test_logs_of_the_latest_are_kept(cluster: Cluster) -> None:
    for number in range(25):
        cluster.started(number)
        cluster.launcher.take(ended(number))
    left = {int(each.name) for each in (cluster.folder / "aggregators").iterdir()}
    assert left == set(range(5, 25))
