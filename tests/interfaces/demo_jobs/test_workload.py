"""The demo's jobs: the server takes them all, and each fits its cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.cluster import ClusterSpec
from motet.interfaces.demo_jobs.demonstrations import (
    DEMONSTRATIONS,
    Demonstration,
    demonstration_of,
    shared_workload,
)
from motet.interfaces.demo_jobs.workload import demo_workload
from motet.live.jobs.job_file import job_spec
from motet.live.master.policy_choice import policy_of


def test_a_dozen_jobs_arrive_within_a_minute(tmp_path: Path) -> None:
    arrivals = demo_workload(tmp_path)

    assert len({each.name for each in arrivals}) == 12
    assert sorted(each.at_s for each in arrivals) == [each.at_s for each in arrivals]
    assert (arrivals[0].at_s, arrivals[-1].at_s) == (0, 60)


def test_every_job_is_valid_and_fits_the_cluster(tmp_path: Path) -> None:
    slots = int(ClusterSpec.parse(DEMONSTRATIONS["tiresias-las"].cluster).gpus.sum())
    specs = [job_spec(each.values) for each in demo_workload(tmp_path)]

    assert {spec.kind for spec in specs} == {"ps", "command"}
    assert max(spec.processes for spec in specs) < slots
    assert sum(spec.processes for spec in specs) > slots


@pytest.mark.parametrize("demo", DEMONSTRATIONS.values(), ids=lambda each: each.policy)
def test_the_policies_exist(demo: Demonstration) -> None:
    policy_of(demo.policy, demo.settings)
    assert demonstration_of(demo.policy) is demo


def test_trainings_of_harmony_run_on_any_machines(tmp_path: Path) -> None:
    specs = [job_spec(each.values) for each in shared_workload(tmp_path)]
    assert {spec.kind for spec in specs} == {"ps"}
    assert {spec.processes for spec in specs} == {1}
    assert len({spec.name for spec in specs}) == len(specs)
