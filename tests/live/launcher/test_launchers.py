"""Launchers as processes of their own, with real gangs; they may be killed at any time."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from attempt_files import attempt_file
from launcher_runs import Launchers
from motet.interfaces.ray_launcher.command import ray_launcher
from motet.live.launcher.leftovers import marked_processes
from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptProgressed,
    AttemptRunning,
    LauncherRequest,
    Report,
    StopAttempt,
)
from motet.live.launcher.rank_files import progress_line
from motet.live.master.launcher_process import local_launcher
from motet.live.process_table import start_ticks
from motet.live.shepherd import send_datagram
from ray_nodes import ray_nodes
from waiting import wait_until

Make: TypeAlias = Callable[[Path], Launchers]


def local(folder: Path) -> Launchers:
    return Launchers(folder, local_launcher(folder))


@pytest.fixture(scope="module")
def on_ray(no_shared_ray: None) -> Iterator[Make]:
    """Launchers of a Ray cluster of one node."""
    del no_shared_ray
    with ray_nodes(m1=8) as nodes:
        yield lambda folder: Launchers(folder, ray_launcher(nodes.address, folder, 600.0), "m1")


@pytest.fixture(params=["local", pytest.param("ray", marks=pytest.mark.soak)])
def make(request: pytest.FixtureRequest) -> Make:
    """Every launcher must pass all tests of this file."""
    if request.param == "local":
        return local
    found: Make = request.getfixturevalue("on_ray")
    return found


@pytest.fixture
def launchers(make: Make, tmp_path: Path) -> Iterator[Launchers]:
    found = make(tmp_path)
    yield found
    found.end()


def codes(report: LauncherRequest | Report) -> list[tuple[int | None, int | None, str]]:
    assert isinstance(report, AttemptEnded)
    return [(end.code, end.signal, end.reason) for end in report.exits]


def test_a_gang_is_reported_when_it_runs_and_when_it_has_ended(launchers: Launchers) -> None:
    launchers.send(launchers.gang("exit 0"))
    assert isinstance(launchers.report(), AttemptRunning)
    assert codes(launchers.report()) == [(0, None, "exited")] * 2


MEETING = """
import os, socket
place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if os.environ["MOTET_RANK"] == "0":
    with socket.create_server(place) as server:
        server.accept()[0].sendall(b"met")
else:
    while True:
        try:
            with socket.create_connection(place) as connection:
                assert connection.recv(3) == b"met"
                break
        except ConnectionRefusedError:
            continue
"""


def test_the_processes_of_a_gang_meet_where_the_first_one_listens(launchers: Launchers) -> None:
    launchers.send(launchers.gang(f"exec {sys.executable} -c {shlex.quote(MEETING)}"))
    assert isinstance(launchers.report(), AttemptRunning)
    assert codes(launchers.report()) == [(0, None, "exited")] * 2


def test_the_failure_of_one_process_stops_the_others(launchers: Launchers) -> None:
    launchers.send(launchers.gang('[ "$MOTET_RANK" = 1 ] && exit 3; exec sleep 1000'))
    assert isinstance(launchers.report(), AttemptRunning)
    assert codes(launchers.report()) == [(None, 15, "stopped"), (3, None, "exited")]


def test_a_stop_ends_all_processes(launchers: Launchers) -> None:
    request = launchers.gang("exec sleep 1000")
    launchers.send(request)
    assert isinstance(launchers.report(), AttemptRunning)
    launchers.send(StopAttempt(request.attempt, signal.SIGUSR1, 5.0))
    assert codes(launchers.report()) == [(None, 10, "stopped")] * 2


def test_a_gang_is_stopped_even_before_it_runs(launchers: Launchers) -> None:
    request = launchers.gang("exec sleep 1000")
    launchers.send(request)
    launchers.send(StopAttempt(request.attempt, signal.SIGTERM, 5.0))
    report = launchers.report()
    if isinstance(report, AttemptRunning):
        report = launchers.report()
    assert {reason for _, _, reason in codes(report)} <= {"never_started", "stopped"}


def test_the_next_launcher_adopts_running_processes(launchers: Launchers) -> None:
    request = launchers.gang("trap 'exit 9' TERM; while :; do sleep 0.05; done")
    launchers.send(request)
    launchers.report()
    shepherds = [launchers.shepherd_of(rank) for rank in (0, 1)]
    launchers.kill()
    launchers.start()
    launchers.send(request)
    assert isinstance(launchers.report(), AttemptRunning)
    assert [launchers.shepherd_of(rank) for rank in (0, 1)] == shepherds
    launchers.send(StopAttempt(request.attempt, signal.SIGTERM, 5.0))
    assert codes(launchers.report()) == [(9, None, "stopped")] * 2


def test_the_next_launcher_reports_what_ended_meanwhile(launchers: Launchers) -> None:
    flag = launchers.folder / "go"
    request = launchers.gang(f"while [ ! -e {flag} ]; do sleep 0.05; done")
    launchers.send(request)
    launchers.report()
    launchers.kill()
    flag.touch()
    wait_until(lambda: attempt_file(launchers.folder, 7, 1, 0, "exit.json"))
    wait_until(lambda: attempt_file(launchers.folder, 7, 1, 1, "exit.json"))
    launchers.start()
    launchers.send(request)
    assert isinstance(launchers.report(), AttemptRunning)
    assert codes(launchers.report()) == [(0, None, "exited")] * 2


def test_a_killed_shepherd_is_a_lost_process_and_nothing_of_it_is_left(
    launchers: Launchers,
) -> None:
    request = launchers.gang("setsid sleep 1000 & sleep 1000")
    launchers.send(request)
    launchers.report()
    os.kill(launchers.shepherd_of(0), signal.SIGKILL)
    assert codes(launchers.report()) == [(None, None, "lost"), (None, 15, "stopped")]
    assert marked_processes(request.folder) == []


def test_processes_of_another_server_with_the_same_id_are_left_alone(
    make: Make, launchers: Launchers, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = make(tmp_path / "other")
    try:
        same = other.gang("exec sleep 1000", size=1)
        other.send(same)
        other.report()
        request = launchers.gang("exec sleep 1000", size=1)
        assert request.attempt == same.attempt
        launchers.send(request)
        launchers.report()
        os.kill(launchers.shepherd_of(0), signal.SIGKILL)
        assert codes(launchers.report()) == [(None, None, "lost")]
        assert len(marked_processes(same.folder)) == 1
    finally:
        other.end()


def test_a_process_that_was_lost_while_no_launcher_ran_is_found(launchers: Launchers) -> None:
    request = launchers.gang("setsid sleep 1000 & sleep 1000")
    launchers.send(request)
    launchers.report()
    launchers.kill()
    os.kill(launchers.shepherd_of(1), signal.SIGKILL)
    launchers.start()
    launchers.send(request)
    report = launchers.report()
    if isinstance(report, AttemptRunning):
        report = launchers.report()
    assert codes(report)[1] == (None, None, "lost")
    assert marked_processes(request.folder) == []


@pytest.fixture
def local_launchers(tmp_path: Path) -> Iterator[Launchers]:
    """On Ray the launcher of a machine, and its spawner, outlive the one that is killed here."""
    found = local(tmp_path)
    yield found
    found.end()


def test_the_spawner_of_shepherds_ends_with_its_launcher(local_launchers: Launchers) -> None:
    launchers = local_launchers
    request = launchers.gang("exec sleep 1000")
    launchers.send(request)
    launchers.report()
    spawner, shepherds = launchers.spawner(), [launchers.shepherd_of(rank) for rank in (0, 1)]
    ticks = start_ticks(spawner)
    launchers.kill()
    wait_until(lambda: start_ticks(spawner) != ticks)
    assert all(start_ticks(each) for each in shepherds)
    launchers.start()
    launchers.send(request)
    assert isinstance(launchers.report(), AttemptRunning)
    launchers.send(StopAttempt(request.attempt, signal.SIGTERM, 5.0))
    assert codes(launchers.report()) == [(None, 15, "stopped")] * 2


def test_a_killed_spawner_ends_no_gang_and_the_next_gang_has_another_one(
    launchers: Launchers,
) -> None:
    request, second = launchers.gang("exec sleep 1000"), launchers.gang("exit 0", number=2)
    launchers.send(request)
    launchers.report()
    os.kill(launchers.spawner(), signal.SIGKILL)
    launchers.send(second)
    assert isinstance(launchers.report(), AttemptRunning)
    assert codes(launchers.report()) == [(0, None, "exited")] * 2
    launchers.send(StopAttempt(request.attempt, signal.SIGTERM, 5.0))
    assert codes(launchers.report()) == [(None, 15, "stopped")] * 2


def test_a_spawner_that_stands_still_delays_nothing_but_starts(launchers: Launchers) -> None:
    request, second = launchers.gang("exec sleep 1000"), launchers.gang("exit 0", number=2)
    launchers.send(request)
    launchers.report()
    spawner = launchers.spawner()
    os.kill(spawner, signal.SIGSTOP)
    try:
        launchers.send(second)
        launchers.send(StopAttempt(request.attempt, signal.SIGTERM, 5.0))
        assert codes(launchers.report()) == [(None, 15, "stopped")] * 2
    finally:
        os.kill(spawner, signal.SIGCONT)
    assert isinstance(launchers.report(), AttemptRunning)
    assert codes(launchers.report()) == [(0, None, "exited")] * 2


def test_progress_is_reported_before_the_end_and_again_by_the_next_launcher(
    launchers: Launchers,
) -> None:
    path = launchers.folder / "attempts" / "7" / "1" / "rank-0" / "progress.jsonl"
    line = progress_line(2.0, [(1.0, 0.5), (2.0, 0.25)], 4.0).strip()
    begun = '{"steps_done": 3.0, '
    script = f"printf '%s\\n%s' '{line}' '{begun}' > {path}; exec sleep 1000"
    request = launchers.gang(script, size=1)
    launchers.send(request)
    wait_until(lambda: path.exists() and begun in path.read_text())
    told = AttemptProgressed(request.attempt, 2.0, ((1.0, 0.5), (2.0, 0.25)), 4.0)
    launchers.kill()
    launchers.start()
    launchers.send(request)
    reports = [launchers.report(), launchers.report()]
    assert told in reports
    with path.open("a") as file:
        file.write('"points": [], "steps_per_s": null}\n')
    launchers.send(StopAttempt(request.attempt, signal.SIGTERM, 5.0))
    assert launchers.report() == AttemptProgressed(request.attempt, 3.0)
    assert isinstance(launchers.report(), AttemptEnded)


def test_a_notice_of_a_process_makes_the_launcher_report_its_progress(
    launchers: Launchers,
) -> None:
    request = launchers.gang("exec sleep 1000", size=1)
    launchers.send(request)
    assert isinstance(launchers.report(), AttemptRunning)
    path = launchers.folder / "attempts" / "7" / "1" / "rank-0" / "progress.jsonl"
    for epochs in (1.0, 2.0):
        with path.open("a") as file:
            file.write(progress_line(epochs, [(epochs, 0.5)], None))
        notice = json.dumps([request.attempt, 0, "progress"]).encode()
        send_datagram(launchers.notices(request), notice)
        told = AttemptProgressed(request.attempt, epochs, ((epochs, 0.5),))
        assert launchers.report() == told


def test_a_repeated_request_starts_nothing(launchers: Launchers) -> None:
    request = launchers.gang("echo once; exec sleep 1000", size=1)
    for _ in range(3):
        launchers.send(request)
    launchers.report()
    log = launchers.folder / "attempts" / "7" / "1" / "rank-0" / "log"
    wait_until(lambda: log.read_text())
    launchers.send(StopAttempt(request.attempt, signal.SIGTERM, 5.0))
    while not isinstance(launchers.report(), AttemptEnded):
        pass
    assert log.read_text() == "once\n"


def test_a_gang_whose_folder_cannot_be_made_ends_without_a_start(launchers: Launchers) -> None:
    request = replace(launchers.gang("true"), folder="/proc/no/such/folder")
    launchers.send(request)
    assert {reason for _, _, reason in codes(launchers.report())} == {"never_started"}
