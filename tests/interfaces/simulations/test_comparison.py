"""`motet.compare`: ratios to the first policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from motet import BadInput, compare, simulate
from motet.interfaces.simulations.runs import SimulatedRuns
from small_traces import QUEUE_OF_THREE, workload_of


def runs(policy: Any, **options: Any) -> SimulatedRuns:
    settings = {"placement": "count", "preemption_cost": 0, **options}
    return simulate(workload_of(QUEUE_OF_THREE), "1x2", policy, **settings)


def test_ratios_are_to_the_first_policy() -> None:
    # Completion times under fifo: 100, 150, 150; under srtf: 160, 60, 10.
    found = compare(runs(["fifo", "srtf"]))
    assert found.policies == ["fifo", "srtf"]
    assert found.table["relative_jct_mean"].tolist() == pytest.approx([1, 230 / 400])
    assert found.table.loc["srtf", ["jobs_sooner", "jobs_later"]].tolist() == [2, 1]
    jobs = found.jobs.set_index(["policy", "job_id"])
    assert jobs.loc[("srtf", "j0"), "ratio"] == pytest.approx(1.6)
    assert jobs.loc["srtf", "first_jct"].tolist() == [100, 150, 150]


def test_results_and_folders_are_compared_with_each_other(tmp_path: Path) -> None:
    runs("srtf").save(tmp_path)
    found = compare(runs("fifo"), tmp_path)
    assert found.table["relative_jct_mean"].tolist() == pytest.approx([1, 230 / 400])


def test_the_same_policy_in_two_results_gets_two_labels() -> None:
    found = compare(runs("fifo"), runs("fifo", preemption_cost=5))
    assert found.policies == ["fifo in result 1", "fifo in result 2"]


def test_different_costs_of_a_restart_are_a_warning() -> None:
    assert compare(runs(["fifo", "srtf"])).warnings == []
    found = compare(runs("fifo"), runs("srtf", preemption_cost=5), runs("sf", preemption_cost=5))
    assert found.warnings == [
        "These runs charge different costs for a restart (fifo: preemption_cost=0; srtf, sf: "
        "preemption_cost=5); ratios include that difference."
    ]


def test_seeds_are_paired_and_give_intervals() -> None:
    found = compare(simulate("tiresias-480", policy=["fifo", "srtf"], seed=range(2)))
    assert found.table["seeds"].tolist() == [2, 2]
    assert found.table.loc["srtf", "relative_jct_mean_half_width"] > 0
    assert len(found.jobs) == 2 * 2 * 480
    assert "jct_mean_half_width_s" not in compare(runs(["fifo", "srtf"])).table


def test_a_notebook_shows_a_table_and_a_figure() -> None:
    found = compare(runs(["fifo", "srtf"]))
    page = found._repr_html_()
    assert page.count("<tr>") == 3
    assert ">0.58<" in page
    assert "<svg" in page
    assert repr(found) == "<PolicyComparison: srtf against fifo>"


@pytest.mark.parametrize("policies", [["fifo", "srtf"], ["fifo", "srtf", "sf"]])
def test_figures_of_jobs_need_two_policies(policies: list[str]) -> None:
    assert compare(runs(policies)).plot_job_times().axes
    with pytest.raises(BadInput, match="needs at least two policies"):
        compare(runs("fifo")).plot_job_times()


def test_runs_of_other_jobs_are_refused() -> None:
    other = simulate(workload_of([(0, 10, 1)]), "1x2", "srtf", preemption_cost=0)
    with pytest.raises(BadInput, match="times of different jobs do not compare"):
        compare(runs("fifo"), other)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), r"compare\(\) needs a result"),
        ((3,), "argument 1 is 3; give results of simulate"),
        (([1, 2],), r"argument 1 is \[1, 2\]"),
        (("nowhere",), "nowhere: no finished simulation"),
        ((__file__,), "is a file; give a folder that 'motet simulate --out' has written"),
    ],
)
def test_what_cannot_be_compared_is_one_clear_error(
    arguments: tuple[Any, ...], complaint: str
) -> None:
    with pytest.raises(Exception, match=complaint):
        compare(*arguments)
