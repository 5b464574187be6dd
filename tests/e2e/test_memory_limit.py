"""`memory:` of a job: the kernel ends the job that needs more, and no other one."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live_server import LiveServer
from live_trainings import ended
from motet.live.slots.memory_groups import (
    group_parent,
    make_memory_group,
    remove_memory_group,
)
from waiting import wait_until

_ALLOCATES = "x = bytearray(300_000_000); print(len(x))"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    parent = group_parent()
    probe = make_memory_group(tmp_path, 10**9, parent)
    if probe is None:
        pytest.skip("control groups cannot be made here")
    remove_memory_group(probe.folder)
    found = LiveServer(tmp_path / "state", "--cluster", "1x3")
    yield found
    found.kill_everything()


def job_of(code: str, **more: Any) -> dict[str, Any]:
    return {"name": "job", "run": [sys.executable, "-c", code], "workdir": "/", **more}


def test_a_job_beyond_its_memory_fails_and_others_go_on(server: LiveServer) -> None:
    client = server.start()
    neighbour = client.submit(job_of("import time; time.sleep(3600)", memory="100MB"))["id"]
    wait_until(lambda: client.job(neighbour)["state"] == "RUNNING")
    greedy = client.submit(job_of(_ALLOCATES, memory="100MB"))["id"]
    modest = client.submit(job_of(_ALLOCATES, memory="1GB"))["id"]

    found = ended(client, greedy)

    assert (found["state"], found["attempt_list"][-1]["failure"]) == ("FAILED", "out_of_memory")
    assert "out of memory: the process reached its limit, 100 MB" in found["reason"]
    assert ended(client, modest)["state"] == "SUCCEEDED"
    assert client.job(neighbour)["state"] == "RUNNING"


def test_the_group_of_a_process_is_removed_also_after_a_kill(server: LiveServer) -> None:
    client = server.start()
    parent = group_parent()
    assert parent is not None
    before = groups(parent.folder)
    job = client.submit(job_of("import time; time.sleep(3600)", memory="100MB"))["id"]
    wait_until(lambda: client.job(job)["state"] == "RUNNING")
    (group,) = groups(parent.folder) - before
    assert (parent.folder / group / "cgroup.procs").read_text().split()
    server.kill()
    for shepherd in server.shepherds():
        os.kill(shepherd, signal.SIGKILL)
    server.start()
    wait_until(lambda: group not in groups(parent.folder))


def groups(parent: Path) -> set[str]:
    return {each.name for each in parent.iterdir() if each.name.startswith("motet-process-")}
