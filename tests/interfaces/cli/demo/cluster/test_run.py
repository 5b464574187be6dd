"""`motet demo` with a few jobs: a real server runs them, FIFO is simulated from its journal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from motet.domain.errors import JobFailed
from motet.interfaces.cli.demo.cluster.run import DemoOptions, run_cluster_demo
from motet.interfaces.demo_jobs.demonstrations import DEMONSTRATIONS, shared_workload
from motet.interfaces.demo_jobs.workload import Arrival, demo_workload
from motet.report.training.folder import RunFolder

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


def few_jobs(folder: Path) -> list[Arrival]:
    """Three jobs of the demo, shortened."""
    chosen = {"digits", "diabetes", "rate-0.1"}
    jobs = {each.name: dict(each.values) for each in demo_workload(folder) if each.name in chosen}
    assert jobs.keys() == chosen
    jobs["digits"] |= {"epochs": 5, "set": {"tol": 0}}
    run = jobs["rate-0.1"]["run"]
    run[run.index("--epochs") + 1] = "30"
    return [Arrival(0.5 * number, values) for number, values in enumerate(jobs.values())]


@pytest.mark.soak
def test_all_jobs_succeed_and_fifo_is_compared(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out, demo = RunFolder(tmp_path / "out"), DEMONSTRATIONS["tiresias-las"]

    options = DemoOptions(as_json=True)
    run_cluster_demo(tmp_path / "server", demo, few_jobs(tmp_path), out, options)

    printed, told = capfd.readouterr()
    document = json.loads(printed)
    assert document == json.loads((tmp_path / "out" / "motet-demo.json").read_text())
    assert (document["policy"], document["other"]) == ("tiresias-las", "fifo")
    assert {job["name"]: job["state"] for job in document["jobs"]} == {
        "digits": "SUCCEEDED",
        "diabetes": "SUCCEEDED",
        "rate-0.1": "SUCCEEDED",
    }
    assert document["other_mean_jct_s"] > 0
    assert document["mean_jct_s"] == pytest.approx(
        sum(job["jct_s"] for job in document["jobs"]) / 3
    )
    assert told.startswith("web page  http://127.0.0.1:")
    assert "digits has succeeded" in told


@pytest.mark.soak
def test_a_failed_job_leaves_its_log_and_is_the_error_of_the_demo(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = ["sh", "-c", "echo began; echo 'OSError: the disk is on fire' >&2; exit 3"]
    good, bad = (
        {"name": name, "run": run, "workdir": str(tmp_path)}
        for name, run in (("good", ["true"]), ("bad", script))
    )
    out, demo = RunFolder(tmp_path / "out"), DEMONSTRATIONS["tiresias-las"]
    arrivals = [Arrival(0, good), Arrival(0, bad)]

    with pytest.raises(JobFailed) as failed:
        run_cluster_demo(tmp_path / "server", demo, arrivals, out, DemoOptions(as_json=True))

    log = tmp_path / "out" / "bad.log"
    assert str(failed.value).startswith("1 job of the demo failed; bad: ")
    assert "the disk is on fire" in str(failed.value)
    assert str(failed.value).endswith(f"({log})")
    assert log.read_text() == "began\nOSError: the disk is on fire\n"
    states = {each["name"]: each["state"] for each in json.loads(capfd.readouterr()[0])["jobs"]}
    assert states == {"good": "SUCCEEDED", "bad": "FAILED"}


@pytest.mark.soak
def test_jobs_of_harmony_share_machines(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, demo = RunFolder(tmp_path / "out"), DEMONSTRATIONS["harmony"]
    jobs = shared_workload(tmp_path)[:3]
    arrivals = [Arrival(0, {**each.values, "epochs": 300}) for each in jobs]

    options = DemoOptions(as_json=True)
    run_cluster_demo(tmp_path / "server", demo, arrivals, out, options)

    document = json.loads(capfd.readouterr()[0])
    assert (document["policy"], document["other"]) == ("harmony", None)
    assert {job["state"] for job in document["jobs"]} == {"SUCCEEDED"}
    assert max(job["shared_s"] for job in document["jobs"]) > 0
