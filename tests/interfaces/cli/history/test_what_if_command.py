"""`motet whatif` of a real server: real jobs, and the error of their replay."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from live_server import LiveServer, running_server
from motet.domain.errors import BadInput, NotFound, UnknownName
from motet.interfaces.cli.commands import motet
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from resumable_program import resumable_job
from waiting import wait_until

pytestmark = pytest.mark.cluster

JOBS = ((3, 1), (1, 1), (2, 2), (1, 1), (2, 1), (1, 2), (1, 1), (2, 1))
"""Seconds and processes."""


LARGEST_ERROR = 0.25
"""On a machine under load, where processes start late. With instant processes the replay is exact
(`tests/interfaces/forecasts/`); `benchmarks/live_fidelity.py` measures it on an idle machine."""


def run(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(
        motet, words, catch_exceptions=False, standalone_mode=False
    )


def run_jobs(server: LiveServer) -> None:
    with LiveClient(ServerAddress.find(folder=server.folder)) as client:
        jobs = [client.submit(resumable_job(*each))["id"] for each in JOBS]
        wait_until(lambda: all(client.job(job)["ended_at"] for job in jobs))
        assert {client.job(job)["state"] for job in jobs} == {"SUCCEEDED"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x2", "--policy", "fifo") as found:
        run_jobs(found)
        yield found


def test_the_replay_is_close_to_what_was_measured(server: LiveServer) -> None:
    shown = run("whatif", "--policy", "best-effort", "--json", "--state-dir", str(server.folder))
    report = json.loads(shown.stdout)
    assert report["jobs_compared"] == len(JOBS)
    measured, in_force, other = report["runs"]
    assert (measured["policy"], in_force["policy"], other["policy"]) == (
        "fifo",
        "fifo",
        "best-effort",
    )
    assert abs(in_force["jct_s"]["mean"] / measured["jct_s"]["mean"] - 1) < LARGEST_ERROR
    assert abs(report["replay_error"]) < LARGEST_ERROR
    assert abs(in_force["makespan_s"] / measured["makespan_s"] - 1) < LARGEST_ERROR
    assert other["jct_s"]["mean"] < (1 + LARGEST_ERROR) * in_force["jct_s"]["mean"]


@pytest.mark.soak
def test_the_replay_is_close_with_preemptions(tmp_path: Path) -> None:
    options = ("--policy", "tiresias-las", "--set", "quantum_s=1", "--set", "thresholds=2")
    with running_server(tmp_path / "state", "--cluster", "1x2", *options) as server:
        run_jobs(server)
        report = json.loads(
            run("whatif", "--policy", "fifo", "--json", "--state-dir", str(server.folder)).stdout
        )
    assert report["runs"][0]["preemptions"] > 0
    assert abs(report["replay_error"]) < LARGEST_ERROR


@pytest.mark.soak
def test_a_copy_of_the_journal_gives_the_same_report(server: LiveServer, tmp_path: Path) -> None:
    asked = run("whatif", "--policy", "srtf", "--json", "--state-dir", str(server.folder))
    for name in ("journal.db", "journal.db-wal"):
        shutil.copy(server.folder / name, tmp_path / name)
    read = run("whatif", "--policy", "srtf", "--json", "--journal", str(tmp_path / "journal.db"))
    one, other = json.loads(asked.stdout), json.loads(read.stdout)
    assert one["job_list"] == other["job_list"]
    assert one["runs"] == other["runs"]


@pytest.mark.soak
def test_the_table_names_the_runs_and_the_error_and_leaves_no_process(server: LiveServer) -> None:
    words = ("whatif", "--policy", "srtf", "--since", "1h", "--state-dir", str(server.folder))
    shown = " ".join(run(*words).stdout.split())
    assert "fifo, measured" in shown
    known = "Under srtf the mean completion time would be"
    assert known in shown or "The replay of fifo is off by" in shown
    assert "srtf, simulated" in shown
    assert "from the measured one" in shown
    assert "srtf is told the run times" in shown
    # The follower of the server stays.
    assert server.processes_of("-m motet.interfaces.forecasts ") == []


def test_what_cannot_be_simulated_is_refused(server: LiveServer) -> None:
    folder = ("--state-dir", str(server.folder))
    with pytest.raises(BadInput, match="unknown policy 'fiffo'"):
        run("whatif", "--policy", "fiffo", *folder)
    with pytest.raises(BadInput, match="lease_s=0"):
        run("whatif", "--policy", "themis", "--set", "lease_s=0", *folder)
    with pytest.raises(UnknownName, match="unknown policy 'fiffo'"):
        run("whatif", "--policy", "fiffo", "--journal", str(server.folder / "journal.db"))
    with pytest.raises(BadInput, match="leave out --server"):
        run("whatif", "--policy", "fifo", "--journal", "journal.db", *folder)
    with pytest.raises(BadInput, match="cannot be opened"):
        run("whatif", "--policy", "fifo", "--journal", str(server.folder / "missing.db"))
    now = datetime.now().astimezone()
    with pytest.raises(NotFound, match="no jobs were active"):
        run("whatif", "--policy", "fifo", "--since", now.isoformat(), *folder)
