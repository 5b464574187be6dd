"""The launcher as a process of its own, with real gangs; it may be killed at any time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from attempt_files import attempt_file
from motet.live.launcher.leftovers import MARK, marked_processes
from motet.live.launcher.message_lines import message_line
from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptProgressed,
    AttemptRunning,
    LauncherRequest,
    RankTask,
    Report,
    StartAttempt,
    StopAttempt,
    parse_message,
)
from motet.live.launcher.rank_files import progress_line
from motet.live.shepherd import send_datagram
from waiting import wait_until


class Launchers:
    """One launcher after another, on the same folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.epoch = folder, 0
        self.process: subprocess.Popen[str] | None = None
        self.begun: list[str] = []
        self.start()

    def start(self) -> None:
        self.epoch += 1
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "motet.live.launcher.local"),
                *(str(self.folder / "launcher.sock"), str(self.epoch)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def send(self, request: LauncherRequest) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(message_line(request) + "\n")
        self.process.stdin.flush()

    def report(self) -> LauncherRequest | Report:
        assert self.process is not None
        assert self.process.stdout is not None
        return parse_message(self.process.stdout.readline())

    def gang(self, script: str, size: int = 2, number: int = 1) -> StartAttempt:
        """An attempt of `size` processes that run a shell script."""
        folder = str(self.folder / "attempts" / "7" / str(number))
        self.begun.append(folder)
        tasks = [
            RankTask(
                "m0",
                ("sh", "-c", script),
                "/",
                {"PATH": os.environ["PATH"], MARK: folder, "MOTET_RANK": str(rank)},
            )
            for rank in range(size)
        ]
        return StartAttempt(f"7.{number}", folder, tuple(tasks), signal.SIGTERM, 5.0, 60.0)

    def shepherd_of(self, rank: int) -> int:
        pid: int = attempt_file(self.folder, 7, 1, rank, "shepherd.json")["pid"]
        return pid

    def end(self) -> None:
        self.kill()
        for path in self.folder.glob("attempts/*/*/rank-*"):
            identity = attempt_file(self.folder, 7, int(path.parts[-2]), 0, "shepherd.json")
            if identity is not None and b"shepherd.py" in _command_line(identity["pid"]):
                os.kill(identity["pid"], signal.SIGKILL)
        for folder in self.begun:
            for pid in marked_processes(folder):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def launchers(tmp_path: Path) -> Iterator[Launchers]:
    found = Launchers(tmp_path)
    yield found
    found.end()


def codes(report: LauncherRequest | Report) -> list[tuple[int | None, int | None, str]]:
    assert isinstance(report, AttemptEnded)
    return [(end.code, end.signal, end.reason) for end in report.exits]


def test_a_gang_is_reported_when_it_runs_and_when_it_has_ended(launchers: Launchers) -> None:
    launchers.send(launchers.gang("exit 0"))
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
    launchers: Launchers, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = Launchers(tmp_path / "other")
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
        send_datagram(launchers.folder / "launcher.sock", notice)
        told = AttemptProgressed(request.attempt, epochs, ((epochs, 0.5),))
        assert launchers.report() == told


def test_a_repeated_request_starts_nothing(launchers: Launchers) -> None:
    request = launchers.gang("echo once; exec sleep 1000", size=1)
    for _ in range(3):
        launchers.send(request)
    launchers.report()
    launchers.send(StopAttempt(request.attempt, signal.SIGTERM, 5.0))
    while not isinstance(launchers.report(), AttemptEnded):
        pass
    log = launchers.folder / "attempts" / "7" / "1" / "rank-0" / "log"
    assert log.read_text() == "once\n"


def test_a_gang_whose_folder_cannot_be_made_ends_without_a_start(launchers: Launchers) -> None:
    request = replace(launchers.gang("true"), folder="/proc/no/such/folder")
    launchers.send(request)
    assert {reason for _, _, reason in codes(launchers.report())} == {"never_started"}


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
