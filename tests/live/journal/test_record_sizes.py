"""Under any policy, records of decisions do not grow with the number of jobs that wait."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pytest

from motet.engine.policy_loading.catalogue import built_in_policies
from motet.live.jobs.job_file import job_spec
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from motet.live.master.submissions.submission import Submit
from scripted_cluster import SECOND_US, ScriptedCluster
from soak_cases import others_in_soak

EIGHT_SLOTS = ClusterDeclared(("m0", "m1"), (4, 4))


@pytest.mark.parametrize("policy", others_in_soak(built_in_policies(), {"harmony"}))
def test_a_record_does_not_grow_with_the_jobs_that_wait(tmp_path: Path, policy: str) -> None:
    few, many = (
        recorded(tmp_path / str(jobs), policy, [*map(submission, range(jobs))])
        for jobs in (100, 400)
    )
    assert median(many) <= 1.5 * median(few) + 100
    assert sum(many) <= 1.5 * sum(few)


def test_jobs_of_many_sizes_that_wait_for_the_same_take_few_bytes_each(tmp_path: Path) -> None:
    """The number of slots that each of them requests is told."""
    wanted = [submission(each, 1 + each * 7 % 5 % 3) for each in range(1000)]
    most = max(recorded(tmp_path / "many", "yarn-cs", wanted))
    assert most < 4 * len(wanted)


def recorded(folder: Path, policy: str, jobs: Sequence[Submit]) -> list[int]:
    """Bytes of the decisions in the records of some ends of these jobs."""
    folder.mkdir()
    cluster = ScriptedCluster(folder, ChoosePolicy(policy), EIGHT_SLOTS)
    cluster.handle(*jobs)
    for _ in range(5):
        cluster.handle()
    running = set[str]()
    assert cluster.store is not None
    first = cluster.store.next_sequence
    for _ in range(30):
        for attempt in sorted(
            cluster.launcher.running.keys() - running - cluster.launcher.stopping
        ):
            cluster.handle(cluster.launcher.started(attempt))
            running.add(attempt)
        for attempt in sorted(cluster.launcher.stopping):
            cluster.handle(cluster.launcher.ended(attempt, 0, "stopped"))
        for attempt in sorted(cluster.launcher.running.keys() & running)[:1]:
            cluster.handle(cluster.launcher.ended(attempt))
        cluster.now_us += 20 * SECOND_US
        cluster.handle()
    records = [each for each in cluster.store.records() if each.sequence >= first]
    cluster.close()
    return [len(each.decision or "") for each in records]


def submission(number: int, processes: int = 0) -> Submit:
    slots = processes or 1 + number % 2
    values = {"name": "job", "run": "true", "workdir": "/", "processes": slots}
    return Submit(job_spec({**values, "duration_s": 600 + number % 7 * 60}), "ann")
