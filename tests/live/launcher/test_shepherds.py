"""A launcher's spawner that is killed at any moment: every folder has one shepherd."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.live.launcher import shepherds
from motet.live.launcher.messages import RankTask, StartAttempt
from motet.live.launcher.node_messages import HoldRanks, RankEnded, RankHeld, RankReport
from motet.live.launcher.rank_files import RankFiles
from motet.live.launcher.rank_group import NodeContext, RankGroup
from motet.live.launcher.shepherds import MOST_TRIES, ShepherdSpawner, attach_to_shepherd
from motet.live.spawner import NAME, SHEPHERD_NAME
from waiting import wait_until

FOLDERS, KILLS = 60, 25


class Folder:
    """Of one process, on this machine."""

    def __init__(self, path: Path) -> None:
        self.path, self.reports = path, list[RankReport]()
        task = RankTask("m0", ("true",), "/", {})
        self.start = StartAttempt("7.1", str(path), (task,), signal.SIGTERM, 5.0, 600.0)
        self.hold = HoldRanks(self.start, (0,), time.monotonic())

    def files(self) -> RankFiles:
        found = RankFiles.of(self.start, 0)
        found.write_task(self.hold, 0, 1, self.path / "nobody.sock", {})
        return found

    def claimed_by(self) -> int:
        pid: int = json.loads((self.path / "rank-0" / "shepherd.json").read_text())["pid"]
        return pid


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for pid in shepherds_below(tmp_path):
        os.kill(pid, signal.SIGKILL)


def spawners() -> list[int]:
    """Of this process."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in children if command_of(pid) == NAME.encode()]


def shepherds_below(home: Path) -> list[int]:
    words = SHEPHERD_NAME.encode() + b"\0" + bytes(home) + b"/"
    numbers = [each.name for each in Path("/proc").iterdir() if each.name.isdigit()]
    return [int(pid) for pid in numbers if command_of(pid).startswith(words)]


def command_of(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0")
    except OSError:
        return b""


@pytest.mark.soak
def test_every_folder_has_one_shepherd_although_spawners_are_killed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shepherds, "MOST_TRIES", KILLS + 1)
    folders, draw = [Folder(home / str(number)) for number in range(FOLDERS)], random.Random(0)
    killed = set[int]()

    async def kill_some() -> None:
        while len(killed) < KILLS and not all(each.done() for each in answers):
            await asyncio.sleep(draw.uniform(0.0, 0.03))
            for pid in spawners():
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)

    async def run() -> None:
        spawner = ShepherdSpawner()
        answers.extend(spawner.spawn(folder.files()) for folder in folders)
        await kill_some()
        for pidfd in await asyncio.gather(*answers):
            os.close(pidfd)
        spawner.close()

    answers = list["asyncio.Future[int]"]()
    asyncio.run(run())
    wait_until(lambda: all((each.path / "rank-0" / "shepherd.json").exists() for each in folders))
    wait_until(lambda: len(shepherds_below(home)) <= FOLDERS)
    assert sorted(shepherds_below(home)) == sorted(each.claimed_by() for each in folders)
    assert killed
    assert spawners() == []


def test_a_request_is_repeated_if_the_spawner_has_not_even_read_it(home: Path) -> None:
    async def run() -> None:
        spawner = ShepherdSpawner()
        os.close(await spawner.spawn(Folder(home / "1").files()))
        (pid,) = spawners()
        os.kill(pid, signal.SIGSTOP)
        second = spawner.spawn(Folder(home / "2").files())
        os.kill(pid, signal.SIGKILL)
        os.close(await second)
        assert spawners() != [pid]
        spawner.close()

    asyncio.run(run())
    wait_until(lambda: len(shepherds_below(home)) == 2)


def test_the_next_spawner_is_started_when_there_is_a_request(home: Path) -> None:
    async def run() -> None:
        spawner = ShepherdSpawner()
        os.close(await spawner.spawn(Folder(home / "1").files()))
        (pid,) = spawners()
        os.kill(pid, signal.SIGKILL)
        while spawners():
            await asyncio.sleep(0.01)
        os.close(await spawner.spawn(Folder(home / "2").files()))
        assert len(spawners()) == 1
        spawner.close()

    asyncio.run(run())


def test_a_spawner_that_cannot_start_is_not_tried_for_ever(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shepherds, "_START", "import sys; sys.exit(1)")
    folder = Folder(home)

    async def run() -> None:
        context = NodeContext(1, home / "notices", None)
        group = RankGroup(folder.hold, context, folder.reports.append)
        group.begin()
        while not group.has_ended:
            await asyncio.sleep(0.01)

    asyncio.run(run())
    (report,) = folder.reports
    assert isinstance(report, RankEnded)
    assert report.end.reason == "never_started"
    log = (home / "rank-0" / "log").read_text()
    assert log == (
        "motet: the process cannot be started: "
        f"{MOST_TRIES} processes that fork shepherds have ended, the last with code 1\n"
    )


def test_without_an_interpreter_nothing_is_started(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/program")

    async def run() -> None:
        spawner = ShepherdSpawner()
        for number in ("1", "2"):
            with pytest.raises(FileNotFoundError):
                await spawner.spawn(Folder(home / number).files())

    asyncio.run(run())


def test_the_requests_behind_one_that_fails_are_answered(home: Path) -> None:
    async def run() -> None:
        spawner = ShepherdSpawner()
        first, last = (Folder(home / number).files() for number in ("1", "3"))
        answers = [spawner.spawn(it) for it in (first, RankFiles(home / "2"), last)]
        found = await asyncio.gather(*answers, return_exceptions=True)
        assert isinstance(found[1], FileNotFoundError)
        for pidfd in (found[0], found[2]):
            assert isinstance(pidfd, int)
            os.close(pidfd)
        spawner.close()

    asyncio.run(run())


class RepliesLost(ShepherdSpawner):
    """Every request ends with an error, once its shepherd has claimed the folder."""

    def spawn(self, files: RankFiles) -> asyncio.Future[int]:
        return asyncio.ensure_future(self._spawn(files))

    async def _spawn(self, files: RankFiles) -> int:
        os.close(await super().spawn(files))
        while files.identity() is None:
            await asyncio.sleep(0.01)
        raise OSError("the reply is lost")


def test_a_shepherd_whose_reply_is_lost_is_followed(home: Path) -> None:
    folder = Folder(home)

    async def run() -> None:
        context = NodeContext(1, home / "notices", None, RepliesLost())
        group = RankGroup(folder.hold, context, folder.reports.append)
        group.begin()
        while not folder.reports:
            await asyncio.sleep(0.01)
        assert not group.has_ended
        context.spawner.close()

    asyncio.run(run())
    (report,) = folder.reports
    assert isinstance(report, RankHeld)
    assert shepherds_below(home) == [folder.claimed_by()]


def test_a_withdrawn_folder_gets_no_shepherd(home: Path) -> None:
    files = Folder(home).files()
    assert files.withdraw()
    assert not files.withdraw()

    async def run() -> None:
        spawner = ShepherdSpawner()
        os.close(await spawner.spawn(files))
        spawner.close()

    asyncio.run(run())
    wait_until(lambda: shepherds_below(home) == [])
    identity = files.identity()
    assert identity is not None
    assert attach_to_shepherd(files, identity) is None
