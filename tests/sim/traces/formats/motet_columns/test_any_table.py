"""Tables whose columns the user names: times, durations, delimiters, missing columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from motet.domain.errors import BadInput, UnknownName
from motet.sim.traces import read_trace

FileOf = Callable[..., Path]
COLUMNS = {
    "job_id": "Job",
    "submit_time": "Submitted",
    "num_gpus": "GPUs",
    "duration": "Run time",
    "user": "Owner",
    "queue": "Team",
}
SITE = """\
Owner,Job,Team,GPUs,Submitted,Run time,Note
ann,a,prod,4,2024-03-01T10:00:00+01:00,1-02:03:04,x
bob,b,,1,2024-03-01T09:00:30Z,5:30,
"""


def seconds(values: list[int]) -> list[float]:
    return [value / 1_000_000 for value in values]


def test_named_columns_are_read_with_time_stamps_and_durations(file_of: FileOf) -> None:
    trace = read_trace(file_of(SITE), columns=COLUMNS)
    jobs = trace.workload

    assert trace.format == "table"
    assert jobs.ids == ("a", "b")
    assert seconds(jobs.submit_us.tolist()) == [0, 30]
    assert seconds(jobs.duration_us.tolist()) == [26 * 3600 + 184, 330]
    assert jobs.gpus.tolist() == [4, 1]
    assert jobs.users == ("ann", "bob")
    assert [jobs.queue_names[queue] for queue in jobs.queue] == ["prod", "default"]
    assert trace.notices == ()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_of_the_header(file_of: FileOf, delimiter: str) -> None:
    text = SITE.replace(",", delimiter)

    assert read_trace(file_of(text), columns=COLUMNS).workload.ids == ("a", "b")


def test_quoted_cells_may_contain_the_delimiter(file_of: FileOf) -> None:
    text = 'id,"GPUs, all",at,took\n"x, y",2,5,7\n'
    columns = {"job_id": "id", "num_gpus": "GPUs, all", "submit_time": "at", "duration": "took"}

    assert read_trace(file_of(text), columns=columns).workload.ids == ("x, y",)


def test_numbers_are_seconds_of_the_clock_of_the_file(file_of: FileOf) -> None:
    text = "id,gpus,at,took\na,1,1000.5,2\n"
    columns = {"job_id": "id", "num_gpus": "gpus", "submit_time": "at", "duration": "took"}
    jobs = read_trace(file_of(text), columns=columns).workload

    assert (jobs.submit_us.tolist(), jobs.duration_us.tolist()) == ([1_000_500_000], [2_000_000])


def test_a_missing_duration_is_the_time_from_start_to_end(file_of: FileOf) -> None:
    text = (
        "job_id,num_gpus,made,began,ended\n"
        "a,1,2024-03-01 10:00:00,2024-03-01 10:05:00,2024-03-01 11:05:00\n"
        "b,1,2024-03-01 10:00:10,2024-03-01 10:05:00,Unknown\n"
        "c,0,2024-03-01 10:00:20,2024-03-01 10:05:00,2024-03-01 10:05:01\n"
    )
    columns = {"submit_time": "made", "start_time": "began", "end_time": "ended"}
    trace = read_trace(file_of(text), columns=columns, timezone="UTC")

    assert trace.workload.duration_us.tolist() == [3_600_000_000]
    assert trace.more["start_time"] == ("300",)
    assert trace.notices == (
        "2 of 3 jobs have no duration: 1 (line 3), or no GPU: 1 (line 4): left out",
    )


def test_jobs_without_ids_are_numbered_and_times_without_zones_are_announced(
    file_of: FileOf,
) -> None:
    text = "num_gpus,submit_time,duration\n1,2024-03-01 10:00:00,60\n"
    trace = read_trace(file_of(text), "table")

    assert trace.workload.ids == ("0",)
    assert trace.notices[0] == "there is no column job_id: the row, from 0, is the id of a job"
    assert trace.notices[1].startswith("times without a time zone are read as UTC; ")


def test_a_time_zone_has_its_daylight_saving_time(file_of: FileOf) -> None:
    text = "job_id,num_gpus,submit_time,duration\n" + "".join(
        f"{job},1,2024-{time},60\n"
        for job, time in {
            "before": "03-31T01:30:00",
            "never": "03-31T02:30:00",
            "after": "03-31T03:30:00",
            "twice": "10-27T02:30:00",
        }.items()
    )
    trace = read_trace(file_of(text), "table", timezone="Europe/Berlin")
    found = dict(zip(trace.workload.ids, trace.workload.submit_us // 3_600_000_000, strict=True))

    # Berlin was one hour ahead of UTC until 2024-03-31 01:00 UTC, then two until 2024-10-27 01:00:
    # 00:30, 01:30 and 01:30 UTC on the one day, 00:30 UTC on the other, 210 days later.
    assert found == {"before": 0, "never": 1, "after": 1, "twice": 210 * 24}
    assert trace.notices == (
        "daylight saving time in Europe/Berlin: 1 time lies in an hour that occurred twice (read "
        "as the first), 1 time lies in an hour that was left out (read an hour later)",
    )


def test_times_that_do_not_exist_are_counted_once_beside_bad_rows(file_of: FileOf) -> None:
    text = (
        "job_id,num_gpus,submit_time,duration\n"
        "never,1,2024-03-31T02:30:00,60\nbad,1,2024-03-31T02:99:00,60\n"
    )
    trace = read_trace(file_of(text), "table", timezone="Europe/Berlin", skip_bad_rows=True)

    assert trace.notices[0] == (
        "daylight saving time in Europe/Berlin: 1 time lies in an hour that was left out (read an "
        "hour later)"
    )


def test_bad_cells_are_told_with_their_line(file_of: FileOf) -> None:
    path = file_of(SITE.replace("5:30", "5:99"))

    with pytest.raises(BadInput, match=r"jobs.csv:3: duration is '5:99', which has 99 seconds"):
        read_trace(path, columns=COLUMNS)
    path = file_of(SITE.replace("2024-03-01T09:00:30Z", "yesterday"))
    with pytest.raises(BadInput, match=r"jobs.csv:3: submit_time is 'yesterday', which is not a"):
        read_trace(path, columns=COLUMNS)


def test_missing_columns_are_asked_for_with_a_proposal(file_of: FileOf) -> None:
    path = file_of("Job ID;Created;GPUs Used;Elapsed\na;2024-03-01;1;60\n")

    with pytest.raises(BadInput) as caught:
        read_trace(path)
    assert str(caught.value) == (
        f"{path}:1: no column 'submit_time', 'num_gpus', 'duration'; the header has Job ID, "
        "Created, GPUs Used, Elapsed; name the columns with --columns "
        "'job_id=Job ID,submit_time=Created,num_gpus=GPUs Used,duration=Elapsed' (or "
        "another --format)"
    )
    proposed = {"submit_time": "Created", "num_gpus": "GPUs Used", "duration": "Elapsed"}
    assert len(read_trace(path, columns=proposed).workload) == 1


def test_a_start_and_an_end_are_proposed_for_a_missing_duration(file_of: FileOf) -> None:
    path = file_of("Job;Submitted At;Started;Finished;GPU Count\na;1;2;3;4\n")

    with pytest.raises(BadInput) as caught:
        read_trace(path)
    assert (
        "--columns 'job_id=Job,submit_time=Submitted At,num_gpus=GPU Count,"
        "start_time=Started,end_time=Finished' (or" in str(caught.value)
    )


@pytest.mark.parametrize(
    ("text", "ids", "duration_s"),
    [
        ("job_id;submit_time;num_gpus;duration\na;0;1;60\n", ("a",), 60),
        ('"Job_ID"\t"Submit_Time"\t"Num_GPUs"\t"Duration"\na\t0\t1\t1:30\n', ("a",), 90),
        ("submit_time,num_gpus,duration\n0,1,60\n", ("0",), 60),
        (
            "job_id,submit_time,num_gpus,start_time,end_time\n"
            "a,2025-01-01T00:00:00Z,1,2025-01-01T00:01:00Z,2025-01-01T00:03:00Z\n",
            ("a",),
            120,
        ),
    ],
)
def test_a_table_with_all_necessary_names_needs_no_columns_option(
    text: str, ids: tuple[str, ...], duration_s: float, file_of: FileOf
) -> None:
    trace = read_trace(file_of(text))

    assert trace.workload.ids == ids
    assert seconds(trace.workload.duration_us.tolist()) == [duration_s]


def test_decimal_commas_of_times_are_told(file_of: FileOf) -> None:
    path = file_of("job_id;submit_time;num_gpus;duration\na;0,5;1;60\n")
    with pytest.raises(BadInput, match=r"submit_time is '0,5', .*write decimals with a point"):
        read_trace(path)


def test_wrong_names_are_told_with_the_near_ones(file_of: FileOf) -> None:
    path = file_of(SITE)

    with pytest.raises(UnknownName, match="did you mean 'num_gpus'"):
        read_trace(path, columns={"gpus": "GPUs"})
    with pytest.raises(UnknownName, match=r"--columns num_gpus= 'GPU'; did you mean 'GPUs'"):
        read_trace(path, columns={**COLUMNS, "num_gpus": "GPU"})
    with pytest.raises(BadInput, match="two columns are called 'job'"):
        read_trace(file_of(SITE.replace("Note", "job")), columns=COLUMNS)
    with pytest.raises(BadInput, match="--columns and --format philly: it has its own columns"):
        read_trace(path, "philly", columns=COLUMNS)


@pytest.mark.parametrize(
    ("zone", "problem"),
    [
        ("Europe/Berlim", "did you mean Europe/Berlin?"),
        ("+2", "is not an offset; write it as"),
        ("../etc/passwd", "no such zone"),
        ("Europe", "no such zone"),
    ],
)
def test_unknown_time_zones_are_told(zone: str, problem: str, file_of: FileOf) -> None:
    with pytest.raises(BadInput) as caught:
        read_trace(file_of(SITE), columns=COLUMNS, timezone=zone)
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 500


def test_elastic_jobs_and_cancellations_of_a_table_stay_with_their_jobs(file_of: FileOf) -> None:
    text = (
        "job_id,num_gpus,at,duration,steps,speed,speed_t0,stop\n"
        "idle,0,1,5,,,,\na,2,2,5,,,,9\nb,2,3,,100,sync,2,\n"
    )
    trace = read_trace(file_of(text), columns={"submit_time": "at"})

    assert trace.workload.work is not None
    assert trace.workload.work.is_modelled.tolist() == [False, True]
    assert trace.workload.ids == ("a", "b")


def test_a_missing_count_of_gpus_is_left_out_and_a_wrong_one_is_a_bad_row(file_of: FileOf) -> None:
    rows = ["a,1,0,60", "b,0,1,60", "c,,2,60", "d,n/a,3,60", "e,two,4,60", "f,-1,5,60", "g,1,6,"]
    path = file_of("\n".join(["job_id,num_gpus,submit_time,duration", *rows]))
    trace = read_trace(path, "table", skip_bad_rows=True)

    assert trace.workload.ids == ("a",)
    assert trace.notices == (
        "4 of 7 jobs have no duration: 1 (line 8), or no GPU: 3 (first in line 3): left out",
        "2 bad rows skipped: unparsable num_gpus 1 (line 6), negative number of GPUs 1 (line 7)",
    )


def test_dates_of_a_table_give_the_date_of_time_0(file_of: FileOf) -> None:
    trace = read_trace(file_of(SITE), columns=COLUMNS, timezone="Europe/Berlin")
    assert trace.zero is not None
    assert trace.zero.isoformat() == "2024-03-01T10:00:00+01:00"
    text = "job_id,num_gpus,submit_time,duration\na,1,5,60\n"
    assert read_trace(file_of(text), "table").zero is None


def table(submitted: list[str], took: str = "60") -> str:
    rows = "".join(f"{row};{at};1;{took}\n" for row, at in enumerate(submitted))
    return f"Job Nr;When;GPUs;Took\n{rows}"


NAMED = {"job_id": "Job Nr", "submit_time": "When", "num_gpus": "GPUs", "duration": "Took"}


@pytest.mark.parametrize(
    ("submitted", "form", "notice"),
    [
        (["27.10.2024 08:00", "27.10.2024 08:01"], None, "27.10.2024 08:00 are read as day.month"),
        (["1/2/2024 1:00 PM", "1/2/2024 1:01 PM"], "%m/%d/%Y %I:%M %p", ""),
        (["1710060000000", "1710060060000"], None, "are read as milliseconds since 1970"),
        (["1710060000", "1710060060"], "s", ""),
        (["5", "65"], None, ""),
    ],
)
def test_times_of_other_forms_are_read_and_said(
    file_of: FileOf, submitted: list[str], form: str | None, notice: str
) -> None:
    trace = read_trace(file_of(table(submitted)), columns=NAMED, time_format=form)
    first, second = trace.workload.submit_us.tolist()
    assert second - first == 60_000_000
    assert (trace.zero is None) == (submitted[0] == "5")
    assert notice in " ".join(trace.notices)


def test_ambiguous_dates_are_asked_for_with_their_line(file_of: FileOf) -> None:
    with pytest.raises(BadInput, match=r"jobs.csv:2: submit_time: '1/2/2024 1:00' and all others"):
        read_trace(file_of(table(["1/2/2024 1:00", "1/3/2024 1:00"])), columns=NAMED)


def test_a_time_format_reads_motets_own_columns(file_of: FileOf) -> None:
    text = "job_id,submit_time,num_gpus,duration\na,27.10.2024,1,5\n"
    assert read_trace(file_of(text), time_format="%d.%m.%Y").format == "table"


def test_a_format_with_times_of_its_own_takes_none(file_of: FileOf) -> None:
    path = file_of("timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,5,1,5,c\n")
    with pytest.raises(BadInput, match=r"--time-format and the format philly: .* leave the option"):
        read_trace(path, time_format="ms")


def test_messages_write_columns_as_the_header_does(file_of: FileOf) -> None:
    path = file_of(table(["0", "1"]))
    with pytest.raises(UnknownName, match="known: GPUs, Job Nr, Took, When"):
        read_trace(path, columns={**NAMED, "queue": "Team"})
    others = {name: column for name, column in NAMED.items() if name != "job_id"}
    assert "--columns job_id='Job Nr'" in " ".join(read_trace(path, columns=others).notices)


def test_a_decimal_comma_is_told(file_of: FileOf) -> None:
    with pytest.raises(BadInput, match=r"duration is '1,5', which is not a number; write decimals"):
        read_trace(file_of(table(["0"], "1,5")), columns=NAMED)
