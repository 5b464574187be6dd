"""What is written can be read back; what is not ours is left alone."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput, NotFound
from motet.interfaces.simulation_runs import Scenario, run_one, run_output
from motet.report.simulation.folder import RunOutput, SimulationFolder
from motet.report.simulation.stored_run import read_runs
from motet.sim.experiment import Experiment
from motet.sim.workload.workload import Workload
from small_traces import QUEUE_OF_THREE, elastic_result, result_of

pytestmark = pytest.mark.usefixtures("undrawn")

SETUP = {"policy": "fifo", "settings": {}, "seed": 0}


def finished(name: str, policy: str = "fifo") -> RunOutput:
    result = result_of(QUEUE_OF_THREE, policy=policy)
    return run_output(name, result, SETUP)


def write(path: Path, *runs: RunOutput, overwrite: bool = False) -> None:
    names = [run.name for run in runs]
    SimulationFolder(path, names, overwrite=overwrite).write(runs, {"gpus": 2})


def test_a_run_reads_back_as_it_was_written(tmp_path: Path) -> None:
    run = finished("fifo")
    write(tmp_path, run)
    (stored,) = read_runs(tmp_path)

    assert stored.document["jct_s"] == run.document["jct_s"]
    assert (stored.cluster_run.ids, stored.cluster_run.gpu_count) == (("j0", "j1", "j2"), 2)
    columns = ("gpus", "jct_s", "queueing_delay_s", "duration_s", "rho", "times_s", "waiting_jobs")
    for name in columns:
        written, read = getattr(run.cluster_run, name), getattr(stored.cluster_run, name)
        np.testing.assert_array_equal(written, read)


def test_losses_read_back_as_they_were_written(tmp_path: Path) -> None:
    run = run_output("fair", elastic_result("fair"), SETUP)
    write(tmp_path, run)
    (stored,) = read_runs(tmp_path)
    written, read = run.cluster_run.quality, stored.cluster_run.quality
    assert written is not None
    assert read is not None

    assert 100 < len(read.times_us) <= 400
    for name in ("times_us", "jobs", "average_loss", "gpus"):
        np.testing.assert_array_equal(getattr(written, name), getattr(read, name))


def test_an_experiment_counts_once_among_those_that_finished(tmp_path: Path) -> None:
    jobs = Workload.of(
        ["a", "b", "c", "d"],
        [0] * 4,
        [5, 6, 7, 8],
        [1] * 4,
        experiments=["search", "", "search", ""],
    )
    scenario = Scenario(jobs, "0" * 64, ClusterSpec.uniform(1, 1))
    result = run_one(Experiment("fifo", {"placement": "count"}), scenario)
    write(tmp_path, run_output("fifo", result, SETUP))
    (stored,) = read_runs(tmp_path)

    assert len(result.cluster_run.rho) == 3
    np.testing.assert_array_equal(stored.cluster_run.rho, result.cluster_run.rho)
    assert np.mean(stored.cluster_run.rho) == stored.document["finish_time_fairness"]["mean"]


def test_a_run_that_lost_a_row_is_refused(tmp_path: Path) -> None:
    write(tmp_path, finished("fifo"))
    lines = (tmp_path / "fairness.csv").read_text().splitlines(keepends=True)
    (tmp_path / "fairness.csv").write_text("".join(lines[:-1]))

    with pytest.raises(BadInput, match=r"fairness\.csv is of other jobs .* simulate it again"):
        read_runs(tmp_path)


def test_every_policy_has_a_gantt_chart_but_not_every_seed(tmp_path: Path) -> None:
    write(tmp_path, finished("fifo-seed0"), finished("fifo-seed1"), finished("srtf", "srtf"))
    charts = {path.parent.name for path in tmp_path.rglob("gantt.png")}

    assert charts == {"fifo-seed0", "srtf"}
    assert len(list(tmp_path.rglob("placements.csv"))) == 3


def test_several_runs_read_back_in_their_order_together_or_alone(tmp_path: Path) -> None:
    write(tmp_path, finished("b", "srtf"), finished("a", "fifo"))

    assert [run.document["policy"] for run in read_runs(tmp_path)] == ["srtf", "fifo"]
    assert [run.document["policy"] for run in read_runs(tmp_path / "a")] == ["fifo"]


def test_overwriting_removes_the_earlier_simulation_only(tmp_path: Path) -> None:
    write(tmp_path, finished("a"), finished("b"))
    (tmp_path / "notes.txt").write_text("mine")
    write(tmp_path, finished("fifo"), overwrite=True)

    assert not (tmp_path / "a").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert len(read_runs(tmp_path)) == 1


def test_a_summary_cannot_name_folders_elsewhere(tmp_path: Path) -> None:
    write(tmp_path / "safe", finished("fifo"))
    setup = {"gpus": 2, "runs": [{"name": "../safe"}]}
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "summary.json").write_text(json.dumps({"runs": [{}], "setup": setup}))

    with pytest.raises(BadInput, match="not a simulation's summary"):
        write(tmp_path / "out", finished("fifo"), overwrite=True)
    assert len(read_runs(tmp_path / "safe")) == 1


def test_a_folder_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_runs(tmp_path / "nowhere")


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("mine", ["jobs.csv", "summary.json", "jct_cdf.png", "gantt.png"])
def test_a_file_that_is_not_of_a_simulation_is_never_replaced(
    tmp_path: Path, mine: str, overwrite: bool
) -> None:
    (tmp_path / mine).write_text("mine")

    with pytest.raises(BadInput, match=r"no simulation of this folder wrote|not a simulation's"):
        write(tmp_path, finished("fifo"), overwrite=overwrite)
    assert (tmp_path / mine).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == [mine]


def test_a_users_file_in_the_folder_of_a_run_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "jobs.csv").write_text("mine")

    with pytest.raises(BadInput, match=r"a/jobs\.csv would be replaced"):
        write(tmp_path, finished("a"), finished("b"))


def test_a_file_with_the_name_of_a_runs_folder_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")

    with pytest.raises(BadInput, match="a would be replaced"):
        write(tmp_path, finished("a"), finished("b"))


def test_overwriting_several_runs_spares_a_trace_beside_their_folders(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("mine")
    write(tmp_path, finished("a"), finished("b"))
    assert len(read_runs(tmp_path)) == 2

    with pytest.raises(BadInput, match=r"jobs\.csv would be replaced"):
        write(tmp_path, finished("fifo"), overwrite=True)
    write(tmp_path, finished("a"), finished("c"), overwrite=True)

    assert (tmp_path / "jobs.csv").read_text() == "mine"
    assert not (tmp_path / "b").exists()


def test_the_file_that_is_being_read_is_not_replaced_by_its_own_results(tmp_path: Path) -> None:
    write(tmp_path, finished("fifo"))
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "jobs.csv")

    with pytest.raises(BadInput, match="being read"):
        SimulationFolder(tmp_path, ["fifo"], inputs=[link], overwrite=True)


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b"[]",
        b"7",
        b'{"setup": {"runs": [{"name": "fifo"}]}, "runs": [3]}',
        b'{"setup": {"runs": [{"name": 1}]}, "runs": [{}]}',
        b'{"setup": {"runs": [{"name": "fifo"}]}, "runs": [{}], "n": ' + b"9" * 5000 + b"}",
        b"\xff",
        b"",
    ],
    ids=lambda content: content[:60].decode("latin-1"),
)
def test_a_damaged_summary_is_refused(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, finished("fifo"))
    (tmp_path / "summary.json").write_bytes(content)
    with pytest.raises(BadInput, match=r"summary\.json"):
        read_runs(tmp_path)


@pytest.mark.parametrize("damage", ["x", '"', "\0", "9" * 200_000, "\n\n1,2"])
def test_a_damaged_table_is_refused_or_read(tmp_path: Path, damage: str) -> None:
    write(tmp_path, finished("fifo"))
    for name in ("jobs.csv", "timeline.csv", "fairness.csv"):
        path = tmp_path / name
        whole = path.read_text()
        path.write_text(whole.replace("\n", f"{damage}\n", 2))
        with suppress(BadInput):
            read_runs(tmp_path)
        path.write_text(whole)
