"""Signals that come before a training has begun end all of its processes at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from motet.live.jobs.attempt import UNFINISHED
from motet.runtime.backends.gang.cluster import GangCluster
from motet.runtime.backends.gang.meeting_place import MeetingPlace
from waiting import wait_until

_STOPS_EARLY = """
import os, signal, sys, threading
from pathlib import Path
from motet.interfaces.training_gang.stop_requests import StopRequests
from motet.runtime.backends.gang.meeting_place import MeetingPlace
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
StopRequests([signal.SIGUSR1], 75, MeetingPlace(Path(sys.argv[1])).close)
os.kill(os.getpid(), signal.SIGUSR1)
threading.Event().wait()
"""


@contextmanager
def gang_process(folder: Path, rank: int, spec: str = "{}") -> Iterator[subprocess.Popen[bytes]]:
    own = {"MOTET_ATTEMPT_DIR": str(folder), "MOTET_RANK": str(rank), "MOTET_JOB_ID": "1"}
    command = [sys.executable, "-P", "-m", "motet.interfaces.training_gang", spec]
    with subprocess.Popen(command, env=os.environ | own, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def handles(process: subprocess.Popen[bytes], number: signal.Signals) -> bool:
    """Whether it has a handler of its own for this signal."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    (caught,) = (line.split()[1] for line in lines if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_process_without_a_controller_ends_with_the_signal(
    tmp_path: Path, number: signal.Signals
) -> None:
    """The same signal may have ended the first process before it announced itself."""
    with gang_process(tmp_path, 1) as process:
        wait_until(lambda: handles(process, number))
        process.send_signal(number)
        assert process.wait() == UNFINISHED


def test_a_process_with_a_controller_leaves_the_signal_to_it(tmp_path: Path) -> None:
    with gang_process(tmp_path, 1) as process:
        with GangCluster(tmp_path / "gang", 2):
            wait_until(lambda: handles(process, signal.SIGTERM))
            process.send_signal(signal.SIGTERM)
        assert process.wait() == 0


def test_a_first_process_that_is_stopped_early_sends_the_others_away(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _STOPS_EARLY, str(tmp_path / "gang")]
    assert subprocess.run(command, check=False).returncode == UNFINISHED
    assert MeetingPlace(tmp_path / "gang").await_controller() is None


def test_a_first_process_that_cannot_begin_sends_the_others_away(tmp_path: Path) -> None:
    with gang_process(tmp_path, 0) as process:
        _, told = process.communicate()
    assert process.returncode == 2
    assert b"motet: error:" in told
    assert MeetingPlace(tmp_path / "gang").await_controller() is None
