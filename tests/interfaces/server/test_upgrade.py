"""Jobs of `motet server` live on when another version, or an edited policy, decides from now on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from edited_policy import own_policy
from live_server import LiveServer
from motet.interfaces.client import LiveClient
from motet.interfaces.forecasts.prediction_store import PredictionStore
from waiting import wait_until

OPTIONS = ("--cluster", "1x2")
JOB = f"exec {sys.executable} -c 'import time; time.sleep(600)'"


pytestmark = pytest.mark.cluster


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    found = LiveServer(tmp_path / "state", *OPTIONS)
    yield found
    found.kill_everything()


def submitted(client: LiveClient, name: str) -> str:
    values = {"name": name, "run": JOB, "processes": 2, "workdir": "/"}
    return str(client.submit(values)["id"])


@pytest.mark.soak
def test_a_running_job_survives_an_edited_and_a_deleted_policy(
    server: LiveServer, tmp_path: Path
) -> None:
    path = tmp_path / "mine.py"
    own_policy(path)
    client = server.start()
    client.choose_policy(str(path), {})
    first, second = submitted(client, "first"), submitted(client, "second")
    wait_until(lambda: client.job(first)["state"] == "RUNNING")
    processes = sorted(server.job_processes())
    assert len(processes) == 2
    server.end()
    own_policy(path, order=-1)

    client = server.start()
    assert "otherwise" not in server.said()
    assert [client.job(each)["state"] for each in (first, second)] == ["RUNNING", "PENDING"]
    assert sorted(server.job_processes()) == processes
    server.end()
    path.unlink()

    with pytest.raises(AssertionError, match=r"mine\.py: no such file.*--policy NAME") as refused:
        server.start()
    assert len(str(refused.value).strip().splitlines()) == 1
    assert sorted(server.job_processes()) == processes

    server = LiveServer(server.folder, *OPTIONS, "--policy", "fifo")
    client = server.start()
    assert [client.job(each)["state"] for each in (first, second)] == ["RUNNING", "PENDING"]
    assert sorted(server.job_processes()) == processes
    server.kill_everything()


def test_other_users_can_read_no_file_with_jobs(server: LiveServer) -> None:
    server.start()
    PredictionStore(server.folder).close()
    modes = {path.name: path.stat().st_mode & 0o077 for path in server.folder.glob("*.db*")}
    assert modes.keys() >= {"journal.db", "read.db", "predictions.db", "what_if.db"}
    assert set(modes.values()) == {0}
