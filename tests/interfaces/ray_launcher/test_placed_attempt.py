"""Gangs on machines that are lost: when their processes are dead, and what is never started."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from motet.interfaces.ray_launcher.cluster_nodes import SeenNode
from motet.interfaces.ray_launcher.placed_attempt import PlacedAttempt, PlacedOn
from motet.interfaces.ray_launcher.reservations import Bundle, NoReservation
from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptRunning,
    RankTask,
    Report,
    StartAttempt,
    StopAttempt,
)
from motet.live.launcher.node_messages import HoldRanks, RankElsewhere, RankHeld, RankStarted

LEASE_S, GRACE_S = 100.0, 5.0
SURELY_DEAD_S = 2 * (LEASE_S + GRACE_S)


class Link:
    """A machine that remembers what it was told."""

    def __init__(self, name: str) -> None:
        self.node = SeenNode(f"id-{name}", name, "10.0.0.1", 2, takes_jobs=True)
        self.is_open, self.clock_s = True, 7.0
        self.told: list[Any] = []

    def send(self, request: Any) -> None:
        self.told.append(request)


class Room:
    """Reservations that a test grants or not."""

    def __init__(self) -> None:
        self.refusal, self.counts = "", dict[str, int]()

    async def reserve(
        self,
        attempt: str,
        bundles: Mapping[str, Bundle],
        is_needed: Callable[[], bool],
    ) -> None:
        assert is_needed()
        if self.refusal:
            raise NoReservation(self.refusal)
        self.counts[attempt] = sum(bundle["CPU"] for bundle in bundles.values())


class Gang:
    """A gang of two processes on two machines."""

    def __init__(self, folder: Path, *, takes_slots: bool = True) -> None:
        self.links = {name: Link(name) for name in ("m1", "m2")}
        self.room, self.heard_s, self.reports = Room(), time.monotonic(), list[Report]()
        tasks = tuple(RankTask(name, ("true",), "/") for name in self.links)
        self.folder = folder
        times = signal.SIGTERM, GRACE_S, LEASE_S
        request = StartAttempt("7.1", str(folder), tasks, *times, takes_slots=takes_slots)
        cluster: Any = PlacedOn(self.links, lambda name: self.heard_s, self.room)
        self.attempt = PlacedAttempt(request, cluster, self.reports.append)

    def begin(self) -> None:
        asyncio.run(self.attempt.begin())

    def run(self) -> None:
        self.begin()
        for rank in (0, 1):
            self.attempt.take(RankHeld("7.1", rank))
        for rank in (0, 1):
            self.attempt.take(RankStarted("7.1", rank, 1.0))
        assert self.reports == [AttemptRunning("7.1", 1.0)]

    def lose(self, name: str) -> None:
        del self.links[name]
        self.attempt.lost(name)

    def phases(self, name: str) -> list[str]:
        return [each.phase for each in self.links[name].told if not isinstance(each, HoldRanks)]

    def record_exit(self, rank: int, reason: str) -> None:
        folder = self.folder / f"rank-{rank}"
        folder.mkdir(parents=True, exist_ok=True)
        record = {"code": None, "signal": 15, "reason": reason, "started_at": 1.0, "ended_at": 2.0}
        (folder / "exit.json").write_text(json.dumps(record))

    def reasons(self) -> list[str]:
        ended = self.reports[-1]
        assert isinstance(ended, AttemptEnded)
        return [end.reason for end in ended.exits]


@pytest.fixture
def gang(tmp_path: Path) -> Gang:
    return Gang(tmp_path)


def test_no_process_starts_before_all_are_held(gang: Gang) -> None:
    gang.begin()
    gang.attempt.take(RankHeld("7.1", 0))
    assert gang.phases("m1") == ["hold"]
    gang.attempt.take(RankHeld("7.1", 1))
    assert (gang.phases("m1"), gang.phases("m2")) == (["hold", "run"], ["hold", "run"])


def test_a_gang_without_room_is_not_begun_anywhere(gang: Gang) -> None:
    gang.room.refusal = "other programs use the cluster"
    gang.begin()
    assert gang.reasons() == ["never_started"] * 2
    assert [link.told for link in gang.links.values()] == [[], []]
    assert "other programs" in (gang.folder / "rank-0" / "log").read_text()


def test_what_runs_beside_jobs_needs_no_room(tmp_path: Path) -> None:
    gang = Gang(tmp_path, takes_slots=False)
    gang.room.refusal = "other programs use the cluster"
    gang.begin()
    assert (gang.phases("m1"), gang.room.counts) == (["hold"], {})


def test_what_runs_beside_jobs_is_not_begun_on_a_machine_that_has_left(tmp_path: Path) -> None:
    gang = Gang(tmp_path, takes_slots=False)
    del gang.links["m2"]
    gang.begin()
    assert gang.reasons() == ["never_started"] * 2


def test_processes_of_a_lost_machine_are_dead_after_lease_and_grace(gang: Gang) -> None:
    gang.run()
    gang.lose("m2")
    assert gang.phases("m1")[-1] == "stop"
    gang.record_exit(0, "stopped")
    gang.links["m1"].is_open = False
    gang.attempt.look()
    assert len(gang.reports) == 1
    gang.heard_s = time.monotonic() - SURELY_DEAD_S
    gang.attempt.look()
    assert gang.reasons() == ["stopped", "lost"]


def test_an_exit_record_shows_a_death_before_the_lease_has_ended(gang: Gang) -> None:
    gang.run()
    gang.lose("m2")
    gang.record_exit(0, "stopped")
    gang.record_exit(1, "lease")
    gang.links["m1"].is_open = False
    gang.attempt.look()
    assert gang.reasons() == ["stopped", "lease"]


def test_a_machine_that_returns_is_told_to_stop_what_it_still_has(gang: Gang) -> None:
    gang.run()
    gang.lose("m2")
    back: Any = Link("m2")
    gang.links["m2"] = back
    gang.attempt.hold_on(back)
    hold, instruction = back.told
    assert (hold.own, instruction.phase) == ((1,), "stop")


def test_a_rank_that_another_host_has_begun_is_not_declared_dead_by_its_successor(
    gang: Gang,
) -> None:
    gang.run()
    gang.attempt.take(RankElsewhere("7.1", 1))
    gang.heard_s = time.monotonic() - SURELY_DEAD_S
    gang.attempt.look()
    assert len(gang.reports) == 1
    assert gang.phases("m1")[-1] == "stop"


def test_an_adopted_gang_that_was_stopped_meanwhile_is_stopped(gang: Gang) -> None:
    identity = {"pid": 1, "start_ticks": 1, "boot": "any"}
    for rank in (0, 1):
        folder = gang.folder / f"rank-{rank}"
        folder.mkdir()
        (folder / "shepherd.json").write_text(json.dumps(identity))
    gang.attempt.stop(StopAttempt("7.1", signal.SIGUSR1, 1.0))
    gang.begin()
    assert gang.room.counts == {}
    assert {gang.links[name].told[-1].stop_signal for name in gang.links} == {signal.SIGUSR1}
    assert gang.phases("m1")[-1] == "stop"
