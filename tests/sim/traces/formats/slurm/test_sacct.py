"""Dumps of sacct; samples by hand after sacct(1) of Slurm 25.11 and its JOB STATE CODES."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.errors import BadInput, UnknownName
from motet.sim.traces import Trace, read_trace
from rendered_sacct import FIELDS, RenderedJob, rendered

FileOf = Callable[..., Path]
HEADER = "JobID|User|Partition|State|Submit|Start|End|Elapsed|AllocTRES|ReqTRES"
TRES = "billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=2"
DAY = "2024-03-01T"


def record(
    job: str,
    state: str = "COMPLETED",
    submit: str = "10:00:00",
    start: str = "10:10:00",
    end: str = "11:10:00",
    elapsed: str = "01:00:00",
    alloc: str = TRES,
    req: str = TRES,
) -> str:
    times = [time if time[0].isalpha() else f"{DAY}{time}" for time in (submit, start, end)]
    return "|".join((job, "ann", "gpu", state, *times, elapsed, alloc, req))


def read(file_of: FileOf, *rows: str, header: str = HEADER, **options: object) -> Trace:
    return read_trace(
        file_of("\n".join([header, *rows, ""])),
        timezone="UTC",
        **options,  # type: ignore[arg-type]
    )


def seconds(trace: Trace) -> dict[str, tuple[float, float, int]]:
    """(submission, duration, GPUs) by job."""
    jobs = trace.workload
    columns = (jobs.submit_us / 1e6, jobs.duration_us / 1e6, jobs.gpus)
    return dict(zip(jobs.ids, zip(*(c.tolist() for c in columns), strict=True), strict=True))


def test_a_job_has_its_time_gpus_and_texts_and_its_steps_are_not_jobs(file_of: FileOf) -> None:
    rows = [record(f"7{step}") for step in ("", ".batch", ".extern", ".0")]
    trace = read(file_of, *rows)
    jobs = trace.workload

    assert trace.format == "sacct"
    assert seconds(trace) == {"7": (0, 3600, 4)}
    assert (jobs.users, jobs.queue_names) == (("ann",), ("gpu",))
    assert (jobs.cpus.tolist(), jobs.memory_bytes.tolist()) == ([8], [64 * 2**30])
    assert trace.more["start_time"] == ("600",)
    assert trace.more["end_time"] == ("4200",)
    assert trace.more["num_nodes"] == ("2",)
    assert trace.notices == ()


def test_a_cancelled_job_keeps_the_time_that_it_ran(file_of: FileOf) -> None:
    trace = read(
        file_of,
        record("1", "CANCELLED by 1001", elapsed="00:20:00", end="10:30:00"),
        record("2", "CANCELLED+", elapsed="00:01:00"),
        record("3", "TIMEOUT", elapsed="2-00:00:00"),
        record("4", "OUT_OF_MEMORY"),
    )

    assert [duration for _, duration, _ in seconds(trace).values()] == [1200, 60, 172_800, 3600]
    assert trace.more["state"][:2] == ("CANCELLED", "CANCELLED")
    assert trace.workload.interventions is None
    assert trace.notices == (
        "4 jobs did not complete (CANCELLED 2, TIMEOUT 1, OUT_OF_MEMORY 1): the duration is the "
        "time until then",
    )


def test_jobs_that_never_started_or_need_no_gpu_are_left_out(file_of: FileOf) -> None:
    trace = read(
        file_of,
        record("1"),
        record(
            "2_[5-9%2]", "PENDING", start="Unknown", end="Unknown", elapsed="00:00:00", alloc=""
        ),
        record("3", "CANCELLED by 7", start="None", elapsed="00:00:00", alloc=""),
        record("4", "CANCELLED by 7", start="11:10:00", elapsed="00:00:00"),
        record("5", alloc="billing=8,cpu=8,mem=64G,node=1", req="cpu=8,gres/gpu=0"),
    )

    assert trace.workload.ids == ("1",)
    assert trace.notices == (
        "8 of 9 jobs never started (PENDING 5, CANCELLED 2) or ask for no GPU (1): left out",
    )


def waiting(job: str, state: str = "PENDING") -> str:
    return record(job, state, start="Unknown", end="Unknown", elapsed="00:00:00", alloc="")


@pytest.mark.parametrize(
    ("tasks", "count"),
    [
        ("0-9%4", 10),
        ("1,3,5-7", 5),
        ("5", 1),
        ("1-9:2", 5),
        ("0-4000000", 4_000_001),
    ],
)
def test_a_record_of_an_array_counts_the_jobs_that_have_not_started(
    file_of: FileOf, tasks: str, count: int
) -> None:
    trace = read(file_of, record("1"), waiting(f"2_[{tasks}]"), waiting("3", "CANCELLED"))
    states = f"PENDING {count:,}, CANCELLED 1"
    notice = f"{count + 1:,} of {count + 2:,} jobs never started ({states}): left out"
    assert trace.notices == (notice,)


def test_a_job_of_an_array_that_a_later_dump_shows_has_started(file_of: FileOf) -> None:
    trace = read(
        file_of,
        waiting("2_[4-9%2]"),
        waiting("3_[0-1]"),
        HEADER,
        *(record(f"2_{task}") for task in range(2, 6)),
        waiting("2_[6-9%2]"),
        *(record(f"3_{task}") for task in range(2)),
    )
    assert list(trace.workload.ids) == ["2_2", "2_3", "2_4", "2_5", "3_0", "3_1"]
    assert trace.notices == (
        "2 records of runs that others show later: not read",
        "4 of 10 jobs never started (PENDING 4): left out",
    )


CUT = (
    "1 record of arrays with a list of jobs that sacct has cut: those that are not in it do "
    "not count; with SLURM_BITSTR_LEN=0 in its environment, sacct prints the whole list"
)


@pytest.mark.parametrize("listed", ["1,3,...", "1,3,5...%4", "1,3,1-...", "1,3,75-7"])
def test_a_list_of_jobs_that_sacct_has_cut_is_announced(file_of: FileOf, listed: str) -> None:
    notices = read(file_of, record("1"), waiting(f"2_[{listed}]")).notices
    assert notices == (CUT, "2 of 3 jobs never started (PENDING 2): left out")


@pytest.mark.parametrize(("listed", "count"), [("1,3,...", 2), ("7-3", 1), ("...", 1)])
def test_a_cut_list_in_two_dumps_counts_once(file_of: FileOf, listed: str, count: int) -> None:
    rows = [record("1"), waiting(f"2_[{listed}]"), HEADER, waiting(f"2_[{listed}]")]
    assert read(file_of, *rows).notices == (
        "1 record of runs that others show later: not read",
        CUT,
        f"{count} of {count + 1} jobs never started (PENDING {count}): left out",
    )


def test_a_long_list_of_jobs_takes_little_memory(file_of: FileOf) -> None:
    tracemalloc.start()
    try:
        read(file_of, record("1"), waiting("2_[0-999999]"), waiting("3_[0-999999:2]"))
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


def test_without_states_a_job_without_a_start_never_ran(file_of: FileOf) -> None:
    text = (
        "JobID|Submit|Start|Elapsed|ReqTRES\n"
        "1|2024-03-01T10:00:00|2024-03-01T10:00:00|00:00:00|gres/gpu=1\n"
        "2|2024-03-01T10:00:00|Unknown|00:00:00|gres/gpu=1\n"
    )
    trace = read_trace(file_of(text), timezone="UTC")

    assert seconds(trace) == {"1": (0, 0, 1)}
    assert trace.notices == ("1 of 2 jobs never started (no state 1): left out",)


def test_a_running_job_has_the_time_so_far(file_of: FileOf) -> None:
    header = HEADER.replace("|Elapsed", "")
    rows = [
        record("1", "RUNNING", end="Unknown", elapsed="x").replace("|x|", "|"),
        record("2", end="12:00:00", elapsed="x").replace("|x|", "|"),
    ]
    trace = read(file_of, *rows, header=header)

    assert seconds(trace) == {"1": (0, 6600, 4), "2": (0, 6600, 4)}
    assert trace.notices == ("1 job had not ended (RUNNING 1): the duration is the time so far",)


def test_elapsed_counts_and_not_the_time_from_start_to_end(file_of: FileOf) -> None:
    """Elapsed is without the time for which a job was suspended."""
    assert seconds(read(file_of, record("1", elapsed="00:30:00"))) == {"1": (0, 1800, 4)}


def test_runs_of_a_requeued_job_are_added_up(file_of: FileOf) -> None:
    trace = read(
        file_of,
        record("1", "PREEMPTED", end="10:30:00", elapsed="00:20:00"),
        record("1", "NODE_FAIL", submit="10:30:00", start="10:40:00", elapsed="00:05:00"),
        record("1", submit="11:30:00", start="11:40:00", end="12:10:00", elapsed="00:30:00"),
        record("2", submit="10:00:01"),
    )

    assert seconds(trace) == {"1": (0, 3300, 4), "2": (1, 3600, 4)}
    assert trace.more["start_time"] == ("600", "600")
    assert trace.more["end_time"] == ("7800", "4200")
    assert trace.notices == (
        "1 job ran several times (requeued): the duration is the sum of the runs",
    )


def test_a_number_that_was_used_again_is_another_job(file_of: FileOf) -> None:
    trace = read(file_of, record("1"), record("1", submit="13:00:00", start="13:00:00"))

    assert list(seconds(trace)) == ["1", "1#2"]
    assert trace.notices == ("1 job with the number of an earlier job: #2 appended",)


def test_overlapping_dumps_show_a_run_once(file_of: FileOf) -> None:
    trace = read(
        file_of,
        record("1", "RUNNING", end="Unknown", elapsed="00:10:00"),
        record("2", "PENDING", start="Unknown", end="Unknown", elapsed="00:00:00", alloc=""),
        HEADER,
        record("1"),
        record("2"),
        record("3"),
        record("3"),
    )

    assert seconds(trace) == dict.fromkeys("123", (0, 3600, 4))
    assert trace.notices == ("3 records of runs that others show later: not read",)


def test_components_of_a_heterogeneous_job_are_one_job(file_of: FileOf) -> None:
    cpu_only = "billing=8,cpu=8,mem=64G,node=1"
    trace = read(
        file_of,
        record("9+0"),
        record("9+1", alloc=cpu_only, req=cpu_only),
        record("9+2"),
        record("9+2.0"),
    )

    assert seconds(trace) == {"9": (0, 3600, 8)}
    assert trace.workload.cpus.tolist() == [24]
    assert trace.notices == ("3 components of 1 heterogeneous job: read as one job with all GPUs",)


def test_a_restart_without_its_earlier_runs_is_announced(file_of: FileOf) -> None:
    rows = [f"{record('1')}|2", f"{record('2')}|0"]
    (notice,) = read(file_of, *rows, header=f"{HEADER}|Restarts").notices

    assert notice == (
        "1 job was restarted, but the log has one run and a later submission; sacct --duplicates "
        "has all runs"
    )


def test_fields_of_older_versions_are_understood(file_of: FileOf) -> None:
    text = "JobIDRaw|Submit|Start|End|AllocGRES|NCPUS|NNodes|Account\n"
    text += "5|1709287200|1709287260|1709290860|gpu:v100:2|12|1|ml\n5.0|||||||\n"
    trace = read_trace(file_of(text))

    assert seconds(trace) == {"5": (0, 3600, 2)}
    assert trace.workload.cpus.tolist() == [12]
    assert trace.workload.queue_names == ("ml",)


def test_columns_choose_other_fields(file_of: FileOf) -> None:
    rows = [f"{record('1', alloc='cpu=6,node=1', req='')}|high|6"]
    columns = {"queue": "QOS", "num_gpus": "AllocCPUS"}
    trace = read(file_of, *rows, header=f"{HEADER}|QOS|AllocCPUS", columns=columns)

    assert trace.workload.queue_names == ("high",)
    assert trace.workload.gpus.tolist() == [6]
    with pytest.raises(UnknownName, match="did you mean 'qos'"):
        read(file_of, *rows, header=f"{HEADER}|QOS|AllocCPUS", columns={"queue": "QOSS"})


@pytest.mark.parametrize(
    ("left_out", "problem"),
    [
        (("Submit",), "no field with the submissions of jobs; add Submit to --format of sacct"),
        (("AllocTRES", "ReqTRES"), "no field with GPUs; add AllocTRES to --format of sacct"),
        (("Elapsed", "End"), "no field with the times that jobs ran; add Start,End,Elapsed"),
    ],
)
def test_missing_fields_are_asked_for(
    left_out: tuple[str, ...], problem: str, file_of: FileOf
) -> None:
    fields = [field for field in FIELDS if field not in left_out]
    path = file_of(rendered([RenderedJob("1", 0, (5,), (1,))], fields, zone=UTC))

    with pytest.raises(BadInput) as caught:
        read_trace(path)
    assert problem in str(caught.value)
    assert "--columns" in str(caught.value)
    assert len(str(caught.value)) < 500


def test_the_usual_fields_of_sacct_are_recognised(file_of: FileOf) -> None:
    """`sacct -P` without --format."""
    text = (
        "JobID|JobName|Partition|Account|AllocCPUS|State|ExitCode\n"
        "1001|train|gpu|lab|8|COMPLETED|0:0\n"
    )
    with pytest.raises(BadInput, match="add Submit to --format of sacct"):
        read_trace(file_of(text))


def test_a_log_without_gpus_says_how_to_count_cpus(file_of: FileOf) -> None:
    with pytest.raises(BadInput, match=r"ask for no GPU .*--columns num_gpus=AllocCPUS"):
        read(file_of, record("1", alloc="cpu=8,node=1", req="cpu=8,node=1"))


def test_one_reason_to_leave_jobs_out_needs_no_count(file_of: FileOf) -> None:
    trace = read(file_of, record("1"), record("2", alloc="cpu=8", req="cpu=8"))

    assert trace.notices == ("1 of 2 jobs ask for no GPU: left out",)


def test_truncated_tables_of_sacct_are_refused(file_of: FileOf) -> None:
    text = (
        "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n"
        "------------ ---------- ---------- ---------- ---------- ---------- -------- \n"
        "22105866        TestJob background       mgmt         20  COMPLETED      0:0 \n"
    )
    with pytest.raises(BadInput, match=r"truncated cells; add --parsable2 \(-P\) to the command"):
        read_trace(file_of(text))


def test_bad_records_are_counted_per_field(file_of: FileOf) -> None:
    rows = [
        record("1"),
        record("2", submit="Unknown"),
        record("3", elapsed="INVALID"),
        record("4", start="soon"),
        record("5", alloc="cpu=8,gres/gpu=many"),
        record("6") + "|x",
        record("7", submit="Unknown"),
    ]
    trace = read(file_of, *rows, skip_bad_rows=True)

    assert trace.workload.ids == ("1",)
    assert trace.skipped == {
        "unparsable submit_time": 2,
        "unparsable duration": 1,
        "unparsable start_time": 1,
        "unparsable num_gpus": 1,
        "wrong number of cells": 1,
    }
    with pytest.raises(BadInput, match=r"jobs.csv:3: submit_time is 'Unknown', which is not a"):
        read(file_of, *rows)


def test_job_names_with_the_delimiter_are_told_with_a_remedy(file_of: FileOf) -> None:
    with pytest.raises(BadInput, match=r"11 cells, the header has 10 \(a name with '\|' in it\?"):
        read(file_of, record("1") + "|x")


JOBS = st.lists(
    st.builds(
        RenderedJob,
        id=st.just(""),
        submit_s=st.integers(0, 10**7),
        runs_s=st.lists(st.integers(1, 10**6), min_size=1, max_size=3).map(tuple),
        components=st.one_of(
            st.integers(1, 64).map(lambda gpus: (gpus,)),
            st.lists(st.integers(1, 8), min_size=2, max_size=3).map(tuple),
        ),
        user=st.sampled_from(["ann", "bob"]),
        queue=st.sampled_from(["gpu", "long"]),
        state=st.sampled_from(["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED by 12"]),
        wait_s=st.integers(0, 10**5),
        has_steps=st.booleans(),
    ),
    min_size=1,
    max_size=6,
).map(
    lambda jobs: [
        RenderedJob(**{**vars(job), "id": f"{100 + number}" + ("_4" if number % 3 == 1 else "")})
        for number, job in enumerate(jobs)
    ]
)


@settings(max_examples=examples(100))
@given(
    jobs=JOBS,
    fields=st.permutations(FIELDS),
    zone=st.sampled_from(["UTC", "Asia/Kolkata", "+02:00"]),
    ends_lines=st.booleans(),
    delimiter=st.sampled_from("|;\t^"),
)
def test_a_rendered_workload_reads_back(
    jobs, fields, zone, ends_lines, delimiter, tmp_path_factory
):
    from motet.sim.traces.times.time_stamps import zone_named

    text = rendered(jobs, fields, zone=zone_named(zone), ends_lines=ends_lines, delimiter=delimiter)
    path = tmp_path_factory.mktemp("log") / "dump"
    path.write_text(text)
    trace = read_trace(path, timezone=zone)
    first_s = min(job.submit_s for job in jobs)

    assert trace.format == "sacct"
    assert seconds(trace) == {
        job.id: (job.submit_s - first_s, job.duration_s, job.gpus) for job in jobs
    }
    users = dict(zip(trace.workload.ids, trace.workload.users, strict=True))
    assert users == {job.id: job.user for job in jobs}
