"""What is told of the size that a training proposed for itself."""

from __future__ import annotations

from pathlib import Path

from motet.interfaces.server.stories.proposed_size import proposed_size
from motet.live.launcher.messages import AttemptProposed, SizeWish
from motet.live.master.facts import ClusterDeclared
from scripted_cluster import ScriptedCluster

BOUNDS = {"workers": {"min": 1, "max": 6}, "servers": {"min": 1, "max": 2}}


def sentence(cluster: ScriptedCluster, job: int) -> str:
    found = proposed_size(cluster.master.state, cluster.job(job))
    return "" if found is None else str(found["sentence"])


def test_a_size_is_proposed_and_granted(tmp_path: Path) -> None:
    cluster = ScriptedCluster(tmp_path, cluster=ClusterDeclared(("m0", "m1"), (4, 4)))
    job = cluster.train(auto=True, **BOUNDS)
    cluster.ask(cluster.launcher.started(f"{job}.1"))
    assert sentence(cluster, job) == ""
    cluster.ask(AttemptProposed(f"{job}.1", SizeWish(1, 4, 2, 0.25)))
    proposed = sentence(cluster, job)
    assert proposed.startswith("4 workers and 2 servers (")
    assert "granted" not in proposed
    cluster.ask(cluster.launcher.ended(f"{job}.1", 75, "stopped"))
    assert sentence(cluster, job) == f"{proposed}; granted"
    cluster.close()
