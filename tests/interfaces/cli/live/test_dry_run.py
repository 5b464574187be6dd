"""`motet submit --dry-run` of a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from live_server import LiveServer, running_server
from motet.domain.errors import BadInput
from motet.interfaces.cli.commands import motet
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from waiting import wait_until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """Two of its three slots are taken for an hour; a job of three waits for them."""
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x3", "--policy", "best-effort") as found:
        job = {"name": "job", "run": "exec sleep 1000", "workdir": "/", "duration_s": 3600}
        with LiveClient(ServerAddress.find(folder=folder)) as client:
            first = client.submit({**job, "processes": 2})["id"]
            wait_until(lambda: client.job(first)["state"] == "RUNNING")
            client.submit({**job, "processes": 3})
        yield found


def submit(server: LiveServer, *words: str) -> Result:
    arguments = ["submit", "--dry-run", "--state-dir", str(server.folder), *words]
    return CliRunner().invoke(motet, arguments, catch_exceptions=False, standalone_mode=False)


def dry_run(server: LiveServer, folder: Path, **values: Any) -> dict[str, Any]:
    (folder / "job.yaml").write_text(json.dumps({"run": "true", **values}))
    return dict(json.loads(submit(server, "--json", "-f", str(folder / "job.yaml")).stdout))


@pytest.mark.cluster
def test_start_and_delays_follow_from_what_runs_and_nothing_is_submitted(
    server: LiveServer, tmp_path: Path
) -> None:
    small = dry_run(server, tmp_path, processes=1, duration_s=7200)
    assert small["expected_start"]["high_s"] == 0
    (delayed,) = small["delayed"]
    assert delayed["id"] == "2"
    assert 0.4 * 3600 < delayed["delay_s"] < 1.6 * 3600
    large = dry_run(server, tmp_path, processes=2, duration_s=60)
    start = large["expected_start"]
    assert 0.5 * 3600 < start["low_s"] < 2 * 3600 < start["high_s"] <= 4 * 3600
    assert large["delayed"] == []
    unknown = dry_run(server, tmp_path, processes=1)
    assert unknown["delayed"] is None
    with LiveClient(ServerAddress.find(folder=server.folder)) as client:
        assert [job["id"] for job in client.jobs()] == ["1", "2"]


@pytest.mark.soak
@pytest.mark.cluster
def test_the_text_says_when_and_whom(server: LiveServer) -> None:
    told = submit(server, "--processes", "1", "--", "true").stdout
    assert "at once" in told
    assert "unknown: nothing is known of how long it will run; give duration_s" in told
    assert "nothing was submitted" in told
    with pytest.raises(BadInput, match="the cluster has 3 slots"):
        submit(server, "--processes", "4", "--", "true")


@pytest.mark.soak
@pytest.mark.cluster
def test_who_waits_is_told_what_is_simulated(server: LiveServer) -> None:
    job = {"name": "job", "run": "true", "workdir": "/", "duration_s": 60}
    told = list[str]()
    with LiveClient(ServerAddress.find(folder=server.folder)) as client:
        answer = client.dry_run(job, told.append)
        assert answer.keys() == client.dry_run(job).keys()
        with pytest.raises(BadInput, match="the cluster has 3 slots"):
            client.dry_run({**job, "processes": 4}, told.append)
    assert told[0] == "the simulator starts"
    assert any(each.startswith("simulating the start beside 1 waiting job") for each in told)


@pytest.mark.soak
@pytest.mark.cluster
def test_an_array_and_a_job_after_others_are_foreseen(server: LiveServer, tmp_path: Path) -> None:
    grid = {"array": "0-2%1", "duration_s": 60}
    found = dry_run(server, tmp_path, **grid)
    assert [each["index"] for each in found["starts"]] == [0, 1, 2]
    for number, each in enumerate(found["starts"]):
        assert each["low_s"] <= 60 * number <= each["high_s"] <= 2 * 60 * number
    told = submit(server, "-f", str(tmp_path / "job.yaml")).stdout
    assert "3 jobs of 1 process" in told
    assert "first starts  at once" in told
    assert "last starts   in" in told
    later = dry_run(server, tmp_path, after=[2], duration_s=60)
    start = later["expected_start"]
    assert 0.5 * 3600 < start["low_s"] < 2 * 3600 < start["high_s"] <= 4 * 3600
    with LiveClient(ServerAddress.find(folder=server.folder)) as client:
        held = client.submit({"name": "h", "run": "true", "workdir": "/", "after": [1]})["id"]
        because = dry_run(server, tmp_path, after=[int(held)])["expected_start"]["unknown_because"]
        client.change(held, "cancel")
    assert because == f"job {held} waits for other jobs itself"
