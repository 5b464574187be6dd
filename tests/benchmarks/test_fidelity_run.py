"""What kept runs of the 60-job trace come to: CPU time per job, and refusals of other runs."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_state import JobState
from motet.sim.workload.workload import Workload
from support.fidelity_run import check
from support.resumable_program import PROGRAM, JobUsage, Usage, recorded_usage


def test_the_cpu_time_of_a_job_is_that_of_its_processes_over_all_attempts(tmp_path: Path) -> None:
    for name, text in (
        ("1/used-0", "0.04 2\n0.05 4\n"),
        ("1/used-1", "0.03 2\n0.06 4\n"),
        ("2/used-0", "0.02 10\n"),
    ):
        path = tmp_path / "checkpoints" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = sorted(recorded_usage(tmp_path), key=lambda each: -each.cpu_s)
    assert found == [JobUsage([Usage(0.09, 6.0), Usage(0.09, 6.0)]), JobUsage([Usage(0.02, 10.0)])]
    assert found[0].share == pytest.approx(0.18 / 12)
    assert found[0].cores == pytest.approx(0.18 / 6)


def test_the_program_records_its_own_cpu_time_and_that_of_its_parent(tmp_path: Path) -> None:
    before_s = time.thread_time()
    env = {"MOTET_CHECKPOINT_DIR": str(tmp_path), "RANK": "0"}
    subprocess.run([sys.executable, "-S", "-c", PROGRAM, "0.01"], env=env, check=True)
    ((usage,),) = (each.processes for each in recorded_usage(tmp_path))
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert before_s < usage.cpu_s
    assert usage.cpu_s <= time.thread_time() + children.ru_utime + children.ru_stime


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
