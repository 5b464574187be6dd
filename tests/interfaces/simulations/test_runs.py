"""Results of several policies and seeds as tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from marked_process import run_motet
from motet import simulate
from motet.domain.errors import BadInput, UnknownName
from motet.interfaces.simulations.runs import SimulatedRuns
from motet.runtime.controller.checkpoints.folder_lock import locked_folder
from small_traces import QUEUE_OF_THREE, workload_of

POLICIES = ["fifo", "srtf"]


@pytest.fixture(scope="module")
def result() -> SimulatedRuns:
    return simulate(
        workload_of(QUEUE_OF_THREE),
        "1x2",
        POLICIES,
        seed=[0, 3],
        placement="count",
        preemption_cost=0,
    )


def test_jobs_have_a_row_per_policy_seed_and_job(result: SimulatedRuns) -> None:
    jobs = result.jobs
    assert jobs.columns.tolist()[:3] == ["policy", "seed", "job_id"]
    assert len(jobs) == 2 * 2 * 3
    # fifo: 0-100, 100-150, 150-160; srtf: j1 0-10, j2 10-20, j1 20-60, j0 60-160.
    ends = jobs.groupby(["policy", "seed"])["end_time"].apply(list).to_dict()
    assert ends[("fifo", 0)] == ends[("fifo", 3)] == [100, 150, 160]
    assert ends[("srtf", 3)] == [160, 60, 20]


def test_the_summary_has_a_row_per_run(result: SimulatedRuns) -> None:
    summary = result.summary
    assert summary.index.tolist() == ["fifo", "fifo", "srtf", "srtf"]
    assert summary["seed"].tolist() == [0, 3, 0, 3]
    assert summary.loc["fifo", "jct_mean_s"].tolist() == pytest.approx([400 / 3] * 2)
    assert summary["jct_max_s"].tolist() == [150, 150, 160, 160]
    assert not [name for name in summary if summary[name].map(type).eq(dict).any()]


def test_placements_name_machine_and_period(result: SimulatedRuns) -> None:
    held = result["fifo"].placements.query("seed == 0")
    assert held[["job_id", "gpus", "start_time", "end_time"]].values.tolist() == [
        ["j0", 2, 0.0, 100.0],
        ["j1", 2, 100.0, 150.0],
        ["j2", 1, 150.0, 160.0],
    ]


def test_runs_of_one_policy_and_every_run_are_results_themselves(result: SimulatedRuns) -> None:
    assert result["srtf"].policies == ["srtf"]
    assert [(each.policies, each.seeds) for each in result] == [
        (["fifo"], [0]),
        (["fifo"], [3]),
        (["srtf"], [0]),
        (["srtf"], [3]),
    ]
    assert len(result) == 4
    with pytest.raises(UnknownName, match="'sf'; did you mean 'srtf'"):
        result["sf"]


def test_the_repr_is_one_line_and_html_a_table_with_a_figure(result: SimulatedRuns) -> None:
    expected = "<SimulatedRuns: fifo, srtf on 1x2, 2 seeds; 12 of 12 jobs finished>"
    assert repr(result) == expected
    page = result._repr_html_()
    assert page.count("<tr>") == 5
    assert "3 jobs of" in page
    assert "<svg" in page


def test_html_of_a_label_is_escaped() -> None:
    page = simulate(workload_of(QUEUE_OF_THREE), "1x2", {"<b>": "fifo"})._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


@pytest.mark.soak  # `make test` tries this where the processes are started.
def test_several_processes_give_the_same_jobs(result: SimulatedRuns) -> None:
    workload = workload_of(QUEUE_OF_THREE)
    beside = simulate(
        workload, "1x2", POLICIES, seed=[0, 3], processes=2, placement="count", preemption_cost=0
    )
    assert beside.jobs.equals(result.jobs)


@pytest.mark.usefixtures("undrawn")
def test_saved_runs_are_compared_by_the_command(result: SimulatedRuns, tmp_path: Path) -> None:
    result.save(tmp_path / "runs")
    ended = run_motet("compare", tmp_path / "runs", "--json")
    document = json.loads(ended.out)
    assert [policy["label"] for policy in document["policies"]] == POLICIES
    assert document["policies"][0]["jct_s"]["mean"] == result.summary["jct_mean_s"].iloc[0]
    with pytest.raises(BadInput, match="results of a simulation already") as caught:
        result.save(tmp_path / "runs")
    assert str(caught.value).endswith("or pass overwrite=True")
    assert "--" not in str(caught.value)
    result.save(tmp_path / "runs", overwrite=True)


def test_a_folder_that_another_run_writes_to_is_refused(
    result: SimulatedRuns, tmp_path: Path
) -> None:
    with locked_folder(tmp_path), pytest.raises(BadInput, match="another run writes there"):
        result.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("undrawn")
def test_labels_that_are_no_file_names_are_saved(tmp_path: Path) -> None:
    labels = {"a/b": "fifo", "k = 2": "srtf"}
    simulate(workload_of(QUEUE_OF_THREE), "1x2", labels).save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["a_b", "k___2"]


def test_completion_shows_what_users_read(result: SimulatedRuns) -> None:
    names = [name for name in dir(result) if not name.startswith("_")]
    assert [name for name in names if not name.startswith("plot_")] == [
        "jobs",
        "placements",
        "policies",
        "runs",
        "save",
        "seeds",
        "summary",
    ]
    for name in names:
        documented = getattr(type(result), name)
        assert (documented.__doc__ or documented.func.__doc__).strip()
