"""The headline of a plan is what the rest of it recommends."""

from __future__ import annotations

from rich.console import Console

from motet.cruise.search.problem import RoleMode
from motet.cruise.search.solver import best_configuration, cost_curve
from motet.cruise.search.worker_gain import WorkerGain
from motet.estimate.epoch_cost import Fleet, Profile
from motet.report.training.plan_summary import gain_text, plan_summary
from motet.report.training.planned_job import AsItRan, PlannedJob


def planned(comp_s: float, bandwidth: float) -> PlannedJob:
    profile, fleet = Profile(1_000, 100, 1e6, 96, 64), Fleet.uniform(8, comp_s, bandwidth)
    best, curve = (
        best_configuration(profile, fleet, RoleMode.SEPARATE),
        cost_curve(profile, fleet, RoleMode.SEPARATE),
    )
    run = AsItRan(3, 2, 1, 1.0, 1.0)
    return PlannedJob(profile, fleet, "separate", best, curve, run)


def lines(job: PlannedJob) -> list[str]:
    console = Console(width=200, no_color=True)
    with console.capture() as captured:
        console.print(plan_summary(job, None))
    return captured.get().splitlines()


def test_one_machine_is_the_headline_where_more_workers_do_not_pay() -> None:
    job = planned(1e-5, 1e6)
    first, second, *_, last = lines(job)
    assert first == "● one machine alone: 10 ms per epoch, predicted"
    assert second.startswith(f"  the best of several: {job.workers} worker")
    assert last == "The plan is 100.00 times as fast, both as predicted."
    expected = {"machines": 1, "workers": 1, "servers": 1, "epoch_s": 0.01}
    assert job.document()["recommended"] == expected


def test_the_best_configuration_is_the_headline_where_they_pay() -> None:
    job = planned(0.02, 20e6)
    first, second, *_ = lines(job)
    assert first.startswith(f"● {job.workers} workers, {job.servers} server")
    assert second == ""
    assert job.document()["recommended"]["workers"] == job.workers


def test_times_that_read_the_same_are_told_apart() -> None:
    text = gain_text(WorkerGain(0.00075, 1, 0.00075, 0.00137, 1))
    assert "one machine alone takes 0.75 ms" in text
    assert "several take 1.37 ms or more" in text
