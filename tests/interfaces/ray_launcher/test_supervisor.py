"""The supervisor of a machine without Ray: sessions, epochs, and what it passes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.interfaces.ray_launcher.supervisor import PROBED, Opening, Supervisor
from motet.live.launcher.leftovers import MARK
from motet.live.launcher.message_lines import message_line
from motet.live.launcher.messages import RankTask, StartAttempt
from motet.live.launcher.node_messages import (
    HoldRanks,
    InstructRanks,
    RankEnded,
    RankHeld,
    RankReport,
    RankStarted,
    parse_node_message,
)


class Machine:
    """A supervisor, and the reports that it has passed on."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.supervisor, self.known = folder, Supervisor(), 0
        for name in PROBED:
            (folder / name).mkdir(exist_ok=True)
            (folder / name / "probe").write_text("seen")
        self.session, self.clock_s = 0, 0.0

    def opening(self, epoch: int, probe: str = "seen") -> Opening:
        path = str(self.folder / "probe")
        return Opening(epoch, str(self.folder), (path, probe), "node", "10.0.0.1")

    def open(self, epoch: int) -> None:
        opened = self.supervisor.open(self.opening(epoch))
        assert opened.refusal == ""
        self.session, self.clock_s, self.known = opened.session, opened.clock_s, 0

    def send(self, *requests: HoldRanks | InstructRanks) -> None:
        assert self.supervisor.send(self.session, tuple(map(message_line, requests)))

    def reports(self, count: int) -> list[RankReport]:
        """The next ones."""
        found: list[RankReport] = []
        while len(found) < count:
            polled = self.supervisor.poll(self.session, self.known, 60.0)
            assert polled is not None
            found += [parse_node_message(line) for line in polled.reports]
            self.known, self.clock_s = polled.first + len(polled.reports), polled.clock_s
        return found

    def attempt(self, script: str) -> StartAttempt:
        folder = str(self.folder / "7" / "1")
        env = {"PATH": os.environ["PATH"], MARK: folder, "MOTET_RANK": "0"}
        task = RankTask("m0", ("sh", "-c", script), "/", env)
        return StartAttempt("7.1", folder, (task,), signal.SIGTERM, 5.0, 600.0)

    def instruct(self, phase: str) -> None:
        self.send(InstructRanks("7.1", phase, signal.SIGTERM, 5.0, self.clock_s))


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    found = Machine(tmp_path)
    found.open(3)
    yield found
    found.supervisor.close()


def test_an_earlier_master_and_a_machine_without_the_folder_are_refused(machine: Machine) -> None:
    refusals = [
        machine.supervisor.open(machine.opening(2)).refusal,
        machine.supervisor.open(machine.opening(4, probe="another")).refusal,
    ]
    assert refusals[0] == "a later master has taken over (epoch 3)"
    assert "does not see" in refusals[1]


@pytest.mark.parametrize("name", ["checkpoints", "results"])
def test_a_machine_with_a_folder_of_its_own_for_checkpoints_is_refused(
    machine: Machine, name: str
) -> None:
    (machine.folder / name / "probe").unlink()
    refusal = machine.supervisor.open(machine.opening(4)).refusal
    assert refusal == (
        f"does not see {machine.folder / name}; it must be on storage that all machines share"
    )


def test_a_process_is_held_started_and_adopted_by_the_next_session(machine: Machine) -> None:
    start = machine.attempt("echo $MOTET_NODE_ADDRESS; exec sleep 1000")
    machine.send(HoldRanks(start, (0,), machine.clock_s))
    (held,) = machine.reports(1)
    assert isinstance(held, RankHeld)
    machine.instruct("run")
    (started,) = machine.reports(1)
    assert isinstance(started, RankStarted)
    assert started.meeting_point == held.meeting_point
    earlier = machine.session
    machine.open(4)
    assert not machine.supervisor.send(earlier, ())
    assert machine.supervisor.poll(earlier, 0, 60.0) is None
    machine.send(HoldRanks(start, (0,), machine.clock_s))
    assert machine.reports(1) == [started]
    machine.instruct("stop")
    (ended,) = machine.reports(1)
    assert isinstance(ended, RankEnded)
    assert (ended.end.signal, ended.end.reason) == (signal.SIGTERM, "stopped")
    log = machine.folder / "7" / "1" / "rank-0" / "log"
    assert log.read_text() == "10.0.0.1\n"


def test_the_end_of_the_launcher_ends_the_session(machine: Machine) -> None:
    machine.supervisor.close()
    assert machine.supervisor.poll(machine.session, 0, 60.0) is None
