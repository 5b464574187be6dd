"""CPUs and memory of live jobs are counted beside their slots, as in the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.server.stories.explanation import why_waiting
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import ClusterSeen, MachineSeen
from motet.live.master.facts import ClusterDeclared
from scripted_cluster import ScriptedCluster

GB = 10**9
LARGE = ClusterDeclared(
    ("m0", "m1"), (4, 2), devices=("0,1,2,3", "0,1"), cpus=(16, 8), memory_bytes=(64 * GB, 32 * GB)
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    found = ScriptedCluster(tmp_path, cluster=LARGE)
    yield found
    found.close()


def reason(cluster: ScriptedCluster, job: int) -> str:
    return why_waiting(cluster.master.state, cluster.job(job))[0]


@pytest.mark.parametrize(
    ("demand", "expected"),
    [({"cpus": 8}, "InsufficientCpus"), ({"memory": "30GB"}, "InsufficientMemory")],
)
def test_a_job_waits_for_resources_beside_its_slots(
    cluster: ScriptedCluster, demand: dict[str, Any], expected: str
) -> None:
    first = cluster.submit(processes=3, **demand)
    assert cluster.launcher.machines_in_use() == {"m0": 2, "m1": 1}
    second = cluster.submit(**demand)
    undemanding = cluster.submit()
    assert (cluster.job(second).state, reason(cluster, second)) == (JobState.PENDING, expected)
    cluster.ask(cluster.launcher.ended(f"{first}.1"))
    assert cluster.job(second).attempt is not None
    assert cluster.job(undemanding).attempt is not None


def test_what_can_never_fit_is_refused(cluster: ScriptedCluster) -> None:
    with pytest.raises(
        BadInput,
        match=r"cpus: 9: the machines have room for 1 such processes, not 2 "
        r"\(a machine has at most 16 CPUs\); the job could never start",
    ):
        cluster.submit(processes=2, cpus=9)
    with pytest.raises(BadInput, match=r"memory: 65\.0GB: .* at most 16 CPUs and 64\.0GB of"):
        cluster.submit(cpus=2, memory="65GB")


def test_threads_are_the_cpus_of_the_process(cluster: ScriptedCluster) -> None:
    cluster.submit(cpus=3)
    cluster.submit(envs={"OMP_NUM_THREADS": "7"}, cpus=3)
    cluster.submit()
    threads = [
        cluster.launcher.running[f"{job}.1"].ranks[0].env["OMP_NUM_THREADS"] for job in (1, 2, 3)
    ]
    assert threads == ["3", "7", "4"]  # m0 has 16 CPUs for 4 slots.


def test_demands_count_from_the_first_machine_on_whose_resources_are_known(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, cluster=ClusterDeclared((), (), joins=True))
    job = cluster.submit(cpus=4)
    one = MachineSeen("one", 2, True, cpus=4)
    cluster.ask(ClusterSeen((one,)))
    assert cluster.job(job).attempt is not None
    second = cluster.submit(cpus=4)
    assert reason(cluster, second) == "InsufficientCpus"
    cluster.begin()
    assert reason(cluster, second) == "InsufficientCpus"
    cluster.ask(ClusterSeen((one, MachineSeen("two", 2, True, cpus=8))))
    assert cluster.launcher.machines_in_use() == {"one": 1, "two": 1}
    cluster.close()


def test_a_machine_that_returns_has_the_resources_that_it_has_now(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, cluster=ClusterDeclared((), (), joins=True))
    small = MachineSeen("one", 2, True, cpus=4, memory_bytes=8 * GB)
    cluster.ask(ClusterSeen((small,)))
    with pytest.raises(BadInput, match="could never start"):
        cluster.submit(cpus=8)
    cluster.ask(ClusterSeen(()))
    large = replace(small, cpus=16, memory_bytes=32 * GB)
    cluster.ask(ClusterSeen((large,)))
    first = cluster.submit(cpus=8, memory="20GB")
    assert cluster.job(first).attempt is not None
    second = cluster.submit(cpus=8, memory="20GB")
    assert reason(cluster, second) == "InsufficientMemory"
    cluster.begin()  # The master was killed, and reads its journal.
    assert cluster.master.state.cluster is not None
    assert cluster.master.state.cluster.cpus_of(0) == 16
    assert reason(cluster, second) == "InsufficientMemory"
    cluster.ask(ClusterSeen(()))
    cluster.ask(cluster.launcher.ended(f"{first}.1", None, "lost"))
    cluster.ask(ClusterSeen((replace(small, memory_bytes=8 * GB + 4096),)))
    waits = {each: reason(cluster, each) for each in (first, second)}
    assert waits == {first: "InsufficientCpus", second: "InsufficientCpus"}
    cluster.close()


def test_a_little_more_memory_after_a_reboot_is_the_same_machine(cluster: ScriptedCluster) -> None:
    cluster.declared = replace(LARGE, memory_bytes=(64 * GB + 4096, 32 * GB))
    cluster.begin()
    assert cluster.master.state.cluster == LARGE
