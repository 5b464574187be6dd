"""The process that predicts: it ends, and another one is asked."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from live_server import LiveServer
from motet.interfaces.server.predictions.follower_process import FollowerProcess
from waiting import wait_until


@pytest.mark.soak
def test_a_process_that_ends_is_a_failed_round_with_its_time(tmp_path: Path) -> None:
    process = FollowerProcess(str(tmp_path / "no-journal" / "journal.db"), tmp_path)
    found = process.ask(0)
    process.close()
    process.wait()
    assert found.keys() == {"failed", "cpu_s"}
    assert found["failed"] == "the process ended with status 1"
    assert found["cpu_s"] > 0.0


@pytest.mark.cluster
def test_ctrl_c_in_the_terminal_of_the_server_ends_it_without_a_traceback(tmp_path: Path) -> None:
    """A terminal sends the signal to all processes of the group in its foreground."""
    server = LiveServer(tmp_path / "state", "--cluster", "1x1")
    try:
        client = server.start()
        for name in ("runs", "waits"):
            client.submit({"name": name, "run": "sleep 1000", "workdir": "/"})
        wait_until(lambda: bool(server.processes_of("motet.interfaces.forecasts.follower")))
        assert server.process is not None
        for pid in server.processes_of("motet.interfaces.forecasts.follower"):
            assert os.getsid(pid) == pid  # No terminal stops it, as with `stty tostop`.
        os.killpg(server.process.pid, signal.SIGINT)
        server.process.wait(timeout=60)
        assert "Traceback" not in server.said()
        assert "prediction_failed" not in server.said()
    finally:
        server.kill_everything()
