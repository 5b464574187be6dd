"""A cluster in three lines: `motet server --head`, `motet machine join`, `motet submit`."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from live_server import LiveServer
from live_trainings import ended
from marked_process import motet_process, run_motet
from motet.interfaces.client import LiveClient
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    folder = tmp_path / "state"
    found = LiveServer(folder, "--head", f"127.0.0.1:{port_for_ray()}", "--lease", "8")
    yield found
    found.kill_everything()
    run_motet("machine", "leave", "--state-dir", folder)


def port_for_ray() -> int:
    """A free one below those that Ray gives its workers."""
    for port in range(6390, 7000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise AssertionError("no port is free")


def states(client: LiveClient) -> dict[str, str]:
    return {machine["name"]: machine["state"] for machine in client.machines()}


def gang_of(processes: int) -> dict[str, Any]:
    return {"name": "gang", "run": "echo $RANK", "processes": processes, "workdir": "/"}


def test_a_machine_joins_runs_processes_and_leaves(server: LiveServer) -> None:
    client = server.start()
    wait_until(lambda: list(states(client).values()) == ["UP"])
    first = client.machines()[0]["slots"]
    joined = motet_process(
        "machine", "join", "--name", "second", "--slots", "3", "--state-dir", server.folder
    )
    wait_until(lambda: states(client).get("second") == "UP")

    job = client.submit(gang_of(first + 3))["id"]
    found = ended(client, job)

    assert found["state"] == "SUCCEEDED"
    assert found["attempt_list"][-1]["placement"]["second"] == 3
    server.kill()
    client = server.start()  # The head outlives the server.
    wait_until(lambda: states(client).get("second") == "UP")
    joined.process.terminate()
    assert joined.process.wait(timeout=200) == 0
    wait_until(lambda: states(client)["second"] == "GONE")
    server.end()
    left = run_motet("machine", "leave", "--state-dir", server.folder)
    assert (left.code, left.err) == (0, "the head has ended; its machines leave\n")
    assert processes_in(server.folder) == ""


def test_processes_on_a_machine_with_gpus_see_those_that_it_offers(server: LiveServer) -> None:
    client = server.start()
    wait_until(lambda: list(states(client).values()) == ["UP"])
    first = client.machines()[0]["slots"]
    with joined_machine("--name", "gpus", "--gpus", "5,7", "--state-dir", server.folder):
        wait_until(lambda: states(client).get("gpus") == "UP")
        assert client.machines()[1]["gpus"] == ["5", "7"]

        job = client.submit(gang_of(first + 2) | {"run": "echo sees $CUDA_VISIBLE_DEVICES"})["id"]
        found = ended(client, job)

    assert found["state"] == "SUCCEEDED"
    assert found["attempt_list"][-1]["gpus"] == {"gpus": ["5", "7"]}
    files = (server.folder / "attempts" / str(job) / "1").rglob("log")
    seen = Counter(path.read_text() for path in files)
    assert seen == {"sees 5,7\n": 2, "sees\n": first}


@contextmanager
def joined_machine(*options: str | Path) -> Iterator[None]:
    """A machine that has left the cluster at the end."""
    joined = motet_process("machine", "join", *options)
    try:
        yield
    finally:
        joined.process.terminate()
        joined.process.wait(timeout=200)


def processes_in(folder: Path) -> str:
    """Command lines of processes that name the folder."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    lines = [line for line in listed.stdout.splitlines() if str(folder) in line]
    return "\n".join(line for line in lines if sys.executable in line or "ray" in line)
