"""Requests of a coordinator that arrive late, and folders that were begun on another machine."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.live.launcher.message_lines import message_line
from motet.live.launcher.messages import RankTask, StartAttempt
from motet.live.launcher.node_messages import (
    HoldRanks,
    InstructRanks,
    MeetingPoint,
    RankElsewhere,
    RankHeld,
    RankReport,
    parse_node_message,
)
from motet.live.launcher.rank_group import NodeContext, RankGroup
from small_disk import SmallDisk, small_disk

LEASE_S = 60.0


class Node:
    """A rank on this machine, and what it reports."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.reports = folder, list[RankReport]()
        task = RankTask("m0", ("sleep", "1000"), "/", {"PATH": os.environ["PATH"]})
        self.start = StartAttempt("7.1", str(folder), (task,), signal.SIGTERM, 5.0, LEASE_S)
        self.context = NodeContext(1, folder / "notices", "10.0.0.1")
        hold = HoldRanks(self.start, (0,), time.monotonic())
        self.group = RankGroup(hold, self.context, self.reports.append)

    def file(self, name: str) -> Path:
        folder = self.folder / "rank-0"
        folder.mkdir(exist_ok=True)
        return folder / name


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    found = Node(tmp_path)
    yield found
    identity = found.file("shepherd.json")
    if identity.exists() and (pid := json.loads(identity.read_text())["pid"]) != os.getpid():
        os.kill(pid, signal.SIGKILL)


def test_a_rank_that_another_machine_has_begun_is_neither_adopted_nor_declared_dead(
    node: Node,
) -> None:
    identity = {"pid": os.getpid(), "start_ticks": 1, "boot": "of another machine"}
    node.file("shepherd.json").write_text(json.dumps(identity))
    node.group.begin()
    assert node.reports == [RankElsewhere("7.1", 0)]
    assert not node.group.has_ended


def test_an_instruction_that_is_older_than_the_lease_is_ignored(node: Node) -> None:
    async def instruct(as_of_s: float) -> str:
        node.group.instruct(InstructRanks("7.1", "run", 15, 5.0, as_of_s))
        found: str = json.loads(node.file("control.json").read_text())["phase"]
        return found

    async def check() -> None:
        node.group.begin()
        while not node.file("shepherd.json").exists():
            await asyncio.sleep(0.01)
        node.group.changed(0)
        assert await instruct(time.monotonic() - LEASE_S) == "hold"
        assert await instruct(time.monotonic()) == "run"

    asyncio.run(check())


def test_an_instruction_waits_until_the_disk_has_room(tmp_path: Path) -> None:
    async def check(disk: SmallDisk) -> None:
        node = Node(disk.path)
        node.group.begin()
        while not node.file("shepherd.json").exists():
            await asyncio.sleep(0.01)
        node.group.changed(0)
        disk.fill()
        node.group.instruct(InstructRanks("7.1", "run", 15, 5.0, time.monotonic()))
        assert json.loads(node.file("control.json").read_text())["phase"] == "hold"
        disk.enlarge(400)
        while not node.file("started.json").exists():
            await asyncio.sleep(0.01)
        node.group.instruct(InstructRanks("7.1", "stop", 15, 5.0, time.monotonic()))
        while not node.group.has_ended:
            await asyncio.sleep(0.01)

    with small_disk(tmp_path / "disk", 200) as disk:
        asyncio.run(check(disk))


def test_the_next_launcher_finds_the_same_meeting_point(node: Node) -> None:
    async def check() -> None:
        node.group.begin()
        while not node.file("shepherd.json").exists():
            await asyncio.sleep(0.01)
        node.group.changed(0)
        RankGroup(
            HoldRanks(node.start, (0,), time.monotonic()), node.context, node.reports.append
        ).begin()

    asyncio.run(check())
    first, again = node.reports
    assert isinstance(first, RankHeld)
    assert first.meeting_point is not None
    assert first.meeting_point.address == "10.0.0.1"
    assert again == first


def test_node_messages_survive_their_way_through_a_pipe(node: Node) -> None:
    messages = (
        HoldRanks(node.start, (0,), 12.5),
        InstructRanks("7.1", "run", 15, 5.0, 12.5, {"MASTER_ADDR": "10.0.0.1"}),
        RankHeld("7.1", 0, MeetingPoint("10.0.0.1", 20_000)),
        RankElsewhere("7.1", 0),
    )
    for message in messages:
        assert parse_node_message(message_line(message)) == message
