"""Expected starts of a real server's jobs: predicted, shown, compared with what came about."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from live_server import LiveServer, running_server
from motet.interfaces.cli.commands import motet
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from waiting import wait_until

pytestmark = pytest.mark.cluster


def run(server: LiveServer, *words: str) -> str:
    arguments = [*words, "--state-dir", str(server.folder)]
    return (
        CliRunner().invoke(motet, arguments, catch_exceptions=False, standalone_mode=False).stdout
    )


def explained(server: LiveServer, job: str) -> dict[str, Any]:
    return dict(json.loads(run(server, "explain", job, "--json")))


def coverage(server: LiveServer) -> dict[str, Any]:
    return json.loads(run(server, "explain", "--coverage", "--json"))["coverage"] or {"known": 0}


@pytest.mark.soak
def test_a_waiting_job_is_expected_to_start_when_the_one_before_it_ends(tmp_path: Path) -> None:
    job = {"name": "job", "workdir": "/", "processes": 2}
    with (
        running_server(tmp_path / "state", "--cluster", "1x2") as server,
        LiveClient(ServerAddress.find(folder=server.folder)) as client,
    ):
        assert coverage(server) == {"known": 0}
        assert "no start that was predicted" in run(server, "explain", "--coverage")
        holder = client.submit({**job, "run": "exec sleep 1000", "duration_s": 1000})["id"]
        waits = client.submit({**job, "run": "true", "duration_s": 5})["id"]
        unknown = client.submit({**job, "run": "true"})["id"]
        last = client.submit({**job, "run": "true"})["id"]
        if not (start := explained(server, last)["expected_start"])["made"]:
            assert start["unknown_because"] == "not predicted yet"
        wait_until(lambda: explained(server, last)["expected_start"]["made"])
        start = explained(server, waits)["expected_start"]
        assert start["low_s"] < start["median_s"] < start["high_s"]
        assert start["low_s"] < 1000 < start["high_s"] <= 2000
        assert "expected start: in " in run(server, "explain", waits)
        start = explained(server, last)["expected_start"]
        assert start["high_s"] is None
        assert f"how long job {unknown} will run" in run(server, "explain", last)
        assert explained(server, holder)["expected_start"] is None
        (process,) = server.processes_of("motet.interfaces.forecasts.follower")
        os.kill(process, signal.SIGKILL)
        client.change(holder, "cancel")
        wait_until(lambda: client.job(last)["ended_at"])
        assert explained(server, waits)["expected_start"] is None
        wait_until(lambda: coverage(server)["known"] == 2)
        assert coverage(server)["inside"] == 0
        assert "0 of 2 starts (0%)" in run(server, "explain", "--coverage")
        server.end()
        wait_until(lambda: server.processes_of("motet.interfaces.forecasts.follower") == [])


def test_a_job_or_coverage_is_explained_and_not_both(tmp_path: Path) -> None:
    for words in ([], ["1", "--coverage"], ["--coverage", "--run", str(tmp_path)]):
        with pytest.raises(click.UsageError, match="give a JOB, or --coverage"):
            CliRunner().invoke(
                motet, ["explain", *words], catch_exceptions=False, standalone_mode=False
            )
