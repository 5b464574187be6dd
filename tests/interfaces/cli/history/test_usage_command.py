"""`motet usage` of a real server."""

from __future__ import annotations

import csv
import getpass
import io
import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from live_server import running_server
from motet.interfaces.cli.commands import motet
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from resumable_program import resumable_job
from waiting import wait_until


@pytest.mark.cluster
def test_usage_is_that_of_the_attempts(tmp_path: Path) -> None:
    with running_server(tmp_path / "state", "--cluster", "1x2") as server:

        def run(*words: str) -> str:
            arguments = ["usage", *words, "--state-dir", str(server.folder)]
            found = CliRunner(env={"COLUMNS": "200"}).invoke(
                motet, arguments, catch_exceptions=False, standalone_mode=False
            )
            return found.stdout

        assert json.loads(run("--json"))["rows"] == []
        with LiveClient(ServerAddress.find(folder=server.folder)) as client:
            client.create_queue("ml")
            jobs = [
                client.submit(resumable_job(1, 2, queue=queue))["id"] for queue in ("ml", "default")
            ]
            wait_until(lambda: all(client.job(job)["ended_at"] for job in jobs))
        found = json.loads(run("--by", "queue", "--by", "user", "--json"))
        assert found["by"] == ["queue", "user"]
        assert [(row["queue"], row["user"]) for row in found["rows"]] == [
            ("default", getpass.getuser()),
            ("ml", getpass.getuser()),
        ]
        for row in found["rows"]:
            assert row["slot_hours"] >= 2 / 3600
            assert (row["jobs"], row["started"], row["preemptions"]) == (1, 1, 0)
        (row,) = csv.DictReader(io.StringIO(run("--by", "user", "--csv", "--since", "1h")))
        assert float(row["slot_hours"]) == pytest.approx(
            sum(each["slot_hours"] for each in found["rows"])
        )
        assert "SLOT-HOURS" in run()
        with pytest.raises(click.UsageError, match="give one of the two"):
            run("--csv", "--json")
