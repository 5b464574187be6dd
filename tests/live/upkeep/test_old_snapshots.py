"""Archives of snapshots go when no job needs them any more."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, cast

import pytest

from motet.live.launcher.messages import AttemptEnded, RankExit
from motet.live.master.loop import MasterLoop
from motet.live.master.state import LiveState
from motet.live.upkeep.old_jobs import DAY_US
from motet.live.upkeep.old_snapshots import forget_snapshots
from motet.live.workdirs.digest import archive_path
from motet.live.workdirs.store import SnapshotStore
from scripted_cluster import SECOND_US, ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


class Readable:
    """The state of a scripted cluster, read as that of a server."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        self._cluster = cluster

    def read(self, function: Callable[[LiveState], Any]) -> Future[Any]:
        found: Future[Any] = Future()
        found.set_result(function(self._cluster.master.state))
        return found


def test_archives_of_jobs_that_are_open_or_ended_lately_stay(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    names = [hashlib.sha256(each).hexdigest() for each in (b"over", b"late", b"open", b"none")]
    over, late, _ = (cluster.submit(snapshot=name) for name in names[:3])
    for job, days in ((over, 10), (late, 0)):
        cluster.until_started(job)
        end = RankExit(0, None, "exited", 0.0, cluster.now_us / SECOND_US)
        cluster.handle(AttemptEnded(f"{job}.1", (end,)))
        cluster.now_us += days * DAY_US
    folder = tmp_path / "snapshots"
    folder.mkdir()
    for name in names:
        archive_path(folder, name).touch()
        os.utime(archive_path(folder, name), (0, 0))
    store, master = SnapshotStore(folder), cast("MasterLoop", Readable(cluster))
    forget_snapshots(master, store, None, cluster.now_us)
    assert {each.stem for each in folder.iterdir()} == {*names}
    forget_snapshots(master, store, 5, cluster.now_us)
    assert {each.stem for each in folder.iterdir()} == {*names[1:3]}
