"""`motet simulate --set slow_machines=...`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from marked_process import Ended, run_motet
from soak_cases import others_in_soak

JOBS = "job_id,submit_time,num_gpus,duration\na,0,2,4000\nb,0,2,4000\n"
SLOW = "machine,start,end,times_as_long\nm0,10,100000,4\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.csv").write_text(JOBS, encoding="utf-8")
    (tmp_path / "slow.csv").write_text(SLOW, encoding="utf-8")
    return tmp_path


def simulated(folder: Path, slow_machines: object, *flags: object, policy: str = "fifo") -> Ended:
    return run_motet(
        *("simulate", "--trace", folder / "jobs.csv", "--cluster", "2x4", "--policy", policy),
        *("--set", f"slow_machines={slow_machines}", *flags),
    )


@pytest.mark.soak
def test_explain_shows_moves_off_slow_machines(folder: Path) -> None:
    out = folder / "out"
    slow = folder / "slow.csv"
    ended = simulated(folder, slow, "--log-decisions", "--out", out, policy="optimus")
    assert ended.code == 0, ended.err
    explained = run_motet("explain", "--run", out, "a", "--json")
    assert explained.code == 0, explained.err
    (moved,) = [
        each for each in json.loads(explained.out)["chapters"] if each["event"] == "migrate"
    ]
    assert moved["sentence"].endswith(
        "moved to m1 (2 GPUs); away from m0, 4 times as slow as usual"
    )


def test_spells_depend_only_on_the_seed(folder: Path) -> None:
    tables = []
    for seed in (0, 0, 1):
        ended = simulated(folder, "0.4,300,3", "--seed", seed, "--json", "-q")
        assert ended.code == 0, ended.err
        (run,) = json.loads(ended.out)["runs"]
        tables.append(run["jct_s"])
    assert tables[0] == tables[1] != tables[2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.1,3600", "slow_machines=0.1,3600: give the fraction of time"),
        ("2,3600,4", "2 as the fraction of time; give a value between 0 and 1"),
    ],
)
def test_invalid_settings_are_one_line_errors(folder: Path, text: str, said: str) -> None:
    ended = simulated(folder, text)
    assert ended.code == 2
    assert said in ended.err
    assert len(ended.err.strip().splitlines()) == 1


def test_a_machine_that_is_not_there_is_one_line(folder: Path) -> None:
    (folder / "slow.csv").write_text(SLOW.replace("m0", "m9"), encoding="utf-8")
    ended = simulated(folder, folder / "slow.csv", "-q")
    assert ended.code == 2
    assert "slow.csv:2: the cluster has no machine 'm9'" in ended.err


@pytest.mark.parametrize(
    ("memory", "policy", "is_told"),
    others_in_soak(
        [("8", "optimus", True), ("", "optimus", False), ("8", "fifo", False)],
        [("8", "optimus", True), ("8", "fifo", False)],
    ),
)
def test_a_notice_states_that_the_planner_avoids_no_slow_machines(
    folder: Path, memory: str, policy: str, is_told: bool
) -> None:
    """Where jobs ask for memory and machines count it."""
    (folder / "jobs.csv").write_text(
        f"job_id,submit_time,num_gpus,duration,memory_gb\na,0,2,40,{memory}\n", encoding="utf-8"
    )
    (folder / "machines.csv").write_text("gpus,count,memory_gb\n4,2,64\n", encoding="utf-8")
    ended = simulated(folder, "0.1,60,4", "--cluster", folder / "machines.csv", policy=policy)
    assert ended.code == 0, ended.err
    assert ("slow_machines: optimus does not leave them here" in ended.err) is is_told
