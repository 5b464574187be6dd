"""`motet server --demo` submits the jobs of the demo to itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from live_server import LiveServer
from waiting import wait_until


@pytest.mark.cluster
def test_the_first_jobs_of_the_demo_are_there(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    server = LiveServer(folder, "--demo", "--cluster", "2x2")
    try:
        with server.start() as client:
            wait_until(lambda: len(list(client.jobs())) >= 2)
            names = [job["name"] for job in client.jobs()]
        assert names[:2] == ["topics", "network"]
    finally:
        server.kill_everything()
