"""The process that predicts: it ends, and another one is asked."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from live_server import LiveServer
from motet.domain.units import SECOND_US
from motet.interfaces.server.predictions.follower_process import FollowerProcess
from motet.live.journal.store import JournalStore
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from private_postgresql import private_postgresql
from timed_master import play
from waiting import wait_until

NOON_US = 1_700_000_000 * SECOND_US
CLUSTER, FIFO = ClusterDeclared(("m0",), (2,)), ChoosePolicy("fifo")


@pytest.mark.soak
def test_a_process_that_ends_is_a_failed_round_with_its_time(tmp_path: Path) -> None:
    state = tmp_path / "no-folder"  # For the file with the predictions.
    with JournalStore(str(tmp_path / "journal.db")) as journal:
        play(journal, CLUSTER, [(NOON_US, SECOND_US, 1)], FIFO)
    process = FollowerProcess(str(tmp_path / "journal.db"), state)
    found = process.ask(0)
    process.close()
    process.wait()
    assert found.keys() == {"failed", "cpu_s"}
    assert found["failed"] == "the process ended with status 1"
    assert found["cpu_s"] > 0.0


@pytest.mark.timeout(600)
def test_a_database_that_ends_is_one_failure_without_a_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with private_postgresql() as database:
        url = database.database("journal")
        with JournalStore(url) as journal:
            play(journal, CLUSTER, [(NOON_US, SECOND_US, 1)], FIFO)
        process = FollowerProcess(url, tmp_path)
        assert process.ask(0)["failed"] == ""
        database.kill()
        while not (lost := process.ask(0)["failed"]):
            pass  # Children of a killed server live on for a moment.
        assert lost.startswith("the database of the journal has ended the connection (")
        assert process.ask(0)["failed"] == lost  # Now it refuses a connection.
        database.start()
        assert process.ask(0)["failed"] == ""
        process.close()
        process.wait()
    assert capfd.readouterr().err == ""


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
