"""A log names who is to blame, and tells each thing once."""

from __future__ import annotations

import pytest

from elastic_workloads import Row, elastic_workload, linear
from motet.domain.cluster import ClusterSpec
from motet.domain.log_entry import LogEntry, OtherJobs, Team
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import SECOND_US
from motet.engine.journal.decision_log import DecisionLog
from motet.sim.experiment import Experiment
from motet.sim.workload.workload import Workload
from small_traces import Rows, workload_of


def log_of(
    rows: Rows, policy: str, cluster: ClusterSpec | None = None, **settings: str
) -> list[LogEntry]:
    log = DecisionLog()
    experiment = Experiment(policy, {"placement": "consolidate", **settings})
    experiment.run(workload_of(rows), cluster or ClusterSpec.uniform(1, 4), journal=log)
    return list(log)


def of_job(log: list[LogEntry], job: int) -> list[LogEntry]:
    return [entry for entry in log if entry.job == job]


def test_a_job_starts_and_finishes_where_it_was_placed() -> None:
    place = Placement((0,), (2,))
    assert log_of([(3, 10, 2)], "fifo") == [
        LogEntry(3 * SECOND_US, 0, "start", 2, placement=place),
        LogEntry(13 * SECOND_US, 0, "finish", 2, placement=place),
    ]


def test_a_wait_names_the_jobs_before_it_that_hold_the_gpus() -> None:
    log = log_of([(0, 10, 2), (0, 20, 1), (1, 5, 4)], "best-effort")
    wait = of_job(log, 2)[0]
    assert (wait.event, wait.gpus, wait.free_gpus, wait.position) == ("too_few_gpus", 4, 1, 0)
    assert wait.others == OtherJobs(((0, 2), (1, 1)), 2)


def test_only_the_first_blockers_are_named_and_all_are_counted() -> None:
    log = log_of([*[(0, 10, 1)] * 8, (1, 5, 8)], "best-effort", ClusterSpec.uniform(2, 4))
    assert of_job(log, 8)[0].others == OtherJobs(tuple((job, 1) for job in range(5)), 8)


def test_a_job_that_may_not_overtake_names_the_head_of_the_line() -> None:
    log = log_of([(0, 10, 3), (1, 5, 4), (2, 5, 2), (3, 5, 1)], "fifo")
    assert of_job(log, 1)[0].event == "too_few_gpus"
    for job, position in ((2, 1), (3, 2)):
        wait = of_job(log, job)[0]
        assert (wait.event, wait.position) == ("behind_head", position)
        assert wait.others == OtherJobs(((1, 4),), 1)


def test_a_wait_for_a_quota_names_the_jobs_of_its_queue() -> None:
    second = SECOND_US
    workload = Workload.of(
        ["a", "b", "c"],
        [0, 0, second],
        [10 * second] * 3,
        [1, 2, 1],
        queues=["other", "mine", "mine"],
    )
    log = DecisionLog()
    experiment = Experiment("yarn-cs", {"quotas": "mine:2"})
    experiment.run(workload, ClusterSpec.uniform(1, 4), journal=log)
    wait = of_job([*log], 2)[0]
    assert (wait.event, wait.others) == ("quota", OtherJobs(((1, 2),), 1))


def test_a_preemption_names_who_got_the_gpus_and_then_why_it_waits() -> None:
    log = log_of([(0, 100, 4), (10, 5, 4)], "srtf")
    start, preempt, wait, resume, finish = of_job(log, 0)
    assert (preempt.event, preempt.placement) == ("preempt", start.placement)
    assert preempt.others == OtherJobs(((1, 4),), 1)
    assert (wait.event, wait.others) == ("too_few_gpus", OtherJobs(((1, 4),), 1))
    assert (resume.event, finish.event) == ("resume", "finish")


def test_those_on_other_machines_took_nothing_from_it() -> None:
    """Both jobs start when job 0 loses its machine, but only one of them there."""
    rows = [(0, 100, 4), (0, 5, 2), (5, 10, 4), (5, 10, 4)]
    log = log_of(rows, "srtf", ClusterSpec.uniform(2, 4))
    preempt = next(entry for entry in of_job(log, 0) if entry.event == "preempt")
    (taker,) = preempt.others.first
    where = next(entry.placement for entry in of_job(log, taker[0]) if entry.event == "start")
    assert where == preempt.placement


def test_the_time_spent_in_restores_is_told_at_the_end() -> None:
    log = log_of([(0, 100, 4), (10, 5, 4)], "srtf", preemption_cost="7")
    assert [entry.overhead_us for entry in log if entry.event == "finish"] == [0, 7 * SECOND_US]


def test_queues_of_the_policy_are_told_with_every_move() -> None:
    log = log_of([(0, 100, 4), (15, 10, 4)], "tiresias-las", thresholds="40", promote_knob="0.5")
    told = [(entry.event, entry.queue, entry.time_us // SECOND_US) for entry in of_job(log, 0)]
    assert told[:6] == [
        ("start", 0, 0),
        ("demote", 1, 10),
        ("preempt", 1, 15),
        ("too_few_gpus", 1, 15),
        ("promote", 0, 23),
        ("resume", 0, 25),
    ]


def test_who_shares_gpus_names_the_other() -> None:
    log = log_of([(0, 100, 4), (0, 100, 4)], "gandiva")
    assert of_job(log, 1)[0].others == OtherJobs(((0, 4),), 1)


@pytest.mark.parametrize("policy", ["fifo", "best-effort"])
def test_a_long_wait_is_told_again_only_when_the_line_is_much_shorter(policy: str) -> None:
    waits = [
        entry.position
        for entry in of_job(log_of([(0, 10, 4)] * 41, policy), 40)
        if entry.event in ("too_few_gpus", "behind_head")
    ]
    assert waits[0] == 39
    assert waits[-1] == 0
    assert len(waits) <= 6
    assert UNKNOWN not in waits


def test_between_quanta_a_wait_without_an_order_names_all_who_hold_gpus() -> None:
    log = log_of([(0, 30, 3), (1, 5, 1)], "tiresias-las", quantum_s="20")
    wait = of_job(log, 1)[0]
    assert (wait.event, wait.position, wait.until_us) == ("order", UNKNOWN, 20 * SECOND_US)
    assert wait.others == OtherJobs(((0, 3),), 1)


def elastic_log(rows: list[Row], policy: str, cluster: ClusterSpec) -> list[LogEntry]:
    log = DecisionLog()
    Experiment(policy).run(elastic_workload(rows), cluster, journal=log)
    return list(log)


def test_a_resize_says_from_what_to_what_and_who_got_the_gpus() -> None:
    """Job 1 comes when job 0 has all four GPUs, and leaves before it."""
    rows = [linear(0, 100, 1, 4), linear(10, 10, 1, 4)]
    log = elastic_log(rows, "fair", ClusterSpec.uniform(1, 4))
    start, shrink, grow, finish = of_job(log, 0)
    assert [each.event for each in (start, shrink, grow, finish)] == [
        "start",
        "resize",
        "resize",
        "finish",
    ]
    assert (start.team, start.team_before) == (Team(4, 0, 4), None)
    assert (shrink.team, shrink.team_before) == (Team(2, 0, 2), Team(4, 0, 4))
    assert (grow.team, grow.team_before) == (Team(4, 0, 4), Team(2, 0, 2))
    assert shrink.exchange == grow.exchange == OtherJobs(((1, 2),), 1)


def test_an_elastic_job_that_waits_says_with_how_few_gpus_it_would_run() -> None:
    rows = [linear(0, 100, 3), Row(1, 100, 2, 4, 1, 1, 1), Row(2, 0, 4, 4, duration_s=5)]
    log = elastic_log(rows, "fifo", ClusterSpec.uniform(1, 4))
    waits = [of_job(log, job)[0] for job in (1, 2)]
    assert [(each.event, each.least_gpus) for each in waits] == [
        ("too_few_gpus", 2),
        ("behind_head", UNKNOWN),
    ]
    assert {each.least_gpus for each in log if each.placement.machines} == {UNKNOWN}
