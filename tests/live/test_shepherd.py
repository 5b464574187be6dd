"""Shepherds with real processes, instructed by files and signals as the launcher does it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from motet.live import shepherd
from motet.live.process_table import descendants, start_ticks
from spawner_process import ForkedShepherd, SpawnerProcess
from waiting import wait_until


class Shepherded:
    """A folder with a task, and its shepherd."""

    def __init__(self, folder: Path, spawner: SpawnerProcess) -> None:
        self.folder, self._spawner = folder, spawner
        self.process: ForkedShepherd | None = None

    def begin(
        self,
        *argv: str,
        lease_s: float = 60.0,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
    ) -> None:
        task = {
            "attempt": "1.1",
            "rank": 0,
            "epoch": 1,
            "argv": argv,
            "cwd": cwd,
            "env": {"PATH": os.environ["PATH"], **(env or {})},
            "lease_s": lease_s,
            "as_of_s": time.monotonic(),
            "stop": {"signal": signal.SIGTERM, "grace_s": 0.2},
            "notify": str(self.folder / "nobody.sock"),
        }
        (self.folder / "task.json").write_text(json.dumps(task))
        self.process = self.spawn()
        wait_until(lambda: (self.folder / "shepherd.json").exists())

    def spawn(self) -> ForkedShepherd:
        return self._spawner.fork(self.folder)

    def instruct(
        self, phase: str, *, epoch: int = 1, grace_s: float = 30.0, as_of_s: float | None = None
    ) -> None:
        """`as_of_s`: when the lease begins that this grants; None: now."""
        assert self.process is not None
        begins_s = time.monotonic() if as_of_s is None else as_of_s
        control = {
            "epoch": epoch,
            "phase": phase,
            "signal": 15,
            "grace_s": grace_s,
            "as_of_s": begins_s,
        }
        shepherd.write_durably(self.folder / "control.json", control)
        self.process.send_signal(signal.SIGUSR1)

    def run(self, *argv: str, **options: Any) -> None:
        self.begin(*argv, **options)
        self.instruct("run")
        wait_until(lambda: (self.folder / "started.json").exists() or self.has_exit())

    def has_exit(self) -> bool:
        return (self.folder / "exit.json").exists()

    def exit(self) -> tuple[int | None, int | None, str]:
        """Code, signal and reason."""
        assert self.process is not None
        wait_until(self.has_exit)
        self.process.wait()
        found = json.loads((self.folder / "exit.json").read_text())
        return found["code"], found["signal"], found["reason"]

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()


@pytest.fixture(scope="module")
def spawner() -> Iterator[SpawnerProcess]:
    found = SpawnerProcess()
    yield found
    found.end()


@pytest.fixture
def rank(tmp_path: Path, spawner: SpawnerProcess) -> Iterator[Shepherded]:
    found = Shepherded(tmp_path, spawner)
    yield found
    if found.process is not None:
        for pid in [*descendants(found.process.pid), found.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        found.process.close()


def test_the_log_has_everything_that_the_process_writes(rank: Shepherded) -> None:
    rank.run("sh", "-c", "echo out; echo error >&2; echo $NAME", env={"NAME": "value"})
    assert rank.exit() == (0, None, "exited")
    assert rank.log == "out\nerror\nvalue\n"


@pytest.mark.parametrize(("script", "end"), [("exit 7", (7, None)), ("kill -9 $$", (None, 9))])
def test_the_record_has_exit_status_or_signal(
    rank: Shepherded, script: str, end: tuple[int | None, int | None]
) -> None:
    rank.run("sh", "-c", script)
    assert rank.exit() == (*end, "exited")


def test_a_command_that_does_not_exist_is_an_end_with_a_line_in_the_log(rank: Shepherded) -> None:
    rank.run("/no/such/program")
    assert rank.exit() == (127, None, "exited")
    assert rank.log == "motet: /no/such/program: No such file or directory\n"


def test_a_folder_that_does_not_exist_is_not_taken_for_the_command(rank: Shepherded) -> None:
    rank.run("true", cwd="/no/such/folder")
    assert rank.exit() == (1, None, "exited")
    assert rank.log == "motet: workdir /no/such/folder: No such file or directory\n"


@pytest.mark.parametrize("word", ["a\0b", "a\ud800b"])
def test_a_command_that_cannot_be_executed_is_an_end(rank: Shepherded, word: str) -> None:
    """Without a record the process would count as lost, and would be started again for ever."""
    rank.run("echo", word)
    assert rank.exit() == (126, None, "exited")
    assert rank.log.startswith("motet: echo: ")


def test_it_imports_no_slow_modules() -> None:
    """The first shepherd of a launcher waits for them."""
    code = (
        "import sys; sys.path.append(sys.argv[1]); import motet.live.spawner; print(*sys.modules)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(Path(shepherd.__file__).parents[2])]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "motet.live.shepherd" in found
    assert not {"pathlib", "typing", "urllib.parse", "dataclasses", "inspect"} & {*found}


def test_nothing_starts_before_the_phase_run(rank: Shepherded) -> None:
    rank.begin("true")
    rank.instruct("stop")
    assert rank.exit() == (None, None, "never_started")
    assert not (rank.folder / "started.json").exists()


def test_a_process_that_ends_on_the_signal_is_stopped_also_with_exit_status_0(
    rank: Shepherded,
) -> None:
    rank.run("sh", "-c", "trap 'echo saved; exit 0' TERM; echo ready; sleep 1000 & wait")
    wait_until(lambda: rank.log == "ready\n")
    rank.instruct("stop")
    assert rank.exit() == (0, None, "stopped")
    assert rank.log == "ready\nsaved\n"


def test_a_process_that_ignores_the_signal_is_killed_after_the_grace_period(
    rank: Shepherded,
) -> None:
    rank.run("sh", "-c", "trap '' TERM; echo ready; sleep 1000; sleep 1000")
    wait_until(lambda: rank.log == "ready\n")
    rank.instruct("stop", grace_s=0.1)
    assert rank.exit() == (None, 9, "stopped")


def test_no_process_is_left_when_the_record_appears(rank: Shepherded) -> None:
    rank.run("sh", "-c", "setsid sh -c 'sleep 1000 & sleep 1000' & sleep 0.1; echo done")
    wait_until(lambda: rank.log == "done\n")
    assert rank.process is not None
    assert rank.exit() == (0, None, "exited")
    assert descendants(rank.process.pid) == []


def test_a_killed_shepherd_takes_its_process_along(rank: Shepherded) -> None:
    rank.run("sleep", "1000")
    started = json.loads((rank.folder / "started.json").read_text())
    ticks = start_ticks(started["pid"])
    assert rank.process is not None
    rank.process.kill()
    rank.process.wait()
    wait_until(lambda: start_ticks(started["pid"]) != ticks or _is_zombie(started["pid"]))
    assert not rank.has_exit()


def test_a_process_without_renewed_lease_is_stopped(rank: Shepherded) -> None:
    rank.run("sleep", "1000", lease_s=3600.0)
    rank.instruct("run", as_of_s=time.monotonic() - 3600.0)
    assert rank.exit() == (None, 15, "lease")


def test_a_process_whose_lease_has_ended_is_not_started_any_more(rank: Shepherded) -> None:
    rank.begin("sleep", "1000", lease_s=3600.0)
    rank.instruct("hold", as_of_s=time.monotonic() - 3600.0)
    assert rank.exit() == (None, None, "never_started")


def test_instructions_of_an_earlier_master_are_ignored(rank: Shepherded) -> None:
    rank.run("sh", "-c", "sleep 0.5")
    rank.instruct("run", epoch=3)
    wait_until(lambda: _pending_signals(rank) == 0)
    rank.instruct("stop", epoch=2)
    assert rank.exit() == (0, None, "exited")


def test_a_second_shepherd_of_a_folder_ends_and_changes_nothing(rank: Shepherded) -> None:
    rank.run("sh", "-c", "echo once; sleep 0.3")
    before = (rank.folder / "shepherd.json").read_bytes()
    second = rank.spawn()
    second.wait()
    second.close()
    assert (rank.folder / "shepherd.err").read_text() == ""
    assert rank.exit() == (0, None, "exited")
    assert (rank.folder / "shepherd.json").read_bytes() == before
    assert rank.log == "once\n"


def test_a_notice_is_sent_again_until_the_queue_of_the_launcher_has_room(rank: Shepherded) -> None:
    """A gang has more processes than such a queue has places."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as notices:
        notices.bind(str(rank.folder / "nobody.sock"))
        filled = _fill(rank.folder / "nobody.sock")
        rank.begin("sleep", "1000")
        assert [notices.recv(100) for _ in range(filled)] == [b"full"] * filled
        notices.settimeout(300.0)
        assert json.loads(notices.recv(100)) == ["1.1", 0, "held"]
        rank.instruct("run")
        assert json.loads(notices.recv(100)) == ["1.1", 0, "started"]


def test_the_process_does_not_inherit_blocked_signals(rank: Shepherded) -> None:
    rank.run("grep", "SigBlk", "/proc/self/status")
    assert rank.exit() == (0, None, "exited")
    assert int(rank.log.split()[1], 16) == 0


def _fill(address: Path) -> int:
    """Datagrams until the queue of a socket is full."""
    for count in itertools.count():
        try:
            shepherd.send_datagram(address, b"full")
        except BlockingIOError:
            return count
    raise AssertionError


def _is_zombie(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"


def _pending_signals(rank: Shepherded) -> int:
    assert rank.process is not None
    for line in Path(f"/proc/{rank.process.pid}/status").read_text().splitlines():
        if line.startswith("ShdPnd"):
            return int(line.split()[1], 16) & 1 << (signal.SIGUSR1 - 1)
    return 0
