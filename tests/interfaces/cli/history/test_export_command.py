"""`motet jobs export` of a real server: what it prints can be simulated."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from live_server import running_server
from motet.interfaces.cli.commands import motet
from motet.interfaces.client import LiveClient
from motet.interfaces.server.history.accounting_routes import accounting_part
from motet.interfaces.server_address import ServerAddress
from motet.sim.traces import read_trace
from resumable_program import resumable_job
from scripted_cluster import ScriptedCluster
from waiting import wait_until


@pytest.mark.cluster
def test_exported_jobs_are_a_trace(tmp_path: Path) -> None:
    with running_server(tmp_path / "state", "--cluster", "1x2") as server:
        with LiveClient(ServerAddress.find(folder=server.folder)) as client:
            jobs = [client.submit(resumable_job(1, slots))["id"] for slots in (2, 1)]
            client.submit(resumable_job(1000, 2))
            wait_until(lambda: all(client.job(job)["ended_at"] for job in jobs))
        words = ["jobs", "export", "--since", "1h", "--state-dir", str(server.folder)]
        shown = CliRunner(env={"COLUMNS": "200"}).invoke(
            motet, words, catch_exceptions=False, standalone_mode=False
        )
    (tmp_path / "jobs.txt").write_text(shown.stdout)
    trace = read_trace(str(tmp_path / "jobs.txt"))
    assert trace.format == "sacct"
    assert trace.workload.ids[:2] == ("1", "2")
    assert trace.workload.gpus[:2].tolist() == [2, 1]


def test_parts_have_all_jobs_once(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path)
    for _ in range(3):
        cluster.submit()
    state = cluster.master.state
    state.jobs.update(dict.fromkeys(range(4, 2205), state.jobs[1]))
    lines, after = 0, 0
    while after is not None:
        part = accounting_part(state, after, 0, cluster.now_us)
        lines, after = lines + len(part["lines"]), part["next"]
    assert lines == 2204
    assert accounting_part(state, 0, cluster.now_us + 1, cluster.now_us)["lines"] == []
    cluster.close()
