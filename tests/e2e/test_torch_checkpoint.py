"""Checkpoints of a real DistributedDataParallel job: preempted, and killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from live_server import LiveServer, running_server
from live_trainings import ended
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from ray_nodes import ray_nodes
from waiting import wait_until

pytest.importorskip("torch")
pytestmark = pytest.mark.cluster
PROGRAM = Path(__file__).parents[1] / "support" / "torch_job.py"
STEPS, HELD_AT = 20, 12


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with running_server(tmp_path / "state", "--cluster", "2x1") as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found


def _submit(client: LiveClient, result: Path, held_at: int, **more: object) -> str:
    values = {
        "name": "ddp",
        "run": [sys.executable, str(PROGRAM), str(STEPS), str(held_at)],
        "processes": 2,
        "workdir": str(PROGRAM.parent),
        "envs": {"RESULT": str(result), "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        "preempt": {"grace_s": 300},
        **more,
    }
    job: str = client.submit(values)["id"]
    return job


def _log(client: LiveClient, job: str, attempt: int = 0) -> str:
    return client.log_part(job, rank=0, attempt=attempt, offset=0)[0].decode()


def _wait_until_held(client: LiveClient, job: str) -> None:
    wait_until(lambda: "held" in _log(client, job) or client.job(job)["ended_at"] is not None)
    assert "held" in _log(client, job), client.job(job)["reason"]


def _weights(client: LiveClient, path: Path, **more: object) -> str:
    """Of a job that nothing disturbs."""
    job = ended(client, _submit(client, path, 0, **more))
    assert (job["state"], job["attempts"]) == ("SUCCEEDED", 1)
    return path.read_text()


def test_a_suspended_job_continues_with_the_step_at_which_it_stopped(
    client: LiveClient, tmp_path: Path
) -> None:
    job = _submit(client, tmp_path / "one", HELD_AT)
    _wait_until_held(client, job)
    client.change(job, "suspend")
    wait_until(lambda: client.job(job)["attempt_list"][-1]["phase"] == "ended")
    assert client.job(job)["state"] == "SUSPENDED"
    client.change(job, "resume")
    found = ended(client, job)
    assert (found["state"], found["attempts"]) == ("SUCCEEDED", 2)
    assert f"from {HELD_AT}" in _log(client, job, 2)
    assert (tmp_path / "one").read_text() == _weights(client, tmp_path / "other")


def test_a_killed_job_continues_from_its_last_regular_checkpoint(
    client: LiveClient, tmp_path: Path
) -> None:
    job = _submit(client, tmp_path / "one", HELD_AT, retry={"max_attempts": 2})
    _wait_until_held(client, job)
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and _is_rank(process, str(tmp_path / "one")):
            os.kill(int(process.name), signal.SIGKILL)
            break
    found = ended(client, job)
    assert (found["state"], found["attempts"]) == ("SUCCEEDED", 2)
    assert f"from {HELD_AT // 5 * 5}" in _log(client, job, 2)
    assert (tmp_path / "one").read_text() == _weights(client, tmp_path / "other")


def test_a_job_that_the_policy_preempts_continues_with_its_step(
    tmp_path: Path,
) -> None:
    with running_server(tmp_path / "state", "--cluster", "2x1", "--policy", "srtf") as server:
        client = LiveClient(ServerAddress.find(folder=server.folder))
        _preempt_and_compare(client, tmp_path)


def test_a_job_on_two_nodes_that_the_policy_preempts_continues_with_its_step(
    tmp_path: Path, no_shared_ray: None
) -> None:
    del no_shared_ray
    options = ("--policy", "srtf")
    with (
        ray_nodes(m1=1, m2=1) as nodes,
        running_server(tmp_path / "state", "--address", nodes.address, *options) as server,
    ):
        client = LiveClient(ServerAddress.find(folder=server.folder))
        wait_until(lambda: [each["state"] for each in client.machines()] == ["UP", "UP"])
        job = _preempt_and_compare(client, tmp_path)
        placements = [attempt["placement"] for attempt in client.job(job)["attempt_list"]]
        assert placements == [{"m1": 1, "m2": 1}] * 2


def _preempt_and_compare(client: LiveClient, tmp_path: Path) -> str:
    job = _submit(client, tmp_path / "one", HELD_AT, duration_s=10_000)
    _wait_until_held(client, job)
    short = {"name": "short", "run": "true", "processes": 2, "workdir": "/", "duration_s": 1}
    assert ended(client, client.submit(short)["id"])["state"] == "SUCCEEDED"
    found = ended(client, job)
    assert (found["state"], found["attempts"]) == ("SUCCEEDED", 2)
    assert found["attempt_list"][0]["stop_cause"] == "preempted"
    assert f"from {HELD_AT}" in _log(client, job, 2)
    assert (tmp_path / "one").read_text() == _weights(client, tmp_path / "other", duration_s=10)
    return job


def _is_rank(process: Path, result: str) -> bool:
    """Whether it is the process of rank 1, not its shepherd."""
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
        variables = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    is_program = words[1:2] == [str(PROGRAM).encode()]
    return is_program and {b"RANK=1", f"RESULT={result}".encode()} <= {*variables}
