"""`motet compare`: ratios to the first run, winners and losers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from motet.domain.errors import BadInput, NotFound
from motet.interfaces.cli.compare import compare
from motet.report.simulation_folder import SimulationFolder
from small_traces import QUEUE_OF_THREE, finished_run, result_of


def store(path: Path, *policies: str) -> Path:
    runs = []
    for policy in policies:
        result = result_of(QUEUE_OF_THREE, policy=policy)
        own = {"policy": policy, "settings": {}, "seed": 0}
        runs.append(finished_run(policy, result, own))
    SimulationFolder(path, policies, overwrite=False).write(runs, {"gpus": 2})
    return path


def compared(*arguments: Path | str) -> Result:
    return CliRunner().invoke(compare, list(map(str, arguments)), catch_exceptions=False)


def test_ratios_and_winners_are_relative_to_the_first_run(tmp_path: Path) -> None:
    both = store(tmp_path / "both", "fifo", "srtf")
    document = json.loads(compared(both, "--json").stdout)
    (duel,) = document["winners_and_losers"]

    # fifo: 100, 150 and 150 s; srtf: 160, 60 and 10 s.
    assert document["runs"][0]["relative_jct"] == {"mean": 1, "median": 1, "p95": 1}
    assert document["runs"][1]["relative_jct"]["mean"] == pytest.approx(230 / 400)
    assert document["runs"][1]["relative_jct"]["median"] == pytest.approx(60 / 150)
    assert (duel["jobs"], duel["winners"], duel["losers"]) == (3, 2, 1)
    assert duel["most_lost"] == [{"job_id": "j0", "before_s": 100, "after_s": 160, "ratio": 1.6}]


def test_folders_are_compared_in_the_order_in_which_they_are_named(tmp_path: Path) -> None:
    folders = [store(tmp_path / policy, policy) for policy in ("srtf", "fifo")]
    lines = [line for line in compared(*folders).stdout.splitlines() if line.startswith("●")]

    assert [line.split()[1] for line in lines] == ["srtf", "fifo", "fifo"]


def test_runs_of_the_same_policy_are_told_apart_by_their_folder(tmp_path: Path) -> None:
    folders = [store(tmp_path / name, "fifo") for name in ("monday", "tuesday")]
    document = json.loads(compared(*folders, "--json").stdout)

    assert [run["label"] for run in document["runs"]] == [
        f"fifo seed 0 in {folder}" for folder in folders
    ]


@pytest.mark.parametrize("policies", [("fifo", "srtf"), ("fifo", "srtf", "sf")])
def test_figures_are_written_on_request(tmp_path: Path, policies: tuple[str, ...]) -> None:
    compared(store(tmp_path / "runs", *policies), "--out", tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}

    assert {"comparison.json", "winners_and_losers.png", "jct_cdf.png", "fairness.png"} <= names


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
