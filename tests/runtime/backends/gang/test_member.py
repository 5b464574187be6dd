"""A member of a gang ends with the gang, and tells whether the controller is gone."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from executor_processes import executor_processes
from motet.runtime.backends.gang.cluster import GangCluster
from motet.runtime.backends.gang.meeting_place import ControllerAddress, MeetingPlace
from motet.runtime.backends.gang.member import CONTROLLER_LOST, ENDED, run_member
from motet.runtime.controller.ports import ExecutorLost, LaunchGivenUp, LaunchRequest
from motet.transport import Endpoint, new_secret
from toy_app import ToyRegression
from waiting import wait_until

pytestmark = pytest.mark.cluster

MEMBER = """
import sys
from pathlib import Path
from motet.runtime.backends.gang.member import run_member
sys.exit(run_member(Path(sys.argv[1]), int(sys.argv[2])))
"""


def member(folder: Path, number: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", MEMBER, str(folder), str(number)])


def request(*machines: int, is_given_up: bool = False) -> LaunchRequest:
    return LaunchRequest("job", machines, new_secret(), ToyRegression(), lambda: is_given_up)


def test_a_member_of_a_gang_that_has_ended_starts_nothing(tmp_path: Path) -> None:
    MeetingPlace(tmp_path).close()
    assert run_member(tmp_path, 0) == ENDED


def test_a_member_without_its_controller_says_so(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = Endpoint("127.0.0.1", unused.getsockname()[1])
        MeetingPlace(tmp_path).open(ControllerAddress(endpoint, new_secret()))
        assert run_member(tmp_path, 0) == CONTROLLER_LOST


def test_members_end_with_the_cluster_whether_or_not_they_had_work(tmp_path: Path) -> None:
    folder = tmp_path / "gang"
    members = [member(folder, number) for number in range(2)]
    with GangCluster(folder, 2) as cluster:
        handles = cluster.launch(request(0))
        assert {*handles} == {0}
        handles[0].kill()
    assert [each.wait(timeout=60) for each in members] == [ENDED, ENDED]


def test_a_killed_executor_is_lost_and_its_member_gets_another_one(tmp_path: Path) -> None:
    folder = tmp_path / "gang"
    only = member(folder, 0)
    with GangCluster(folder, 1) as cluster:
        handle = cluster.launch(request(0))[0]
        (process,) = executor_processes()
        process.kill()
        with pytest.raises(ExecutorLost):
            handle.abort()
        handle.kill()
        again = cluster.launch(request(0))[0]
        again.abort()
        again.kill()
    assert only.wait(timeout=60) == ENDED


def test_a_launch_waits_for_members_until_it_is_given_up(tmp_path: Path) -> None:
    with (
        GangCluster(tmp_path / "gang", 1) as cluster,
        pytest.raises(LaunchGivenUp),
    ):
        cluster.launch(request(0, is_given_up=True))


def test_executors_end_with_a_killed_member(tmp_path: Path) -> None:
    folder = tmp_path / "gang"
    only = member(folder, 0)
    with GangCluster(folder, 1) as cluster:
        cluster.launch(request(0))
        (process,) = executor_processes()
        only.kill()
        only.wait()
        wait_until(lambda: not process.is_running())


@pytest.mark.soak
def test_a_stopped_executor_is_ended(tmp_path: Path) -> None:
    folder = tmp_path / "gang"
    only = member(folder, 0)
    with GangCluster(folder, 1) as cluster:
        handle = cluster.launch(request(0))[0]
        (process,) = executor_processes()
        process.suspend()
        handle.kill()
        wait_until(lambda: not process.is_running())
    assert only.wait(timeout=60) == ENDED
