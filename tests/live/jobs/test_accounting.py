"""Accounting records of jobs: read back by the reader of sacct, they are the same workload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.snapshot import Placement
from motet.domain.units import SECOND_US
from motet.live.jobs.accounting import ACCOUNTING_FIELDS, accounting_lines
from motet.live.jobs.attempt import Attempt, AttemptOutcome, AttemptPhase, StopCause
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_state import JobState
from motet.live.launcher.messages import RankExit
from motet.sim.traces import Trace, read_trace

BEGIN_US = 1_772_366_400 * SECOND_US
NOW_US = BEGIN_US + 100_000 * SECOND_US
EARLIER = (
    (AttemptOutcome.STOPPED, StopCause.PREEMPTED, "PREEMPTED"),
    (AttemptOutcome.STOPPED, StopCause.SUSPENDED, "REQUEUED"),
    (AttemptOutcome.FAILED, None, "REQUEUED"),
    (AttemptOutcome.LOST, StopCause.MACHINE_LOST, "NODE_FAIL"),
)
ENDS = {JobState.SUCCEEDED: "COMPLETED", JobState.FAILED: "FAILED", JobState.CANCELLED: "CANCELLED"}
spans = st.tuples(st.integers(0, 50), st.integers(1, 5000))


def job_of(number: int, **more: Any) -> LiveJob:
    spec = job_spec({"name": "fit", "run": "true", "workdir": "/", "queue": "ml", **more})
    return LiveJob(number, spec, "ann", BEGIN_US + number * SECOND_US)


def attempt(number: int, begin_us: int, end_us: int | None, slots: int) -> Attempt:
    found = Attempt(number, Placement((0,), (slots,)), begin_us, running_us=begin_us)
    found.ended_us = end_us
    found.phase = AttemptPhase.RUNNING if end_us is None else AttemptPhase.ENDED
    return found


@st.composite
def ended_jobs(draw: st.DrawFn, number: int) -> LiveJob:
    slots = draw(st.integers(1, 8))
    job = job_of(number, processes=slots)
    begin_us = job.submitted_us
    for wait_s, run_s in draw(st.lists(spans, min_size=1, max_size=4)):
        begin_us += wait_s * SECOND_US
        end_us = begin_us + run_s * SECOND_US
        job.attempts.append(attempt(len(job.attempts) + 1, begin_us, end_us, slots))
        job.attempts[-1].outcome, job.attempts[-1].stop_cause, _ = draw(st.sampled_from(EARLIER))
        begin_us = end_us
    job.end, job.ended_us = draw(st.sampled_from([*ENDS])), begin_us
    return job


def read_back(folder: Path, jobs: list[LiveJob]) -> Trace:
    lines = [line for job in jobs for line in accounting_lines(job, NOW_US)]
    path = folder / "jobs.txt"
    path.write_text("\n".join(["|".join(ACCOUNTING_FIELDS), *lines]) + "\n")
    return read_trace(str(path))


@settings(max_examples=examples(30))
@given(data=st.data(), count=st.integers(1, 6))
def test_the_reader_of_sacct_gives_the_same_workload(
    data: st.DataObject, count: int, tmp_path_factory: Any
) -> None:
    jobs = [data.draw(ended_jobs(number)) for number in range(1, count + 1)]
    trace = read_back(tmp_path_factory.mktemp("export"), jobs)
    found = trace.workload
    assert trace.format == "sacct"
    assert found.ids == tuple(str(job.number) for job in jobs)
    assert found.submit_us.tolist() == [job.submitted_us - jobs[0].submitted_us for job in jobs]
    assert found.gpus.tolist() == [job.spec.processes for job in jobs]
    ran_us = [sum((it.ended_us or 0) - it.requested_us for it in job.attempts) for job in jobs]
    assert found.duration_us.tolist() == ran_us
    assert set(found.users) == {"ann"}
    assert found.queue_names == ("ml",)


def cells(job: LiveJob) -> list[dict[str, str]]:
    lines = accounting_lines(job, NOW_US)
    return [dict(zip(ACCOUNTING_FIELDS, line.split("|"), strict=True)) for line in lines]


def test_the_state_of_an_earlier_attempt_says_why_there_was_another_one() -> None:
    for outcome, cause, state in EARLIER:
        for end, last in ENDS.items():
            job = job_of(1)
            job.attempts = [attempt(1, BEGIN_US, BEGIN_US + SECOND_US, 1)]
            job.attempts[0].outcome, job.attempts[0].stop_cause = outcome, cause
            job.attempts.append(attempt(2, BEGIN_US + SECOND_US, BEGIN_US + 9 * SECOND_US, 1))
            job.end, job.ended_us = end, BEGIN_US + 9 * SECOND_US
            assert [row["State"] for row in cells(job)] == [state, last]
            assert [row["Restarts"] for row in cells(job)] == ["1", "1"]


def test_a_job_that_its_limit_ended_has_the_state_of_slurm() -> None:
    job = job_of(1, max_duration="26h")
    job.attempts = [attempt(1, BEGIN_US, BEGIN_US + 26 * 3600 * SECOND_US, 1)]
    job.attempts[0].outcome, job.attempts[0].stop_cause = (
        AttemptOutcome.STOPPED,
        StopCause.TIME_LIMIT,
    )
    job.attempts[0].failure, job.end = "time_limit", JobState.FAILED
    assert [(row["State"], row["Timelimit"]) for row in cells(job)] == [("TIMEOUT", "1-02:00:00")]
    assert cells(job_of(2))[0]["Timelimit"] == "UNLIMITED"
    assert cells(job_of(3, max_duration=90))[0]["Timelimit"] == "00:01:30"


def test_a_job_without_slots_has_a_record_without_a_start(tmp_path: Path) -> None:
    waits, cancelled, paused = job_of(1), job_of(2), job_of(3)
    cancelled.end, cancelled.ended_us = JobState.CANCELLED, NOW_US
    paused.attempts = [attempt(1, BEGIN_US, BEGIN_US + SECOND_US, 1)]
    paused.attempts[0].stop_cause = StopCause.PREEMPTED
    assert [(row["State"], row["Start"]) for row in cells(waits)] == [("PENDING", "Unknown")]
    assert [(row["State"], row["Start"]) for row in cells(cancelled)] == [("CANCELLED", "None")]
    assert [row["State"] for row in cells(paused)] == ["PREEMPTED", "PENDING"]
    trace = read_back(tmp_path, [waits, cancelled, paused])
    assert trace.workload.ids == ("3",)
    assert trace.workload.is_cut.tolist() == [True]


def test_a_running_job_has_run_until_now() -> None:
    job = job_of(1)
    job.attempts = [attempt(1, NOW_US - 60 * SECOND_US, None, 1)]
    (row,) = cells(job)
    assert (row["State"], row["End"], row["ElapsedRaw"]) == ("RUNNING", "Unknown", "60")


def test_the_exit_code_is_that_of_the_process_that_failed_first() -> None:
    job = job_of(1)
    job.attempts = [attempt(1, BEGIN_US, BEGIN_US + SECOND_US, 2)]
    job.attempts[0].exits = (
        RankExit(None, 15, "stopped", 1.0, 2.0),
        RankExit(3, None, "exited", 1.0, 1.5),
    )
    assert cells(job)[0]["ExitCode"] == "3:0"
