"""`motet simulate --profiles FILE`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from marked_process import run_motet

TRACE = "job_id,submit_time,num_gpus,duration,model\na,0,1,60,MyNet\nb,0,1,60,MyNet\n"
CLUSTER = "gpus,type\n1,A100\n1,T4\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def simulated(folder: Path, profiles: str) -> tuple[int, str, str]:
    ended = run_motet(
        *("simulate", "--trace", written(folder / "jobs.csv", TRACE)),
        *("--cluster", written(folder / "cluster.csv", CLUSTER), "--policy", "fifo", "-q"),
        *("--profiles", written(folder / "mine.csv", profiles), "--json"),
    )
    return ended.code, ended.out, ended.err


def test_own_profiles_say_how_fast_own_types_of_gpu_are(tmp_path: Path) -> None:
    speeds = "model,type,steps_per_s\nMyNet,A100,9\nMyNet,T4,3\n"
    code, out, _ = simulated(tmp_path, speeds)

    assert code == 0
    (run,) = json.loads(out)["runs"]
    assert run["jct_s"]["max"] == pytest.approx(180, abs=0.05)
    assert run["params"]["profiles"] == str(tmp_path / "mine.csv")


def test_bad_profiles_are_one_line_and_exit_code_2(tmp_path: Path) -> None:
    code, out, err = simulated(tmp_path, "model,type,steps_per_s\nMyNet,T4,fast\n")

    assert (code, out) == (2, "")
    assert f"{tmp_path / 'mine.csv'}:2: steps_per_s is 'fast'" in err
    assert len(err.splitlines()) == 1
