"""Jobs whose speeds were measured: their times, their proposals, and the jobs beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.events import DataSizes, Event, SizeProposed, SubtasksMeasured
from motet.domain.units import seconds
from motet.estimate.colocation.subtask_profile import SubtaskProfile
from motet.sim.experiment import Experiment
from motet.sim.replay.outcome import Outcome
from motet.sim.workload.job_reports import JobReports
from motet.sim.workload.measured_work import KnownSpeeds, MeasuredJob, MeasuredWork
from motet.sim.workload.size_speeds import SizeSpeeds
from motet.sim.workload.workload import Workload

SELF_SIZED = {
    "workers": 1,
    "min_workers": 1,
    "max_workers": 1,
    "worker_gpus": 1,
    "servers": 1,
    "min_servers": 1,
    "max_servers": 1,
    "server_gpus": 1,
}
ON_MACHINES = {
    "workers": 2,
    "min_workers": 1,
    "max_workers": 1000,
    "worker_gpus": 2,
    "servers": 0,
    "min_servers": 0,
    "max_servers": 0,
    "server_gpus": 0,
}


def simulated(
    jobs: Sequence[MeasuredJob | None],
    reports: Mapping[int, Sequence[tuple[int, Event]]],
    machines: tuple[int, int],
    policy: str = "fifo",
    submit_s: Sequence[int] = (),
    **settings: str,
) -> Outcome:
    """Jobs without a model take 30 s on 2 slots. `machines`: how many, with how many slots."""
    duration_us = [30_000_000 if job is None else 1 for job in jobs]
    gpus = [2 if job is None else job.gpus for job in jobs]
    submit_us = [each * 1_000_000 for each in submit_s] or [0] * len(jobs)
    workload = Workload.of(
        [str(number) for number in range(len(jobs))], submit_us, duration_us, gpus
    )
    workload = replace(workload, work=MeasuredWork.of_jobs(jobs))
    data = {
        place: DataSizes(0, 0) for place, job in enumerate(jobs) if job and job.roles is ON_MACHINES
    }
    cluster = ClusterSpec.uniform(*machines)
    experiment = Experiment(policy, {"placement": "count", "preemption_cost": "1", **settings})
    told = JobReports(reports, {}, data)
    return experiment.simulation(workload, cluster, reports=told).run()


def ends_s(outcome: Outcome) -> list[float]:
    return [seconds(each) for each in outcome.columns["end_us"].tolist()]


def sizes(outcome: Outcome) -> list[tuple[int, int]]:
    """Workers and servers of the intervals of constant speed, by end."""
    trained = outcome.trained
    return [*zip(trained.workers.tolist(), trained.servers.tolist(), strict=True)]


def self_sized(steps: int = 100) -> MeasuredJob:
    speeds = SizeSpeeds({(1, 1): 1.0, (3, 1): 2.0})
    return MeasuredJob(steps, SELF_SIZED, speeds, takes_proposals=True)


def test_a_proposal_is_made_after_as_much_work_and_granted_from_free_slots() -> None:
    outcome = simulated([self_sized()], {0: [(40, SizeProposed(0, 3, 1, 0.5))]}, (1, 4))
    assert sizes(outcome) == [(1, 1), (3, 1)]
    assert ends_s(outcome) == [40 + 1 + 60 / 2]  # With a restart between.
    assert outcome.columns["rescales"].tolist() == [1]


def test_a_proposal_waits_until_no_job_waits_for_slots() -> None:
    outcome = simulated(
        [self_sized(), None, None],
        {0: [(10, SizeProposed(0, 3, 1, 0.5))]},
        (1, 4),
        submit_s=(0, 0, 5),
    )
    assert ends_s(outcome) == pytest.approx([60 + 1 + 40 / 2, 30, 60])


def profile(comp_s: float, comm_s: float) -> KnownSpeeds:
    return SubtaskProfile.of(1, comp_s, comm_s)


def test_trainings_on_machines_share_them_as_the_model_of_groups_predicts() -> None:
    """One of them computes while the other communicates."""
    jobs = [
        MeasuredJob(100, ON_MACHINES, profile(8.0, 1.0)),
        MeasuredJob(100, ON_MACHINES, profile(2.0, 4.0)),
    ]
    reports: dict[int, list[tuple[int, Event]]] = {
        0: [(1, SubtasksMeasured(0, 1, 8.0, 1.0))],
        1: [(1, SubtasksMeasured(1, 1, 2.0, 4.0))],
    }
    outcome = simulated(jobs, reports, (2, 2), "harmony", check_s="10")
    alone = simulated(jobs, {}, (2, 2))
    assert ends_s(alone) == pytest.approx([100 * 5, 100 * 5 + 100 * 5])
    # Alone on a machine each until the first check, then both on both: (8 + 2) / 2 s, 4 + 1 s.
    before_s = 10 + 1
    left = 100 - 10 / 9, 100 - 10 / 6
    assert ends_s(outcome)[1] == pytest.approx(before_s + left[1] * 5, abs=1)
    assert ends_s(outcome)[0] == pytest.approx(before_s + left[0] * 5, abs=1)


def test_cpu_time_outside_of_comp_counts_in_the_policy_and_in_the_speed() -> None:
    """On both machines 5 s of COMP and 1 + 2 s outside of it; COMM 5 s, the longest job 5 s.

    That is the highest use. On a machine each, 9 and 6 s, they do more work; the longer job gets
    both machines for its last third, 5 s.
    """
    known = SubtaskProfile.of(1, 8.0, 1.0, 1.0), SubtaskProfile.of(1, 2.0, 4.0, 2.0)
    jobs = [MeasuredJob(100, ON_MACHINES, each) for each in known]
    reports: dict[int, list[tuple[int, Event]]] = {
        number: [(1, SubtasksMeasured(number, 1, *each.at(1)[:2], outside_s=each.outside_s))]
        for number, each in enumerate(known)
    }
    most_use = simulated(jobs, reports, (2, 2), "harmony", check_s="10", objective="use")
    left = 100 - 10 / 9, 100 - 10 / 6
    assert ends_s(most_use)[1] == pytest.approx(10 + 1 + left[1] * 8, abs=1)
    most_work = simulated(jobs, reports, (2, 2), "harmony", check_s="10")
    assert ends_s(most_work) == pytest.approx([600 + 1 + 100 / 3 * 5, 600], abs=1)


def test_the_part_of_comp_that_machines_do_not_divide_stays() -> None:
    known = SubtaskProfile.of(1, 5.0, 1.0).measured(2, 3.0, 1.0)  # 4 / m + 1
    outcome = simulated([MeasuredJob(10, ON_MACHINES, known)], {}, (2, 2))
    assert ends_s(outcome) == [10 * (3 + 1)]
