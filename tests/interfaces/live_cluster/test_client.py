"""`motet.Client` against a real server."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import motet
from live_server import LiveServer, running_server
from motet.domain.errors import AuthenticationFailed, BadInput, NotFound, Unreachable
from motet.interfaces.api_access.api_requests import AnswerLost
from motet.interfaces.client import LiveClient
from motet.interfaces.live_cluster.job_calls import WaitTimedOut
from motet.interfaces.server_address import ServerAddress
from waiting import wait_until

pytestmark = pytest.mark.cluster
EXAMPLE = Path(__file__).parents[3] / "examples" / "array_search.py"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x2") as found:
        yield found


@pytest.fixture
def cluster(server: LiveServer) -> Iterator[motet.Client]:
    with motet.Client(state_dir=server.folder) as found:
        yield found


def test_a_job_is_submitted_awaited_and_read(cluster: motet.Client) -> None:
    job = cluster.submit(run=["sh", "-c", "printf 'gr\\303\\274n'; exit 3"], processes=2)
    assert (job.name, job.kind, job.processes, job.has_ended) == ("sh", "command", 2, False)
    ended = cluster.wait(job, 60)
    assert (ended.state, ended.has_succeeded) == ("FAILED", False)
    (attempt,) = ended.attempts
    assert (attempt.outcome, attempt.placement) == ("failed", {"m0": 2})
    assert 3 in attempt.exit_codes
    assert attempt.ended_at is not None
    assert attempt.ended_at >= attempt.requested_at
    assert cluster.logs(job) in ("grün", "")  # The other process may have ended first.


def test_a_log_is_followed_in_whole_characters(cluster: motet.Client) -> None:
    job = cluster.submit(run="printf '\\303'; sleep 1; printf '\\274 end'")
    assert "".join(cluster.follow(job)) == "ü end"
    assert cluster.wait(job.id, 60).has_succeeded


def test_an_array_is_one_row_of_a_frame_that_opens(cluster: motet.Client) -> None:
    array = cluster.submit(name="grid", run="echo {{lr}}", matrix={"lr": [0.1, 0.2]})
    assert cluster.wait(array, 60).has_succeeded
    rows = cluster.jobs()
    assert rows.loc[array.id, "kind"] == "array"
    assert str(rows["submitted_at"].dt.tz) == "UTC"
    jobs = cluster.jobs(array=array)
    assert list(jobs["index"]) == [0, 1]
    assert [cluster.logs(int(job)) for job in jobs.index] == ["0.1\n", "0.2\n"]
    assert cluster.jobs(["RUNNING"], array=array).empty


def test_a_job_file_is_submitted_with_other_values(cluster: motet.Client, tmp_path: Path) -> None:
    (tmp_path / "fit.yaml").write_text("run: pwd\nprocesses: 1\n")
    job = cluster.submit(tmp_path / "fit.yaml", priority=3)
    assert (job.name, job.priority) == ("fit", 3)
    cluster.wait(job, 60)
    assert cluster.logs(job) == f"{tmp_path}\n"


def test_a_training_is_checked_here_and_has_a_number_of_epochs(cluster: motet.Client) -> None:
    with pytest.raises(BadInput, match="unknown parameter of mlr 'l3'"):
        cluster.submit(app="mlr", data="digits", set={"l3": "0.1"})
    with pytest.raises(BadInput, match="digitz"):
        cluster.submit(app="mlr", data="digitz")
    job = cluster.submit(app="mlr", data="digits", set={"l2": 0.1})
    assert job.spec is not None
    assert job.spec["epochs"] > 0
    cluster.cancel(job)


def test_a_job_is_suspended_resumed_explained_and_cancelled(cluster: motet.Client) -> None:
    job = cluster.submit(run="sleep 1000", key="once")
    assert cluster.submit(run="sleep 1000", key="once").id == job.id
    assert cluster.suspend(job).state == "SUSPENDED"
    assert cluster.update(job, priority=9).priority == 9
    assert cluster.resume(job).state != "SUSPENDED"
    assert cluster.cancel(job).state == "CANCELLED"
    story = cluster.explain(job)
    assert (story.job, story.state) == (job.id, "CANCELLED")
    assert list(story.chapters.columns) == ["from", "to", "sentence"]


def test_a_job_is_submitted_with_a_limit_and_ends_at_it(cluster: motet.Client) -> None:
    with pytest.raises(BadInput, match="max_duration: 'soon': give seconds, or a time as 90s"):
        cluster.submit(run="true", max_duration="soon")
    limits = {"2s": 2, 1.5: 1.5}
    jobs = [cluster.submit(run="sleep 1000", max_duration=given) for given in limits]
    assert [job.max_duration_s for job in jobs] == [*limits.values()]
    for job in jobs:
        ended = cluster.wait(job, 60)
        assert (ended.state, [it.failure for it in ended.attempts]) == ("FAILED", ["time_limit"])
        assert "of its max_duration, " in ended.reason
    assert cluster.submit(run="true").max_duration_s is None


def test_a_job_gets_another_limit_while_it_runs(cluster: motet.Client) -> None:
    job = cluster.submit(run="sleep 1000", max_duration=3600)
    assert cluster.update(job, max_duration=math.inf).max_duration_s is None
    assert cluster.update(job, max_duration="30m").max_duration_s == 1800
    for wrong, told in ((True, "give seconds"), ([], "give seconds"), (-1, "give more than 0")):
        with pytest.raises(BadInput, match=f"max_duration.*{told}"):
            cluster.update(job, max_duration=wrong)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="give priority or queue or max_duration"):
        cluster.update(job)
    cluster.update(job, max_duration=0.5)
    ended = cluster.wait(job, 60)
    assert (ended.state, ended.max_duration_s) == ("FAILED", 0.5)
    assert [attempt.stop_cause for attempt in ended.attempts] == ["time_limit"]


def test_the_cluster_is_described(cluster: motet.Client) -> None:
    assert cluster.machines().loc["m0", "slots"] == 2
    assert cluster.queues().loc["default", "running"] >= 0
    policy = cluster.policy()
    assert (policy.name, policy.parameters["min_runtime"]) == ("fifo", 0)
    assert policy.since.tzinfo is not None


def test_a_wait_ends_after_the_given_time(cluster: motet.Client) -> None:
    job = cluster.submit(run="sleep 1000")
    with pytest.raises(WaitTimedOut, match=f"job {job.id} is .* after 0 s"):
        cluster.wait(job, 0)
    cluster.cancel(job)


def test_errors_are_those_of_motet(cluster: motet.Client, server: LiveServer) -> None:
    with pytest.raises(BadInput, match="unknown key proceses; did you mean processes"):
        cluster.submit(run="true", proceses=2)
    with pytest.raises(BadInput, match="give a job file, run="):
        cluster.submit(processes=2)
    with pytest.raises(NotFound, match="there is no job 999"):
        cluster.job(999)
    with pytest.raises(BadInput, match="give the number of a job"):
        cluster.job("../policy")
    address = ServerAddress.find(folder=server.folder)
    with motet.Client(address.url, "wrong") as stranger, pytest.raises(AuthenticationFailed):
        stranger.machines()
    with motet.Client("http://127.0.0.1:1", "any") as other, pytest.raises(Unreachable):
        other.jobs()


def test_a_submission_without_an_answer_is_repeated_with_its_key(
    cluster: motet.Client, server: LiveServer
) -> None:
    """A server that stands still for a while carries out what it was sent meanwhile."""
    assert server.process is not None
    stat = Path(f"/proc/{server.process.pid}/stat")
    spec = {"name": "late", "run": "true", "workdir": "/"}
    with LiveClient(ServerAddress.find(folder=server.folder), timeout_s=0.2) as hasty:
        server.process.send_signal(signal.SIGSTOP)
        try:
            wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
            with pytest.raises(AnswerLost, match=r"busy or stands still.*give --key late to"):
                hasty.submit(spec, key="late")
        finally:
            server.process.send_signal(signal.SIGCONT)
    job = cluster.submit(**spec, key="late")
    rows = cluster.jobs()
    assert list(rows.index[rows["name"] == "late"]) == [job.id]
    cluster.wait(job, 60)


def test_the_example_searches_by_arrays(server: LiveServer, tmp_path: Path) -> None:
    address = ServerAddress.find(folder=server.folder)
    env = {**os.environ, "MOTET_SERVER": address.url, "MOTET_TOKEN": address.token}
    words = ["--rounds", "2", "--width", "2", "--folder", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), *words], env=env, capture_output=True, text=True, check=True
    )
    first, second = [float(line.split()[3]) for line in done.stdout.splitlines()]
    assert second <= first
    assert len([*tmp_path.glob("*/loss-*.json")]) == 4
