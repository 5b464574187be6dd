"""Slots that are GPUs: every process of a gang sees those of the gang on its machine, alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.live.launcher.messages import ClusterSeen, MachineSeen
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from scripted_cluster import ScriptedCluster

TWO_AND_TWO = ClusterDeclared(("m0", "m1"), (2, 2), devices=("0,1", "6,7"))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, cluster=TWO_AND_TWO)
    yield found
    found.close()


def gpus(cluster: ScriptedCluster, attempt: str) -> list[str | None]:
    """CUDA_VISIBLE_DEVICES by rank."""
    ranks = cluster.launcher.running[attempt].ranks
    return [task.env.get("CUDA_VISIBLE_DEVICES") for task in ranks]


def test_processes_see_the_gpus_of_their_gang_on_their_machine(cluster: ScriptedCluster) -> None:
    cluster.submit(processes=3, envs={"CUDA_VISIBLE_DEVICES": "5"})
    cluster.submit()
    assert gpus(cluster, "1.1") == ["0,1", "0,1", "6"]
    assert gpus(cluster, "2.1") == ["7"]
    first = cluster.launcher.running["1.1"].ranks[0]
    assert first.env["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_gpus_are_free_again_when_the_processes_have_ended(cluster: ScriptedCluster) -> None:
    cluster.submit(processes=3)
    cluster.submit(processes=2)
    cluster.ask(cluster.launcher.ended("1.1"))
    assert gpus(cluster, "2.1") == ["0,1", "0,1"]


def test_another_master_finds_the_same_gpus(cluster: ScriptedCluster) -> None:
    cluster.submit()
    cluster.submit()
    cluster.ask(cluster.launcher.ended("1.1"))
    cluster.begin()
    cluster.submit(processes=3)
    assert gpus(cluster, "2.1") == ["1"]
    assert gpus(cluster, "3.1") == ["0", "6,7", "6,7"]


def test_jobs_that_share_slots_see_the_same_gpus(tmp_path: Path) -> None:
    crowding = ChoosePolicy(str(Path(__file__).parents[2] / "support" / "crowding_policy.py"))
    cluster = ScriptedCluster(tmp_path, crowding, TWO_AND_TWO)
    for processes in (1, 1, 2):
        cluster.submit(processes=processes)
        for name in list(cluster.launcher.stopping):
            cluster.ask(cluster.launcher.ended(name))
    alone, shared, both = (gpus(cluster, f"{job}.1") for job in (1, 2, 3))
    assert alone == shared == ["0"]
    assert "0" not in both
    cluster.close()


def test_a_journal_without_gpus_does_not_become_one_with_gpus(cluster: ScriptedCluster) -> None:
    cluster.declared = ClusterDeclared(("m0", "m1"), (2, 2))
    with pytest.raises(BadInput, match=r"of a cluster with machines m0 \(2 slots: GPUs 0,1\), "):
        cluster.replay()


def test_machines_of_a_joined_cluster_tell_their_gpus(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, cluster=ClusterDeclared((), (), joins=True))
    cluster.ask(ClusterSeen((MachineSeen("cpu", 1, True),)))
    cluster.ask(ClusterSeen((MachineSeen("cpu", 1, True), MachineSeen("gpu", 2, True, "2,3"))))
    cluster.submit(processes=3)
    assert gpus(cluster, "1.1") == [None, "2,3", "2,3"]
    cluster.ask(cluster.launcher.ended("1.1"))
    cluster.ask(ClusterSeen((MachineSeen("cpu", 1, True), MachineSeen("gpu", 2, True, "0,3"))))
    cluster.submit(processes=3)
    assert gpus(cluster, "2.1") == [None, "0,3", "0,3"]
    cluster.begin()
    assert cluster.master.state.job(2).attempts[0].devices == ((), ("0", "3"))
    cluster.close()
