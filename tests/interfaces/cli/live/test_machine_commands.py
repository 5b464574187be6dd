"""`motet machine` against a real server: list, drain, resume; and times of day."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from live_server import LiveServer, running_server
from motet.domain.errors import BadInput, NotFound
from motet.interfaces.cli.commands import motet
from motet.runtime.arbiter.holding_log import Holding, HoldingLog
from motet.runtime.core.subtask import SubtaskKind


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


@pytest.mark.cluster
def test_the_subtasks_of_jobs_that_share_a_machine_are_shown_and_drawn(
    server: LiveServer, tmp_path: Path
) -> None:
    assert run(server, "subtasks") == "m0: no job has shared it\nm1: no job has shared it\n"
    (server.folder / "arbiters").mkdir()
    log = HoldingLog(server.folder / "arbiters" / "m1")
    for held in (
        Holding(1_000_000, 1_600_000, SubtaskKind.COMP, "1"),
        Holding(1_500_000, 2_000_000, SubtaskKind.PUSH, "2"),
    ):
        log.add(held)
    shown = run(server, "subtasks", "m1", "--png", str(tmp_path / "turns.png"))
    assert "1.0 s until" in shown
    assert "CPU in use 60%, network in use 50%" in shown
    assert (tmp_path / "turns.png").read_bytes().startswith(b"\x89PNG")
    (document,) = json.loads(run(server, "subtasks", "m1", "--seconds", "0.2", "--json"))[
        "machines"
    ]
    assert [each["kind"] for each in document["turns"]] == ["push"]
    assert document["jobs"] == {"2": "2"}
    with pytest.raises(NotFound, match="unknown machine 'm7'"):
        run(server, "subtasks", "m7")
    with pytest.raises(BadInput, match=r"--png .*: No such file or directory"):
        run(server, "subtasks", "m1", "--png", str(tmp_path / "none" / "turns.png"))
    with pytest.raises(BadInput, match="no job has shared a machine"):
        run(server, "subtasks", "m0", "--png", str(tmp_path / "turns.png"))
