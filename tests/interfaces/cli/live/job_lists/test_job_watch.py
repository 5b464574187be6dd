"""`motet list --watch` as a process, in a pipe and on a terminal."""

from __future__ import annotations

import csv
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from click import UsageError
from click.testing import CliRunner

from live_server import LiveServer, running_server
from marked_process import MarkedProcess, motet_process
from motet.interfaces.cli.commands import motet
from motet.interfaces.client import LiveClient
from motet.interfaces.live_cluster.job_changes import Row, WatchedJobs
from motet.interfaces.server_address import ServerAddress
from waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("server") / "state"
    with running_server(folder, "--cluster", "1x2") as found:
        yield found


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found
        for job in found.jobs(("PENDING", "STARTING", "RUNNING", "SUSPENDED"), "0"):
            found.change(job["id"], "cancel")


def submit(client: LiveClient, name: str, run: str = "exec sleep 1000", **more: object) -> str:
    job: str = client.submit({"name": name, "run": run, "workdir": "/", **more})["id"]
    return job


def watch(server: LiveServer, *options: str) -> MarkedProcess:
    return motet_process("list", "--watch", "--state-dir", server.folder, *options)


def interrupted(process: MarkedProcess) -> None:
    code, _, err = process.end(signal.SIGINT)
    assert (code, err) == (130, "")


def test_changes_are_lines_in_a_pipe(server: LiveServer, client: LiveClient) -> None:
    first = submit(client, "first")
    wait_until(lambda: client.job(first)["state"] == "RUNNING")
    process = watch(server)
    while process.first_line() != f"{first}  first  RUNNING":
        continue  # Jobs of other tests come before it.
    second = submit(client, "second", "exit 3")
    lines: list[str] = []
    while not lines or "FAILED" not in lines[-1]:
        lines.append(process.first_line())
    client.change(first, "suspend")
    assert process.first_line() == f"{first}  first  SUSPENDED"
    interrupted(process)
    assert {line.split()[0] for line in lines} == {second}
    assert lines[-1] == f"{second}  second  FAILED: the process exited with status 3"
    assert len(lines) == len(set(lines))


def test_changes_are_json_lines_or_rows_of_csv(server: LiveServer, client: LiveClient) -> None:
    job = submit(client, "rows")
    processes = [watch(server, "-o", name, "--state", "RUNNING") for name in ("json", "csv")]
    assert json.loads(processes[0].first_line())["id"] == job
    header = processes[1].first_line()
    assert next(csv.DictReader([header, processes[1].first_line()]))["state"] == "RUNNING"
    client.change(job, "cancel")
    assert json.loads(processes[0].first_line())["state"] == "CANCELLED"
    assert next(csv.DictReader([header, processes[1].first_line()]))["state"] == "CANCELLED"
    for process in processes:
        interrupted(process)


def test_events_are_changes_from_now_on(server: LiveServer, client: LiveClient) -> None:
    before = submit(client, "before")
    wait_until(lambda: client.job(before)["state"] == "RUNNING")
    process = motet_process("events", "-o", "json", "--state-dir", server.folder)
    submit(client, "again", "exit 3", retry={"max_attempts": 1000})
    assert json.loads(process.first_line())["name"] == "again"
    interrupted(process)


def test_a_terminal_shows_the_list_anew(server: LiveServer, client: LiveClient) -> None:
    job = submit(client, "seen")
    with list_on_terminal(server) as (process, terminal):
        read_until(terminal, b"RUNNING")
        client.change(job, "cancel")
        read_until(terminal, b"CANCELLED")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=100) == 130
        assert b"\x1b[?25h" in terminal.read(100_000)  # The cursor is shown again.


@contextmanager
def list_on_terminal(server: LiveServer) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """`motet list -w` with a terminal of 30 lines, and what the terminal shows."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "motet.interfaces.cli", "list", "-w"]
    with open(ours, "rb", buffering=0) as terminal, open(theirs, "wb") as stdout:
        process = subprocess.Popen(
            [*command, "--state-dir", server.folder],
            stdout=stdout,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "200", "LINES": "30"},
        )
        yield process, terminal


def read_until(terminal: IO[bytes], word: bytes) -> None:
    shown = b""
    while word not in shown:
        shown += terminal.read(10_000)


def test_jobs_that_come_and_go_between_two_looks_are_seen(client: LiveClient) -> None:
    holders = [submit(client, "holder") for _ in range(2)]
    wait_until(lambda: {client.job(job)["state"] for job in holders} == {"RUNNING"})
    watched = WatchedJobs(client, (), None)
    watched.look()
    assert watched.look() == []
    quick, array = submit(client, "quick"), submit(client, "many", array="0-2")
    client.change(quick, "cancel")
    assert states(watched.look()) == {quick: "CANCELLED", array: "PENDING"}
    for job in (array, *holders):
        client.change(job, "cancel")
    assert states(watched.look()) == dict.fromkeys([*holders, array], "CANCELLED")
    assert states(watched.rows).keys() >= {quick, array, *holders}


def states(rows: list[Row]) -> dict[str, str]:
    return {row["id"]: row["state"] for row in rows}


def test_a_filter_shows_only_jobs_in_these_states(client: LiveClient) -> None:
    watched = WatchedJobs(client, ("CANCELLED",), None)
    job = submit(client, "filtered")
    watched.look()
    assert job not in {row["id"] for row in watched.rows}
    client.change(job, "cancel")
    assert job in {row["id"] for row in watched.look()}
    assert {row["state"] for row in watched.rows} == {"CANCELLED"}


@pytest.mark.soak
def test_a_watch_goes_on_when_the_server_is_started_again(tmp_path: Path) -> None:
    with running_server(tmp_path / "state", "--cluster", "1x1") as server:
        processes = [watch(server), watch(server)]
        with LiveClient(ServerAddress.find(folder=server.folder)) as client:
            job = submit(client, "only")
        for process in processes:
            assert process.first_line().startswith(f"{job}  only")
        server.end()
        with server.start() as client:
            client.change(job, "cancel")
        for process in processes:
            while process.first_line() != f"{job}  only  CANCELLED":
                assert process.process.poll() is None
            code, _, err = process.end(signal.SIGINT)
            assert code == 130
            assert err.count("until then the list waits") == 1
            assert "has ended" in err or "does not answer" in err  # As it was waiting or reading.


@pytest.mark.soak
def test_a_terminal_shows_that_the_server_is_away(tmp_path: Path) -> None:
    with running_server(tmp_path / "state", "--cluster", "1x1") as server:
        with LiveClient(ServerAddress.find(folder=server.folder)) as client:
            job = submit(client, "only")
        with list_on_terminal(server) as (process, terminal):
            read_until(terminal, b"RUNNING")
            server.end()
            read_until(terminal, b"until then the list waits")
            with server.start() as client:
                client.change(job, "cancel")
            read_until(terminal, b"CANCELLED")
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=100) == 130


def test_yaml_is_no_format_of_a_watch(server: LiveServer) -> None:
    words = ["list", "-w", "-o", "yaml", "--state-dir", str(server.folder)]
    with pytest.raises(UsageError, match="--watch -o yaml: give -o json"):
        CliRunner().invoke(motet, words, catch_exceptions=False, standalone_mode=False)
