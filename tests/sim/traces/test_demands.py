"""CPUs and memory in a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.sim.traces import read_trace

HEADER = "job_id,submit_time,num_gpus,duration,num_cpus,memory_gb"


def trace_of(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def test_parts_are_rounded_up_and_empty_cells_ask_for_nothing(tmp_path: Path) -> None:
    jobs = read_trace(trace_of(tmp_path, "a,0,1,5,0.5,1.5", "b,0,1,5,,")).workload
    assert jobs.cpus.tolist() == [1, 0]
    assert jobs.memory_bytes.tolist() == [1_500_000_000, 0]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a,0,1,5,-1,1", "num_cpus is '-1', which is not within 0 and 1,000,000,000,000,000"),
        ("a,0,1,5,1,lots", "memory_gb is 'lots', which is not a number"),
        ("a,0,1,5,1,2000000", "memory_gb is '2000000', which is not within 0 and 1,000,000"),
        ("a,0,1000000,5,1,999999", "999999000000000 bytes on 1000000 GPUs are too much to count"),
    ],
)
def test_a_demand_that_cannot_be_is_one_clear_error(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_trace(trace_of(tmp_path, row))


def test_helios_jobs_ask_for_cpus(tmp_path: Path) -> None:
    path = tmp_path / "cluster_log.csv"
    path.write_text(
        "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
        "1,u,v,0,16,1,FAILED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-09 18:45:37,249,0\n"
        "2,u,v,4,24,1,FAILED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-09 18:45:37,249,0\n"
    )
    assert read_trace(path).workload.cpus.tolist() == [24]
