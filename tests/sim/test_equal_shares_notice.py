"""Policies of equal shares report workloads in which there is nothing to divide."""

from __future__ import annotations

import pytest

from elastic_workloads import elastic_workload, linear
from motet.domain.cluster import ClusterSpec
from motet.sim.experiment import Experiment
from motet.sim.workload.workload import Workload
from small_traces import QUEUE_OF_THREE, workload_of

CLUSTER = ClusterSpec.uniform(1, 4)


def notices(policy: str, workload: Workload) -> list[str]:
    return [text for text in Experiment(policy).notices(workload, CLUSTER) if "rigid" in text]


@pytest.mark.parametrize("policy", ["fair", "drf"])
def test_rigid_jobs_have_no_shares(policy: str) -> None:
    (notice,) = notices(policy, workload_of(QUEUE_OF_THREE))
    assert notice.startswith(f"{policy}: all jobs are rigid")
    assert notices(policy, elastic_workload([linear(0, 10, 1, 4)])) == []


def test_drf_is_fair_between_queues_of_rigid_jobs() -> None:
    two = Workload.of(["a", "b"], [0, 0], [10, 10], [1, 1], queues=["x", "y"])
    assert notices("drf", two) == []
    assert len(notices("fair", two)) == 1


def test_other_policies_are_silent() -> None:
    assert notices("tiresias-las", workload_of(QUEUE_OF_THREE)) == []


def test_short_turns_without_losses_are_told_before_the_run() -> None:
    def turns(policy: str, **settings: str) -> list[str]:
        found = Experiment(policy, settings).notices(workload_of(QUEUE_OF_THREE), CLUSTER)
        return [text for text in found if "take turns" in text]

    (notice,) = turns("slaq")
    assert "epoch_s=10 s: this takes long" in notice
    assert notice.endswith("--set slaq.epoch_s=600")
    assert turns("slaq", epoch_s="600") == turns("optimus") == turns("tiresias-las") == []
