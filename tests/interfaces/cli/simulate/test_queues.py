"""`motet simulate --queues`: guarantees and limits under any policy, and what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from marked_process import run_motet
from motet import simulate
from motet.domain.errors import BadInput

ROWS = ["1,vision,0,2,100", "2,vc0,0,4,100", "3,vc0,1,2,50", "4,vc0,2,2,50", "5,vision,30,6,20"]
LIMITS = "vc0: {guarantee: 4, borrow: 2}\n  vision: {guarantee: 4, lend: 2}"


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(["job_id,queue,submit_time,num_gpus,duration", *ROWS]))
    return str(path)


def queue_file(folder: Path, lines: str) -> str:
    path = folder / "queues.yaml"
    path.write_text(f"queues:\n  {lines}\n")
    return str(path)


@pytest.mark.usefixtures("undrawn")
def test_a_job_waits_for_the_limit_of_its_queue_and_explain_says_so(
    trace: str, tmp_path: Path
) -> None:
    out, queues = str(tmp_path / "out"), queue_file(tmp_path, LIMITS)
    options = ["--trace", trace, "--cluster", "2x4", "--policy", "fifo", "--queues", queues]
    simulated = run_motet("simulate", *options, "--out", out, "--log-decisions", "-q")
    assert simulated.code == 0, simulated.err
    told = " ".join(run_motet("explain", "--run", out, "4").out.split())
    assert "queue vc0 may hold 6 GPUs and holds 6: job 2 (4 GPUs) and job 3 (2 GPUs)" in told
    assert "49 s: limit of its queue" in told


def test_limits_hold_in_the_simulation_and_are_recorded(trace: str, tmp_path: Path) -> None:
    queues = queue_file(tmp_path, "vc0: {guarantee: 4, borrow: 0}")
    free = simulate(trace, "2x4", "best-effort")
    limited = simulate(trace, "2x4", "best-effort", queues=queues)
    assert free.jobs.set_index("job_id").start_time["3"] == 1
    assert limited.jobs.set_index("job_id").start_time["3"] == 100
    (run,) = limited.runs
    assert run.summary["params"]["queues"] == queues


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("vision: {guarantee: 9}", "vision 9\\) are 9 GPUs together; the cluster has 8"),
        (
            "vision: {guarantee: 2, borrow: 3}",
            "job 5 needs 6 GPUs, a job of queue vision gets 5 at most \\(guarantee 2, borrow 3\\)",
        ),
        (
            "vc0: {guarantee: 3, lend: 0}",
            "gets 5 at most \\(guarantee 0; other queues keep 3 GPUs\\)",
        ),
    ],
)
def test_limits_under_which_a_job_can_never_run_are_refused(
    trace: str, tmp_path: Path, lines: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        simulate(trace, "2x4", "fifo", queues=queue_file(tmp_path, lines))


def test_a_queue_without_a_job_is_noticed(trace: str, tmp_path: Path) -> None:
    queues = queue_file(tmp_path, "vsion: {guarantee: 1}")
    options = ["--trace", trace, "--cluster", "2x4", "--policy", "fifo", "--queues", queues]
    found = run_motet("simulate", *options)
    assert "queues: no job is in vsion; the queues of the jobs are" in found.err
