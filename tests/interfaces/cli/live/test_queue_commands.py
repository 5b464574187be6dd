"""`motet queue`, `motet update` and `motet cancel` of many jobs against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from live_server import LiveServer, running_server
from motet.domain.errors import BadInput
from motet.interfaces.cli.commands import motet

pytestmark = pytest.mark.cluster


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with running_server(tmp_path / "state", "--cluster", "1x1") as found:
        yield found


def run(server: LiveServer, command: str, *words: str) -> str:
    group = command.split()
    arguments = [*group, "--state-dir", str(server.folder), *words]
    result = CliRunner().invoke(motet, arguments, catch_exceptions=False, standalone_mode=False)
    return result.stdout


def states(server: LiveServer) -> list[str]:
    jobs: list[dict[str, Any]] = json.loads(run(server, "list", "--json"))["jobs"]
    return [job["state"] for job in jobs]


def test_queues_are_created_listed_and_jobs_moved_and_cancelled_by_them(server: LiveServer) -> None:
    with pytest.raises(BadInput, match="unknown queue 'ml'; known: default; create it"):
        run(server, "submit", "--queue", "ml", "--", "true")
    assert run(server, "queue create", "ml") == "ml\n"
    for queue in ("default", "ml", "default"):
        run(server, "submit", "--queue", queue, "--", "sleep", "600")
    moved = run(server, "update", "3", "--queue", "ml", "--priority", "7")
    assert moved == "3  sleep  queue ml, priority 7\n"
    assert run(server, "queue list").split() == [
        *("NAME", "SLOTS", "RUNNING", "WAITING"),
        *("default", "1", "1", "0", "ml", "0", "0", "2"),
    ]
    cancelled = run(server, "cancel", "--queue", "ml", "--state", "PENDING")
    assert cancelled == "2  sleep  CANCELLED\n3  sleep  CANCELLED\n"
    assert states(server)[1:] == ["CANCELLED", "CANCELLED"]
    assert run(server, "cancel", "--user", "nobody-else") == ""
    with pytest.raises(click.UsageError):
        run(server, "cancel")
    with pytest.raises(click.UsageError):
        run(server, "cancel", "1", "--queue", "ml")
    with pytest.raises(BadInput, match="give --priority N or --queue Q"):
        run(server, "update", "1")
