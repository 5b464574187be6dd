"""Checkpoints of a real DistributedDataParallel job: preempted, and killed."""

from __future__ import annotations

import ast
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

pytestmark = pytest.mark.cluster
PROGRAM = Path(__file__).parents[1] / "support" / "torch_job.py"
STEPS, HELD_AT, THEN_HELD_AT = 20, 12, 17


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with running_server(tmp_path / "state", "--cluster", "2x1") as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found


def _submit(client: LiveClient, result: Path, *held_at: int, **more: object) -> str:
    values = {
        "name": "ddp",
        "run": [sys.executable, str(PROGRAM), *map(str, (STEPS, *held_at))],
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


def _wait_until_held(client: LiveClient, job: str, attempt: int = 1) -> None:
    def is_held() -> bool:
        return client.job(job)["attempts"] >= attempt and "held" in _log(client, job, attempt)

    wait_until(lambda: is_held() or client.job(job)["ended_at"] is not None)
    assert is_held(), client.job(job)["reason"]


@pytest.fixture(scope="module")
def weights() -> list[list[float]]:
    """After the same steps in one process, on the shards of both."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for step in range(STEPS):
        inputs = torch.randn(8, 4, generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        for shard in (inputs[::2], inputs[1::2]):
            loss = (model(shard).squeeze() - shard.sum(dim=1)).square().mean() / 2
            loss.backward()
        optimizer.step()
    return [value.flatten().tolist() for value in model.state_dict().values()]


def _assert_learned(weights: list[list[float]], path: Path) -> None:
    for found, expected in zip(ast.literal_eval(path.read_text()), weights, strict=True):
        assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.soak
def test_a_suspended_job_continues_with_its_step_and_a_killed_one_with_its_last_regular_checkpoint(
    client: LiveClient, tmp_path: Path, weights: list[list[float]]
) -> None:
    job = _submit(client, tmp_path / "one", HELD_AT, THEN_HELD_AT, retry={"max_attempts": 2})
    _wait_until_held(client, job)
    client.change(job, "suspend")
    wait_until(lambda: client.job(job)["attempt_list"][-1]["phase"] == "ended")
    assert client.job(job)["state"] == "SUSPENDED"
    client.change(job, "resume")
    _wait_until_held(client, job, attempt=2)
    assert f"from {HELD_AT}" in _log(client, job, 2)
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and _is_rank(process, str(tmp_path / "one")):
            os.kill(int(process.name), signal.SIGKILL)
            break
    found = ended(client, job)
    assert (found["state"], found["attempts"]) == ("SUCCEEDED", 3)
    assert f"from {THEN_HELD_AT // 5 * 5}" in _log(client, job, 3)
    _assert_learned(weights, tmp_path / "one")


@pytest.mark.soak
def test_a_job_that_the_policy_preempts_continues_with_its_step(
    tmp_path: Path, weights: list[list[float]]
) -> None:
    with running_server(tmp_path / "state", "--cluster", "2x1", "--policy", "srtf") as server:
        client = LiveClient(ServerAddress.find(folder=server.folder))
        _preempt_and_compare(client, tmp_path, weights)


@pytest.mark.soak
def test_a_job_on_two_nodes_that_the_policy_preempts_continues_with_its_step(
    tmp_path: Path, weights: list[list[float]], no_shared_ray: None
) -> None:
    del no_shared_ray
    options = ("--policy", "srtf")
    with (
        ray_nodes(m1=1, m2=1) as nodes,
        running_server(tmp_path / "state", "--address", nodes.address, *options) as server,
    ):
        client = LiveClient(ServerAddress.find(folder=server.folder))
        wait_until(lambda: [each["state"] for each in client.machines()] == ["UP", "UP"])
        job = _preempt_and_compare(client, tmp_path, weights)
        placements = [attempt["placement"] for attempt in client.job(job)["attempt_list"]]
        assert placements == [{"m1": 1, "m2": 1}] * 2


def _preempt_and_compare(client: LiveClient, tmp_path: Path, weights: list[list[float]]) -> str:
    job = _submit(client, tmp_path / "one", HELD_AT, duration_s=10_000)
    _wait_until_held(client, job)
    short = {"name": "short", "run": "true", "processes": 2, "workdir": "/", "duration_s": 1}
    assert ended(client, client.submit(short)["id"])["state"] == "SUCCEEDED"
    found = ended(client, job)
    assert (found["state"], found["attempts"]) == ("SUCCEEDED", 2)
    assert found["attempt_list"][0]["stop_cause"] == "preempted"
    assert f"from {HELD_AT}" in _log(client, job, 2)
    _assert_learned(weights, tmp_path / "one")
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
