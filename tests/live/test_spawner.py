"""Spawners with real shepherds: what these inherit, and what dies with what."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from motet.live.launcher.rank_files import RankFiles
from motet.live.launcher.shepherds import read_reply, request_shepherd
from motet.live.process_table import start_ticks, stat_fields
from motet.live.shepherd import SIGNALS, write_durably
from motet.live.spawner import NAME, SHEPHERD_NAME
from spawner_process import ForkedShepherd, SpawnerProcess
from waiting import wait_until

OWN_DESCRIPTORS = 5
"""Of a spawner: three standard ones and a pipe."""


class Folders:
    """Folders of processes, and the shepherds that were forked for them."""

    def __init__(self, home: Path) -> None:
        self.home, self.forked = home, list[ForkedShepherd]()

    def make(self) -> Path:
        folder = self.home / f"rank-{len([*self.home.iterdir()])}"
        folder.mkdir()
        task = {
            "attempt": "1.1",
            "rank": 0,
            "epoch": 1,
            "argv": ["sh", "-c", "echo ran"],
            "cwd": "/",
            "env": {"PATH": os.environ["PATH"]},
            "lease_s": 600.0,
            "as_of_s": time.monotonic(),
            "stop": {"signal": signal.SIGTERM, "grace_s": 0.2},
            "notify": str(folder / "nobody.sock"),
        }
        (folder / "task.json").write_text(json.dumps(task))
        return folder

    def held(self, spawner: SpawnerProcess, folder: Path | None = None) -> ForkedShepherd:
        """A shepherd that has claimed a folder; None: a new one."""
        folder = folder or self.make()
        found = spawner.fork(folder)
        self.forked.append(found)
        wait_until((folder / "shepherd.json").exists)
        return found

    def runs_to_its_end(self, shepherd: ForkedShepherd) -> bool:
        folder = next(
            path.parent
            for path in self.home.glob("*/shepherd.json")
            if json.loads(path.read_text())["pid"] == shepherd.pid
        )
        control = {"epoch": 1, "phase": "run", "as_of_s": time.monotonic()}
        write_durably(folder / "control.json", control)
        shepherd.send_signal(signal.SIGUSR1)
        shepherd.wait()
        end = json.loads((folder / "exit.json").read_text())
        return (end["code"], (folder / "log").read_text()) == (0, "ran\n")


@pytest.fixture
def spawner() -> Iterator[SpawnerProcess]:
    found = SpawnerProcess()
    yield found
    found.end()


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Folders]:
    found = Folders(tmp_path)
    yield found
    for each in found.forked:
        try:
            each.kill()
        except ProcessLookupError:
            continue
    for each in found.forked:
        each.close()


def test_a_shepherd_has_no_descriptors_of_the_spawner(
    spawner: SpawnerProcess, folders: Folders
) -> None:
    folder = folders.make()
    held, own = folders.held(spawner, folder).pid, spawner.process.pid
    nothing, errors = os.devnull, str(folder / "shepherd.err")
    # Both have others for a moment: for a notice, and for a reply.
    wait_until(lambda: descriptors_of(held) == {0: nothing, 1: nothing, 2: errors})
    wait_until(lambda: len(descriptors_of(own)) == OWN_DESCRIPTORS)


def descriptors_of(pid: int) -> dict[int, str]:
    found = dict[int, str]()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # Closed meanwhile.
            found[int(each.name)] = os.readlink(each)
    return found


def test_a_shepherd_leads_its_session_in_the_root_folder_without_variables(
    spawner: SpawnerProcess, folders: Folders
) -> None:
    pid = folders.held(spawner).pid
    process = Path(f"/proc/{pid}")
    assert os.getsid(pid) == os.getpgid(pid) == pid
    assert os.readlink(process / "cwd") == "/"
    assert (process / "environ").read_bytes() == b""
    for name in ("cgroup", "oom_score_adj", "limits"):
        assert (process / name).read_text() == Path(f"/proc/self/{name}").read_text()


def test_a_shepherd_has_signals_of_its_own(spawner: SpawnerProcess, folders: Folders) -> None:
    lines = Path(f"/proc/{folders.held(spawner).pid}/status").read_text().splitlines()
    masks = {
        name: int(words[0], 16)
        for name, *words in (line.replace(":", " ").split() for line in lines)
        if name.startswith("Sig") and name != "SigQ"
    }
    assert not masks["SigBlk"] & ~sum(1 << number - 1 for number in SIGNALS)
    ignored = {signal.SIGINT, signal.SIGHUP}
    assert all(masks["SigIgn"] & 1 << number - 1 for number in ignored)
    assert not any((masks["SigIgn"] | masks["SigCgt"]) & 1 << number - 1 for number in SIGNALS)


def test_ps_shows_which_folder_a_shepherd_has(spawner: SpawnerProcess, folders: Folders) -> None:
    folder = folders.make()
    shown = {
        pid: (Path(f"/proc/{pid}/comm").read_text(), Path(f"/proc/{pid}/cmdline").read_bytes())
        for pid in (spawner.process.pid, folders.held(spawner, folder).pid)
    }
    (comm, line), (shepherd_comm, shepherd_line) = shown.values()
    assert (comm, line.rstrip(b"\0")) == (f"{NAME}\n", NAME.encode())
    assert shepherd_comm == f"{SHEPHERD_NAME}\n"
    assert shepherd_line.rstrip(b"\0") == b"%s\0%s" % (SHEPHERD_NAME.encode(), bytes(folder))


def test_a_folder_whose_path_is_longer_than_the_command_line_has_a_shepherd(
    spawner: SpawnerProcess, folders: Folders
) -> None:
    long = folders.home / "/".join(["a" * 200] * 8)
    long.mkdir(parents=True)
    folder = folders.make().rename(long / "rank-0")
    pid = folders.held(spawner, folder).pid
    assert Path(f"/proc/{pid}/cmdline").read_bytes().startswith(SHEPHERD_NAME.encode())
    assert Path(f"/proc/{pid}/environ").read_bytes() == b""


def test_shepherds_that_have_ended_are_collected(spawner: SpawnerProcess, folders: Folders) -> None:
    ended = [folders.held(spawner) for _ in range(10)]
    for each in ended:
        each.kill()
    wait_until(lambda: all(start_ticks(each.pid) is None for each in ended))
    assert folders.runs_to_its_end(folders.held(spawner))


def test_shepherds_outlive_a_killed_spawner(spawner: SpawnerProcess, folders: Folders) -> None:
    running = [folders.held(spawner) for _ in range(3)]
    spawner.process.kill()
    spawner.process.wait()
    with pytest.raises(ConnectionError):
        spawner.fork(folders.make())
    assert all(folders.runs_to_its_end(each) for each in running)


def test_a_spawner_ends_with_its_launcher_and_leaves_the_shepherds(
    spawner: SpawnerProcess, folders: Folders
) -> None:
    running = [folders.held(spawner) for _ in range(3)]
    spawner.end()
    assert spawner.process.returncode == 0
    assert {fields[1] for each in running if (fields := stat_fields(str(each.pid)))}
    assert all(folders.runs_to_its_end(each) for each in running)


def test_one_of_two_shepherds_claims_a_folder(spawner: SpawnerProcess, folders: Folders) -> None:
    """A spawner that was killed may have forked the first one."""
    folder, other = folders.make(), SpawnerProcess()
    both = [spawner.fork(folder), other.fork(folder)]
    folders.forked += both
    other.end()
    wait_until((folder / "shepherd.json").exists)
    claimed = json.loads((folder / "shepherd.json").read_text())["pid"]
    first, second = sorted(both, key=lambda each: each.pid != claimed)
    second.wait()
    assert (first.pid, (folder / "shepherd.err").read_text()) == (claimed, "")
    assert folders.runs_to_its_end(first)


def test_an_error_of_a_shepherd_is_one_line_in_its_file(
    spawner: SpawnerProcess, folders: Folders, tmp_path: Path
) -> None:
    shepherd = spawner.fork(tmp_path)  # It has no task.
    shepherd.close()
    (line,) = (tmp_path / "shepherd.err").read_text().splitlines()
    assert line.startswith(f"motet-shepherd {tmp_path}: ")
    assert line.endswith(f"No such file or directory: '{tmp_path}/task.json'")
    assert folders.runs_to_its_end(folders.held(spawner))


def test_a_spawner_of_a_launcher_without_standard_error_has_one(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a descriptor of its own would take the place, and shepherds would lose theirs."""
    monkeypatch.setattr(sys, "stderr", None)
    spawner = SpawnerProcess()
    try:
        assert os.readlink(f"/proc/{spawner.process.pid}/fd/2") == os.devnull
        assert folders.runs_to_its_end(folders.held(spawner))
    finally:
        spawner.end()


@pytest.mark.parametrize("more", [0, 1])
def test_a_spawner_that_cannot_have_more_descriptors_says_so(
    spawner: SpawnerProcess, folders: Folders, more: int
) -> None:
    """`more`: without one the request has no file for errors, with one the shepherd no pidfd."""
    held, pid = folders.held(spawner), spawner.process.pid
    usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (OWN_DESCRIPTORS + more, usual[1]))
    folder = folders.make()
    request_shepherd(spawner.socket, RankFiles(folder))
    assert read_reply(spawner.socket) == (-errno.EMFILE, [])
    resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
    assert folders.runs_to_its_end(folders.held(spawner))
    wait_until(lambda: _children(pid) == {held.pid})


def _children(pid: int) -> set[int]:
    return {int(it) for it in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
