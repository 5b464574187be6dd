"""From reports about ranks to instructions for all of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path

from motet.domain.units import SECOND_US
from motet.live.launcher.attempt import GangAttempt
from motet.live.launcher.messages import (
    AttemptEnded,
    RankExit,
    RankTask,
    Report,
    StartAttempt,
)
from motet.live.launcher.node_messages import (
    MeetingPoint,
    RankEnded,
    RankHeld,
    RankReport,
    RankStarted,
)

POINT = MeetingPoint("10.0.0.1", 20_123)
VARIABLES = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "20123"}


class Watched:
    """An attempt of two processes, every phase that it demands, and its reports."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        tasks = tuple(RankTask(name, ("true",), "/", env or {}) for name in ("m1", "m2"))
        request = StartAttempt("7.1", "/nowhere", tasks, signal.SIGTERM, 5.0, 60.0)
        self.instructed: list[tuple[str, Mapping[str, str]]] = []
        self.reports: list[Report] = []
        self.attempt = GangAttempt(request, self.reports.append, self._note)

    def take(self, *reports: RankReport) -> None:
        for report in reports:
            self.attempt.take(report)

    def _note(self) -> None:
        instruction = self.attempt.instruction(0.0)
        self.instructed.append((instruction.phase, instruction.env))


def test_all_processes_get_the_place_that_the_first_one_has_chosen() -> None:
    gang = Watched()
    gang.take(RankHeld("7.1", 1), RankHeld("7.1", 0, POINT))
    assert gang.instructed == [("run", VARIABLES)]


def test_after_a_restart_no_process_starts_before_the_place_is_known() -> None:
    gang = Watched()
    gang.take(RankStarted("7.1", 1, 5.0))
    assert gang.instructed == []
    gang.take(RankHeld("7.1", 0, POINT))
    assert gang.instructed == [("run", VARIABLES)]


def test_a_first_process_that_has_ended_delays_no_other() -> None:
    gang = Watched()
    gang.take(RankHeld("7.1", 1), RankEnded("7.1", 0, RankExit(0, None, "exited", 1.0, 2.0)))
    gang.take(RankStarted("7.1", 1, 5.0))
    assert gang.instructed == [("run", {})]


def test_a_gang_is_stopped_before_the_place_is_known() -> None:
    gang = Watched()
    gang.take(RankEnded("7.1", 1, RankExit(None, None, "never_started", None, 2.0)))
    assert [phase for phase, _ in gang.instructed] == ["stop"]


def test_the_end_tells_when_the_last_checkpoint_was_written(tmp_path: Path) -> None:
    gang = Watched({"MOTET_CHECKPOINT_DIR": str(tmp_path / "checkpoints")})
    end = RankExit(None, 15, "stopped", 1.0, 2.0)
    gang.take(RankEnded("7.1", 0, end))
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "last.pt").touch()
    os.utime(tmp_path / "checkpoints" / "last.pt", (1000, 1000))
    gang.take(RankEnded("7.1", 1, end))
    (told,) = (each for each in gang.reports if isinstance(each, AttemptEnded))
    assert told.saved_us == 1000 * SECOND_US
