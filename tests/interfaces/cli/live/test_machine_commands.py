"""`motet machine` against a real server: list, drain, resume; and times of day."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from live_server import LiveServer, running_server
from motet.domain.errors import BadInput, NotFound
from motet.interfaces.cli.commands import motet


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with running_server(tmp_path / "state", "--cluster", "2x1") as found:
        yield found


def run(server: LiveServer, *words: str) -> str:
    arguments = ["machine", *words, "--state-dir", str(server.folder)]
    return (
        CliRunner().invoke(motet, arguments, catch_exceptions=False, standalone_mode=False).stdout
    )


@pytest.mark.cluster
def test_a_drained_machine_is_shown_with_its_reason_and_resumed(server: LiveServer) -> None:
    assert run(server, "list").split() == [
        *("NAME", "SLOTS", "USED", "STATE", "JOBS", "DRAIN"),
        *("m0", "1", "0", "UP", "m1", "1", "0", "UP"),
    ]
    drained = run(server, "drain", "m1", "--reason", "new disk")
    assert "DRAINED" in drained
    assert "new disk (" in drained
    planned = run(server, "drain", "m0", "--reason", "later", "--at", "2999-01-01T00:00")
    assert " UP " in planned
    assert "2999-01-01 00:00:00" in planned
    assert "later" not in run(server, "resume", "m0")
    assert "DRAINED" not in run(server, "resume", "m1")
    with pytest.raises(NotFound, match="unknown machine 'm7'"):
        run(server, "drain", "m7", "--reason", "x")
    with pytest.raises(BadInput, match="m1 is not drained"):
        run(server, "resume", "m1")
    with pytest.raises(BadInput, match="the time of the drain has passed"):
        run(server, "drain", "m1", "--reason", "x", "--at", "2020-01-01T00:00")
