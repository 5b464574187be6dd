"""A server whose disk is full answers that, and ends; its jobs run on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from live_server import LiveServer
from motet.domain.errors import Unreachable
from motet.interfaces.client import LiveClient
from small_disk import SmallDisk, small_disk

pytestmark = pytest.mark.cluster
JOB = {"name": "job", "workdir": "/", "run": "sleep 1000"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", 20_000) as made:
        yield made


def submit_many(client: LiveClient) -> None:
    """More than fits into what is left of a page of the disk."""
    for _ in range(1000):
        client.submit({**JOB, "envs": {"FILL": "x" * 4000}})


def test_a_submission_is_refused_and_the_next_server_goes_on(disk: SmallDisk) -> None:
    server = LiveServer(disk.path / "state", "--cluster", "1x2")
    try:
        client = server.start()
        kept = client.submit(JOB)["id"]
        disk.fill()
        with pytest.raises(Unreachable, match="the journal cannot be written"):
            submit_many(client)
        assert server.process is not None
        assert server.process.wait(timeout=60) != 0
        assert "Traceback" not in server.said()
        disk.enlarge(40_000)
        client = server.start()
        assert client.job(kept)["state"] in ("STARTING", "RUNNING")
    finally:
        server.kill_everything()
