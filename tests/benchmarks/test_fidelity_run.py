"""What kept runs of the 60-job trace come to: CPU time per job, and refusals of other runs."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_state import JobState
from motet.live.shepherd import write_durably
from motet.sim.workload.workload import Workload
from spawner_process import SpawnerProcess
from support.fidelity_run import check
from support.resumable_program import JobUsage, Usage, recorded_usage, resumable_command
from waiting import wait_until


def test_the_cpu_time_of_a_job_is_that_of_its_processes_over_all_attempts(tmp_path: Path) -> None:
    for name, text in (
        ("1/used-0", "30000000 2000000 7.1 10000000\n50000000 4000000 8.2 4000000\n"),
        ("1/used-1", "20000000 2000000 7.1 30000000\n60000000 4000000 8.2 4000000\n"),
        ("2/used-0", "10000000 10000000 7.1 20000000\n"),
    ):
        path = tmp_path / "checkpoints" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = sorted(recorded_usage(tmp_path), key=lambda each: -each.cpu_s)
    assert found == [
        JobUsage([Usage(0.092, 6.0), Usage(0.092, 6.0)]),
        JobUsage([Usage(0.02, 10.0)]),
    ]
    assert found[0].share == pytest.approx(0.184 / 12)
    assert found[0].cores == pytest.approx(0.184 / 6)


def run_below_shepherd(folder: Path, seconds: float, stopped: bool = False) -> JobUsage:
    """What the program records in a folder, which is that of the attempt and of checkpoints."""
    spawner = SpawnerProcess()
    task = {
        "attempt": "1.1",
        "rank": 0,
        "epoch": 1,
        "argv": resumable_command(seconds),
        "cwd": "/",
        "env": {"MOTET_CHECKPOINT_DIR": str(folder / "kept"), "RANK": "0"},
        "lease_s": 600.0,
        "as_of_s": time.monotonic(),
        "stop": {"signal": signal.SIGTERM, "grace_s": 600.0},
        "notify": str(folder / "nobody.sock"),
    }
    (folder / "task.json").write_text(json.dumps(task))
    shepherd = spawner.fork(folder)
    wait_until((folder / "shepherd.json").exists)
    control = {"epoch": 1, "phase": "run", "as_of_s": time.monotonic()}
    write_durably(folder / "control.json", control)
    shepherd.send_signal(signal.SIGUSR1)
    wait_until(lambda: (folder / "exit.json").exists() or (stopped and _sleeps(folder)))
    if stopped:
        shepherd.send_signal(signal.SIGTERM)
    shepherd.close()
    assert json.loads((folder / "exit.json").read_text())["code"] == 0, (folder / "log").read_text()
    spawner.end()
    for name in ("shepherd.json", "started.json", "exit.json"):
        (folder / name).unlink()
    (found,) = recorded_usage(folder)
    return found


def _sleeps(folder: Path) -> bool:
    """Whether the program waits for its datagram."""
    try:
        pid = json.loads((folder / "started.json").read_text())["pid"]
        return "socket:" in os.readlink(f"/proc/{pid}/fd/3")
    except OSError:
        return False


def test_the_program_records_its_cpu_time_and_those_of_shepherd_and_spawner(tmp_path: Path) -> None:
    (usage,) = run_below_shepherd(tmp_path, 0.01).processes
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert usage.ran_s >= 0.01
    # The kernel counts the time of ended children by ticks, here of a few short processes.
    error_s = 2 / os.sysconf("SC_CLK_TCK")
    assert 0.01 < usage.cpu_s <= children.ru_utime + children.ru_stime + error_s


def test_the_program_continues_where_it_was_stopped(tmp_path: Path) -> None:
    stopped_s = run_below_shepherd(tmp_path, 1000.0, stopped=True).processes[0].ran_s
    assert 0 < int((tmp_path / "kept" / "ran-0").read_text()) <= stopped_s * 1e6
    (tmp_path / "kept" / "ran-0").write_text("999990000")
    whole_s = run_below_shepherd(tmp_path, 1000.0).processes[0].ran_s
    assert whole_s >= stopped_s + 0.01


def test_a_run_of_other_jobs_is_refused(tmp_path: Path) -> None:
    values = {"name": "job", "run": ["true"], "processes": 2, "workdir": "/", "duration_s": 6.05}
    job = LiveJob(1, job_spec(values), "ann", 0, end=JobState.SUCCEEDED)
    workload = one_job(6_050_000, 2)
    check([job], workload, tmp_path)
    for other in (one_job(6_050_000, 4), one_job(4_840_000, 2)):
        with pytest.raises(SystemExit, match="give --quick, --slower and --order of its run"):
            check([job], other, tmp_path)
    job.end = JobState.FAILED
    with pytest.raises(SystemExit, match="some jobs have not succeeded"):
        check([job], workload, tmp_path)


def one_job(duration_us: int, slots: int) -> Workload:
    columns = (np.array([each], dtype=np.int64) for each in (0, duration_us, slots))
    return Workload.of(["0"], *columns)
