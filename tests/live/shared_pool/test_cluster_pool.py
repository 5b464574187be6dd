"""The pool of a cluster: a pMaster that cannot be prepared, and machines that it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.aggregation.master.processes.pool_settings import PoolSettings
from motet.domain.errors import Unreachable
from motet.live.launcher.messages import ClusterSeen, MachineSeen
from motet.live.master.cluster_changes import DrainMachine
from motet.live.master.facts import ClusterDeclared
from motet.live.shared_pool.cluster_launcher import AggregatorProgram
from motet.live.shared_pool.cluster_pool import (
    ClusterPool,
    ClusterPoolOptions,
    machines_to_leave,
)
from scripted_cluster import ScriptedCluster
from waiting import wait_until


def test_a_pool_that_cannot_be_prepared_says_why(tmp_path: Path) -> None:
    options = ClusterPoolOptions(PoolSettings(1), AggregatorProgram({}, 60.0))
    pool = ClusterPool(PoolFolder(tmp_path / "pool"), options, lambda _: None, lambda *_: None)
    pool.folder.log.mkdir()
    pool.start()
    wait_until(lambda: "Is a directory" in pool.failure)
    with pytest.raises(Unreachable, match=r"does not run: .*Is a directory"):
        pool.view()
    pool.close()


def seen(refusal: str = "", **takes_jobs: bool) -> ClusterSeen:
    machines = [MachineSeen(name, 2, each) for name, each in takes_jobs.items()]
    return ClusterSeen(tuple(machines), refusal)


def test_a_pool_leaves_machines_with_a_notice_and_drained_ones(tmp_path: Path) -> None:
    """Ray closes a spot machine when its notice comes; a cluster out of reach is all closed."""
    cluster = ScriptedCluster(tmp_path, cluster=ClusterDeclared((), (), joins=True))
    state = cluster.master.state
    cluster.ask(seen(m1=True, m2=True, m3=True))
    assert machines_to_leave(state) == set()
    cluster.ask(seen(m1=True, m2=False, m3=True))
    assert machines_to_leave(state) == {"m2"}
    cluster.ask(DrainMachine("m3", "new disk", "me"))
    assert machines_to_leave(state) == {"m2", "m3"}
    cluster.ask(seen(m1=True, m3=True))
    assert machines_to_leave(state) == {"m3"}
    cluster.ask(seen(refusal="the cluster does not answer"))
    assert machines_to_leave(state) == set()
    cluster.close()
