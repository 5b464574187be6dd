"""A policy is tried on jobs that come, wait and end, without a cluster of real ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot
from motet.engine.policy_loading.catalogue import built_in_policies, make_policy
from motet.engine.policy_loading.faults import BrokenPolicy
from motet.engine.rehearsal import rehearse_policy
from motet.policies.fifo import Fifo

NOW_US = 1_700_000_000_000_000


@dataclass(frozen=True)
class HalfOfGangs(Policy):
    """Gives a job of several GPUs half of them as soon as one runs."""

    def decide(self, snapshot: Snapshot) -> Decision:
        """Wrong only while a job holds GPUs."""
        decision, jobs = Fifo().decide(snapshot), snapshot.jobs
        if not (jobs.held_gpus > 0).any():
            return decision
        return replace(decision, gpus=jobs.gpus // (1 + (jobs.gpus > 1)))


@pytest.mark.parametrize("name", built_in_policies())
@pytest.mark.parametrize("gpus", [1, 4])
def test_every_policy_passes(name: str, gpus: int) -> None:
    policy = make_policy(name, built_in_policies()[name], {})
    rehearse_policy(policy, ClusterSpec.uniform(2, gpus), NOW_US)


def test_an_error_that_needs_a_running_job_is_found() -> None:
    with pytest.raises(BrokenPolicy, match="a rigid job gets all or none"):
        rehearse_policy(HalfOfGangs(), ClusterSpec.uniform(2, 2), NOW_US)


def test_nothing_is_tried_without_gpus() -> None:
    rehearse_policy(HalfOfGangs(), ClusterSpec.of((), names=()), NOW_US)
