"""The latest decision is kept apart from the jobs that later events change."""

from __future__ import annotations

from decisions import decision
from motet.domain.cluster import ClusterSpec
from motet.engine.journal.wait_entries import LatestDecision
from policy_snapshots import snapshot


def test_kept_columns_are_read_only_as_those_of_an_engine() -> None:
    given = snapshot(ClusterSpec.uniform(1, 2), 2, gpus=[2, 1])
    kept = LatestDecision.of(given, decision([2, 0])).snapshot.jobs
    assert kept.gpus is not given.jobs.gpus
    assert not kept.gpus.flags.writeable
