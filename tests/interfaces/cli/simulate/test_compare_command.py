"""`motet compare`: ratios to the first run, winners and losers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from motet.domain.errors import BadInput, NotFound
from motet.interfaces.cli.simulate.compare_command import compare_command
from motet.interfaces.simulation_runs import run_output
from motet.report.rendering.confidence import confidence_half_width
from motet.report.simulation.comparison_tables import comparison_page
from motet.report.simulation.folder import RunOutput, SimulationFolder
from motet.report.simulation.seed_groups import PairedGroups, seed_groups
from motet.report.simulation.stored_run import read_runs
from small_traces import QUEUE_OF_THREE, elastic_result, result_of

# A trace per seed, as of a workload that every seed draws anew.
TRACES = (QUEUE_OF_THREE, ((0, 100, 2), (0, 10, 1), (5, 40, 2)), ((0, 50, 1), (1, 300, 2)))


def store(path: Path, *policies: str, seeds: Sequence[int] = (0,)) -> Path:
    runs = []
    for policy, seed in product(policies, seeds):
        result = replace(result_of(TRACES[seed], policy=policy), seed=seed)
        own = {"policy": policy, "settings": {}, "seed": seed}
        runs.append(run_output(f"{policy}-seed{seed}", result, own))
    return stored(path, runs, gpus=2)


def store_elastic(path: Path, *policies: str, seeds: Sequence[int] = (0,)) -> Path:
    runs = [
        run_output(f"{policy}-{seed}", elastic_result(policy, seed), {"seed": seed})
        for policy, seed in product(policies, seeds)
    ]
    return stored(path, runs, gpus=4)


def stored(path: Path, runs: Sequence[RunOutput], gpus: int) -> Path:
    """Without figures, which take most of the time."""
    folder = SimulationFolder(path, [run.name for run in runs], overwrite=False)
    for run in runs:
        folder.add(run, {"gpus": gpus})
    return path


def as_an_earlier_version_wrote(folder: Path) -> Path:
    """Without `quality.csv`, experiments in `fairness.csv`, and what the summary says of them."""
    for path in folder.rglob("summary.json"):
        summary = json.loads(path.read_text())
        for run in summary["runs"]:
            del run["finish_time_fairness"]["within_share"], run["finish_time_fairness"]["worst"]
            run.get("quality", {}).pop("gpu_share_by_loss", None)
        path.write_text(json.dumps(summary))
    for path in folder.rglob("fairness.csv"):
        lines = [line.rpartition(",")[0] for line in path.read_text().splitlines()]
        path.write_text("\n".join(lines) + "\n")
    for path in folder.rglob("quality.csv"):
        path.unlink()
    return folder


def tables(page: str) -> list[str]:
    """What the tables begin with."""
    lines = page.splitlines()
    return [above.split()[0] for above, line in pairwise(lines) if line[:1] == "─"]


def compared(*arguments: Path | str) -> Result:
    return CliRunner().invoke(compare_command, list(map(str, arguments)), catch_exceptions=False)


def test_ratios_and_winners_are_relative_to_the_first_run(tmp_path: Path) -> None:
    both = store(tmp_path / "both", "fifo", "srtf")
    document = json.loads(compared(both, "--json").stdout)
    (moved,) = document["winners_and_losers"]

    # fifo: 100, 150 and 150 s; srtf: 160, 60 and 10 s.
    assert document["runs"][0]["relative_jct"] == {"mean": 1, "median": 1, "p95": 1}
    assert document["runs"][1]["relative_jct"]["mean"] == pytest.approx(230 / 400)
    assert document["runs"][1]["relative_jct"]["median"] == pytest.approx(60 / 150)
    assert (moved["jobs"], moved["winners"], moved["losers"]) == (
        3,
        2,
        1,
    )
    assert moved["most_lost"] == [
        {"job_id": "j0", "seed": 0, "before_s": 100, "after_s": 160, "ratio": 1.6}
    ]


def test_a_policy_is_compared_with_the_first_run_of_its_own_seed(tmp_path: Path) -> None:
    document = json.loads(
        compared(store(tmp_path / "runs", "fifo", "srtf", seeds=(0, 1, 2)), "--json").stdout
    )
    mean_s = {(run["policy"], run["seed"]): run["jct_s"]["mean"] for run in document["runs"]}
    ratios = [mean_s["srtf", seed] / mean_s["fifo", seed] for seed in range(3)]
    first, second = document["policies"]
    (moved,) = document["winners_and_losers"]

    assert [run["relative_jct"]["mean"] for run in document["runs"]] == [1, 1, 1, *ratios]
    assert first["relative_jct_half_width"] == {"mean": 0, "median": 0, "p95": 0}
    assert second["paired_seeds"] == [0, 1, 2]
    assert second["jct_s"]["mean"] == pytest.approx(np.mean([mean_s["srtf", s] for s in range(3)]))
    assert second["relative_jct"]["mean"] == pytest.approx(np.mean(ratios))
    assert second["relative_jct_half_width"]["mean"] == pytest.approx(confidence_half_width(ratios))
    assert moved["jobs"] == sum(map(len, TRACES))


def test_the_table_has_a_row_per_policy_however_many_seeds(tmp_path: Path) -> None:
    folder = store(tmp_path / "runs", "fifo", "srtf", seeds=(0, 1, 2))
    page = compared(folder, "--view", "jct").stdout
    rows = [line.split() for line in page.splitlines() if line.startswith("●")]

    assert [row[1] for row in rows] == ["fifo", "srtf", "srtf"]
    assert rows[1][6].startswith("±")
    assert "another trace" not in page


def test_seeds_in_folders_of_their_own_belong_together(tmp_path: Path) -> None:
    folders = [store(tmp_path / str(seed), "fifo", "srtf", seeds=(seed,)) for seed in range(3)]
    document = json.loads(compared(*folders, "--json").stdout)

    assert [(each["label"], each["seeds"]) for each in document["policies"]] == [
        ("fifo", [0, 1, 2]),
        ("srtf", [0, 1, 2]),
    ]


def test_only_common_seeds_are_paired_with_a_notice(tmp_path: Path) -> None:
    first = store(tmp_path / "first", "fifo", seeds=(0, 1))
    second = store(tmp_path / "second", "srtf", seeds=(1, 2))
    page = compared(first, second).stdout

    assert "srtf: its ratios are over 1 seed, of those that fifo ran with, too." in page


def test_numbers_are_never_cut(tmp_path: Path) -> None:
    folder = store(tmp_path / ("with_a_long_name" * 6), "fifo", "srtf", seeds=(0, 1, 2))
    other = store(tmp_path / ("also_a_long_name" * 6), "fifo", "srtf", seeds=(0, 1, 2))
    assert "…" not in compared(folder, other).stdout

    runs = seed_groups([(path, run) for path in (folder, other) for run in read_runs(path)])
    groups = [PairedGroups.of(runs[0], run) for run in runs]
    ratios = [group.job_ratios() for group in groups[1:]]
    for width in (60, 80, 100):
        console = Console(width=width, file=StringIO())
        console.print(comparison_page(groups, ratios, []))
        page = console.file.getvalue()
        assert "…" not in page
        assert max(map(len, page.splitlines())) <= width


def test_folders_are_compared_in_the_order_in_which_they_are_named(tmp_path: Path) -> None:
    folders = [store(tmp_path / policy, policy) for policy in ("srtf", "fifo")]
    page = compared(*folders, "--view", "jct").stdout
    lines = [line for line in page.splitlines() if line.startswith("●")]

    assert [line.split()[1] for line in lines] == ["srtf", "fifo", "fifo"]


def test_runs_of_the_same_policy_are_labelled_by_folder(tmp_path: Path) -> None:
    folders = [store(tmp_path / name, "fifo") for name in ("monday", "tuesday")]
    document = json.loads(compared(*folders, "--json").stdout)

    assert [run["label"] for run in document["runs"]] == [f"fifo in {folder}" for folder in folders]


@pytest.mark.parametrize(
    "policies", [("fifo", "srtf"), pytest.param(("fifo", "srtf", "sf"), marks=pytest.mark.soak)]
)
def test_figures_are_written_on_request(tmp_path: Path, policies: tuple[str, ...]) -> None:
    compared(store(tmp_path / "runs", *policies), "--out", tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}

    assert {"comparison.json", "winners_and_losers.png", "jct_cdf.png", "fairness.png"} <= names


@pytest.mark.usefixtures("undrawn")
def test_a_comparison_is_replaced_on_request_and_nothing_else_ever(tmp_path: Path) -> None:
    folder, out = store(tmp_path / "runs", "fifo", "srtf"), tmp_path / "out"
    compared(folder, "--out", out)
    with pytest.raises(BadInput, match=r"there is a comparison already; .* --overwrite"):
        compared(folder, "--out", out)
    compared(folder / "fifo-seed0", "--out", out, "--overwrite")
    assert not (out / "winners_and_losers.png").exists()

    (folder / "jct_cdf.png").touch()
    for more in ((), ("--overwrite",)):
        with pytest.raises(BadInput, match="is not of a comparison"):
            compared(folder, "--out", folder, *more)


def test_different_costs_of_a_restart_are_told_above_the_table(tmp_path: Path) -> None:
    free, charged, also_free = (
        with_preemption_cost(store(tmp_path / name, policy), cost)
        for name, policy, cost in (("a", "fifo", 0), ("b", "srtf", "profile"), ("c", "srtf", 0))
    )
    told = (
        "These runs charge different costs for a restart (fifo: preemption_cost=0; srtf: "
        "preemption_cost=profile); ratios include that difference."
    )

    assert " ".join(compared(free, charged).stdout.split()).startswith(told)
    assert "different costs" not in compared(free, also_free).stdout


def with_preemption_cost(folder: Path, cost: object) -> Path:
    """The runs of a folder, as if they had been simulated with this cost."""
    path = folder / "summary.json"
    summary = json.loads(path.read_text())
    for run in summary["runs"]:
        run["params"]["preemption_cost"] = cost
    path.write_text(json.dumps(summary))
    return folder


def test_a_folder_without_a_simulation_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no finished simulation"):
        compared(tmp_path)


def test_a_broken_folder_is_refused(tmp_path: Path) -> None:
    folder = store(tmp_path / "fifo", "fifo")
    (folder / "jobs.csv").write_text("job_id,jct\n1,2\n")
    with pytest.raises(BadInput, match="simulate it again"):
        compared(folder)
    (folder / "summary.json").write_text("[]")
    with pytest.raises(BadInput, match="not a simulation's summary"):
        compared(folder)


def test_fairness_is_relative_to_the_first_policy(tmp_path: Path) -> None:
    """Under fifo the jobs take 100, 150 and 150 s, under srtf 160, 60 and 10 s. On shares of their
    own they take 155, 105 and 15 s: 200, 100 and 10 GPU-seconds, with one GPU each of the first two
    until 10 s, two thirds each of all until 25 s, one each again until 105 s, then both."""
    ideal = np.array([155, 105, 15])
    fifo, srtf = np.array([100, 150, 150]) / ideal, np.array([160, 60, 10]) / ideal
    both = store(tmp_path / "both", "fifo", "srtf")
    first, second = json.loads(compared(both, "--json").stdout)["policies"]
    value, relative = second["finish_time_fairness"], second["relative_finish_time_fairness"]

    assert first["finish_time_fairness"]["max"] == pytest.approx(fifo[2])
    assert value["max"] == pytest.approx(srtf[0])
    assert value["mean"] == pytest.approx(srtf.mean())
    assert value["jain"] == pytest.approx(srtf.sum() ** 2 / 3 / (srtf**2).sum())
    assert value["within_share"] == pytest.approx(2 / 3)
    assert relative["max"] == pytest.approx(srtf[0] / fifo[2])
    assert relative["mean"] == pytest.approx(srtf.mean() / fifo.mean())

    page = compared(both, "--view", "fairness").stdout
    assert next(line for line in page.splitlines() if "srtf" in line).split()[-2:] == ["67%", "j0"]


def test_ratios_of_quality_are_of_the_same_seed(tmp_path: Path) -> None:
    folder = store_elastic(tmp_path / "runs", "fair", "fifo", seeds=(0, 1, 2))
    document = json.loads(compared(folder, "--json").stdout)
    loss = {
        (run["policy"], run["seed"]): run["quality"]["average_normalised_loss"]
        for run in document["runs"]
    }
    ratios = [loss["fifo", seed] / loss["fair", seed] for seed in range(3)]
    fair, fifo = document["policies"]

    assert fifo["relative_quality"]["average_normalised_loss"] == pytest.approx(np.mean(ratios))
    half_width = fifo["relative_quality_half_width"]["average_normalised_loss"]
    assert half_width == pytest.approx(confidence_half_width(ratios))
    assert [
        run["relative_quality"]["average_normalised_loss"] for run in document["runs"]
    ] == pytest.approx([1, 1, 1, *ratios])
    assert sum(fair["quality"]["gpu_share_by_loss"].values()) == pytest.approx(1)


def test_every_view_has_a_table_unless_selected(tmp_path: Path) -> None:
    rigid = store(tmp_path / "rigid", "fifo", "srtf")
    elastic = store_elastic(tmp_path / "elastic", "fifo", "fair", seeds=(0, 1))

    assert tables(compared(rigid).stdout) == ["run", "against", "job", "fairness"]
    assert "\nsrtf: told the run times in advance" in compared(rigid).stdout
    assert tables(compared(elastic).stdout) == ["run", "against", "job", "fairness", "quality"]
    asked = compared(elastic, "--view", "quality", "--view", "fairness").stdout
    assert tables(asked) == ["fairness", "quality"]
    nothing = compared(rigid, "--view", "quality").stdout
    assert tables(nothing) == []
    assert nothing.split("\n") == ["", "No quality to compare: no job has a loss curve.", ""]


def test_runs_of_different_traces_are_refused(tmp_path: Path) -> None:
    one, other = store(tmp_path / "one", "fifo"), store(tmp_path / "other", "srtf")
    for path in other.rglob("summary.json"):
        summary = json.loads(path.read_text())
        summary["runs"][0]["trace_sha256"] = "another"
        summary["setup"]["trace"] = "/logs/march.csv"
        path.write_text(json.dumps(summary))
    with pytest.raises(BadInput) as caught:
        compared(one, other)

    assert "srtf march.csv (seed 0, sha256 another): times of different" in str(caught.value)


def test_json_and_another_output_exclude_each_other(tmp_path: Path) -> None:
    folder = store(tmp_path / "runs", "fifo")
    refused = CliRunner().invoke(compare_command, [str(folder), "--json", "-o", "table"])

    assert (refused.exit_code, "--json -o table: give one" in refused.output) == (2, True)
    assert json.loads(compared(folder, "--json", "-o", "json").stdout)["runs"]
    assert compared(folder, "-o", "table").stdout == compared(folder).stdout


@pytest.mark.soak
def test_figures_of_quality_are_drawn_where_jobs_learn(tmp_path: Path) -> None:
    compared(store_elastic(tmp_path / "runs", "fair", "fifo"), "--out", tmp_path / "out")
    compared(store(tmp_path / "rigid", "fifo"), "--out", tmp_path / "plain")
    of_quality = {"average_loss.png", "gpus_by_loss.png"}

    assert of_quality <= {path.name for path in (tmp_path / "out").iterdir()}
    assert not of_quality & {path.name for path in (tmp_path / "plain").iterdir()}


@pytest.mark.usefixtures("undrawn")
def test_folders_of_an_earlier_version_are_compared_as_far_as_they_go(tmp_path: Path) -> None:
    old = as_an_earlier_version_wrote(store_elastic(tmp_path / "old", "fair"))
    new = store_elastic(tmp_path / "new", "fifo")
    page = compared(old, new, "--out", tmp_path / "out").stdout
    rows = [line.split() for line in page.splitlines() if line.startswith("●")]

    assert tables(page) == ["run", "against", "job", "fairness", "quality"]
    assert rows[-2][-2:] == ["-", "0"] or "-" in rows[-2]
    assert "From an earlier version, to be simulated again: fair (in fairness.png every job" in page
    assert "From an earlier version, to be simulated again: fair (no quality.csv, so" in page
    assert (tmp_path / "out" / "gpus_by_loss.png").exists()

    alone = compared(old, "--out", tmp_path / "alone").stdout
    assert "again: fair (no quality.csv" in alone
    assert not (tmp_path / "alone" / "gpus_by_loss.png").exists()


def test_a_broken_table_of_quality_is_refused(tmp_path: Path) -> None:
    folder = store_elastic(tmp_path / "runs", "fair")
    (folder / "quality.csv").write_text("time,jobs\n0,1\n")
    with pytest.raises(BadInput, match="simulate it again"):
        compared(folder)
