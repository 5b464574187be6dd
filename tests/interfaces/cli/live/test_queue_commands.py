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
from marked_process import run_motet
from motet.domain.errors import BadInput, NotFound
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
    limited = run(server, "update", "3", "--max-duration", "2h")
    assert limited == "3  sleep  queue ml, priority 7, time limit 2h\n"
    assert "time limit  2 h" in run(server, "describe", "3")
    assert "changed from none to 2h by" in run(server, "explain", "3")
    assert run(server, "update", "3", "--max-duration", "none") == moved
    with pytest.raises(click.BadParameter, match="'soon': give seconds, or a time as 90s"):
        run(server, "update", "3", "--max-duration", "soon")
    assert run(server, "queue list").split() == [
        *("NAME", "SLOTS", "GUARANTEE", "BORROW", "LEND", "BORROWED", "RUNNING", "WAITING", "MODE"),
        *("default", "1", "0", "-", "-", "1", "1", "0", "OPEN"),
        *("ml", "0", "0", "-", "-", "0", "0", "2", "OPEN"),
    ]
    cancelled = run(server, "cancel", "--queue", "ml", "--state", "PENDING")
    assert cancelled == "2  sleep  CANCELLED\n3  sleep  CANCELLED\n"
    assert states(server)[1:] == ["CANCELLED", "CANCELLED"]
    with pytest.raises(BadInput, match="user 'nobody-else' has submitted no jobs"):
        run(server, "cancel", "--user", "nobody-else")
    with pytest.raises(click.UsageError):
        run(server, "cancel")
    with pytest.raises(click.UsageError):
        run(server, "cancel", "1", "--queue", "ml")
    with pytest.raises(BadInput, match="give --priority N, --queue Q or --max-duration TIME"):
        run(server, "update", "1")


def test_queues_are_limited_held_drained_and_deleted(server: LiveServer) -> None:
    run(server, "queue create", "ml", "--guarantee", "1", "--lend", "0")
    shown = json.loads(run(server, "queue update", "ml", "--borrow", "2", "--json"))["queues"]
    assert [shown[0][name] for name in ("guarantee", "borrow", "lend")] == [1, 2, 0]
    shown = json.loads(run(server, "queue update", "ml", "--lend", "none", "--json"))["queues"]
    assert [shown[0][name] for name in ("guarantee", "borrow", "lend")] == [1, 2, None]
    assert run(server, "queue hold", "ml", "default").count("HELD") == 2
    assert "DRAINING" in run(server, "queue drain", "ml")
    with pytest.raises(BadInput, match="queue ml is draining"):
        run(server, "submit", "--queue", "ml", "--", "true")
    assert "OPEN" in run(server, "queue resume", "ml")
    server.kill()
    server.start()
    assert run(server, "queue describe", "default").split()[-1] == "HELD"
    assert run(server, "queue delete", "ml") == "ml\n"
    with pytest.raises(NotFound, match="unknown queue 'ml'"):
        run(server, "queue describe", "ml")
    with pytest.raises(BadInput, match="default 2\\) are 2 slots together; the cluster has 1"):
        run(server, "queue update", "default", "--guarantee", "2")
    for words, message in (
        (("ml",), "give --guarantee, --borrow or --lend"),
        (("ml", "--borrow", "x"), "--borrow x: give a whole number of slots, or none"),
    ):
        with pytest.raises(BadInput, match=message):
            run(server, "queue update", *words)


def test_the_server_reads_a_file_of_queues(tmp_path: Path) -> None:
    path = tmp_path / "queues.yaml"
    path.write_text("queues:\n  ml: {guarantee: 1, borrow: 1}\n")
    with running_server(tmp_path / "state", "--cluster", "1x2", "--queues", str(path)) as server:
        shown = json.loads(run(server, "queue describe", "ml", "--json"))["queues"]
        assert [shown[0][name] for name in ("guarantee", "borrow", "lend")] == [1, 1, None]
        with pytest.raises(BadInput, match="processes: 3, but the cluster has 2 slots"):
            run(server, "submit", "--processes", "3", "--", "true")


def test_a_file_that_guarantees_more_than_the_cluster_has_starts_no_server(tmp_path: Path) -> None:
    path = tmp_path / "queues.yaml"
    path.write_text("queues:\n  ml: {guarantee: 3}\n")
    options = ["--state-dir", str(tmp_path / "state"), "--cluster", "1x2", "--queues", str(path)]
    ended = run_motet("server", *options)
    assert ended.code == 2
    assert "ml 3) are 3 slots together; the cluster has 2" in ended.err


def test_cancel_takes_several_states_and_refuses_unknown_queues_and_users(
    server: LiveServer,
) -> None:
    for _ in range(3):
        run(server, "submit", "--", "sleep", "600")
    run(server, "suspend", "2")
    with pytest.raises(BadInput, match="unknown queue 'defautl'; did you mean 'default'"):
        run(server, "cancel", "--queue", "defautl")
    with pytest.raises(BadInput, match="user 'nobody' has submitted no jobs"):
        run(server, "list", "--user", "nobody")
    cancelled = run(server, "cancel", "--state", "suspended", "--state", "pending")
    assert cancelled == "2  sleep  CANCELLED\n3  sleep  CANCELLED\n"
    assert states(server)[1:] == ["CANCELLED", "CANCELLED"]
    words = ["cancel", "--state-dir", str(server.folder), "--state", "SUSPENDED"]
    nothing = CliRunner().invoke(motet, words, catch_exceptions=False, standalone_mode=False)
    assert (nothing.stdout, nothing.stderr) == ("", "no job meets this; nothing was cancelled\n")
