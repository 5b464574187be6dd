"""Bulk cancellation against a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from live_server import running_server
from motet.interfaces.client import LiveClient
from motet.interfaces.live_cluster.job_changes import cancelled_jobs
from motet.interfaces.server_address import ServerAddress

pytestmark = pytest.mark.cluster


def test_a_job_that_ends_meanwhile_does_not_stop_the_cancellation(tmp_path: Path) -> None:
    with (
        running_server(tmp_path / "state", "--cluster", "1x3") as server,
        LiveClient(ServerAddress.find(folder=server.folder)) as live,
    ):
        gate = tmp_path / "gate"
        waits = f"until [ -e {gate} ]; do sleep 0.05; done"
        specs = [{"run": run, "workdir": "/"} for run in ("sleep 1000", waits, "sleep 1000")]
        first, second, third = (live.submit({"name": "job", **spec})["id"] for spec in specs)

        cancelled = cancelled_jobs(live, (), None, None)
        assert next(cancelled)["id"] == first
        gate.touch()
        assert _ended(live, second)["state"] == "SUCCEEDED"
        assert [job["id"] for job in cancelled] == [third]


def test_no_job_starts_that_is_to_be_cancelled(tmp_path: Path) -> None:
    with (
        running_server(tmp_path / "state", "--cluster", "1x2") as server,
        LiveClient(ServerAddress.find(folder=server.folder)) as live,
    ):
        job = {"name": "job", "run": "sleep 1000", "workdir": "/"}
        ids = [live.submit(job)["id"] for _ in range(6)]
        assert [each["id"] for each in cancelled_jobs(live, (), None, None)] == [
            *reversed(ids[2:]),
            *ids[:2],
        ]
        assert [_ended(live, each)["attempts"] for each in ids] == [1, 1, 0, 0, 0, 0]


def _ended(live: LiveClient, job: str) -> dict[str, object]:
    while not (found := live.wait(job, 30.0))["ended_at"]:
        pass
    return found
