"""The demo's jobs: the server takes them all, and each fits its cluster."""

from __future__ import annotations

from pathlib import Path

from motet.domain.cluster import ClusterSpec
from motet.interfaces.demo_jobs.workload import CLUSTER, POLICY, SETTINGS, demo_workload
from motet.live.jobs.job_file import job_spec
from motet.live.master.policy_choice import policy_of


def test_a_dozen_jobs_arrive_within_a_minute(tmp_path: Path) -> None:
    arrivals = demo_workload(tmp_path)

    assert len({each.name for each in arrivals}) == 12
    assert sorted(each.at_s for each in arrivals) == [each.at_s for each in arrivals]
    assert (arrivals[0].at_s, arrivals[-1].at_s) == (0, 60)


def test_every_job_is_valid_and_fits_the_cluster(tmp_path: Path) -> None:
    slots = int(ClusterSpec.parse(CLUSTER).gpus.sum())
    specs = [job_spec(each.values) for each in demo_workload(tmp_path)]

    assert {spec.kind for spec in specs} == {"ps", "command"}
    assert max(spec.processes for spec in specs) < slots
    assert sum(spec.processes for spec in specs) > slots


def test_the_policy_exists() -> None:
    policy_of(POLICY, SETTINGS)
