"""What holds for every format: recognition, bad rows, order, compression."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from motet.domain.errors import BadInput, UnknownName
from motet.sim.traces import read_trace

FileOf = Callable[..., Path]
HEADER = "job_id,submit_time,num_gpus,duration\n"
GOOD = "good,0,1,10\n"

BAD_ROWS = {
    "negative duration": ("x,0,1,-5", "duration is -5 s, it must be at least 0"),
    "negative submit time": ("x,-1,1,5", "submit time is -1 s, a trace's clock starts at 0"),
    "too many GPUs": ("x,0,61,5", "the job requests 61 GPUs, the cluster has 60"),
    "no GPUs": ("x,0,0,5", "the job requests 0 GPUs, it must be at least 1"),
    "duplicate id": ("good,0,1,5", "job id 'good' is already used in line 2"),
    "no id": (" ,0,1,5", "the job has no id"),
    "wrong number of cells": ("x,0,1", "3 cells, the header has 4"),
}
UNPARSABLE = {
    "x,0,1,soon": "duration is 'soon', which is not a number",
    "x,0,1,nan": "duration is 'nan', which is not a finite number",
    "x,0,1,1e999999": "duration is '1e999999', which is far too large",
    "x,0,1,5000000000": "duration is '5000000000', which is beyond 146 years",
    "x,0,1,": "duration is empty, which is not a number",
    "x,,1,5": "submit_time is empty, which is not a number",
    "x,0,1.5,5": "num_gpus is '1.5', which is not a whole number",
    "x,0,1e30,5": "num_gpus is '1e30', which is beyond 1,000,000,000",
    f"x,0,{'9' * 5000},5": "num_gpus is '9999999999999999999999999999999999999999...'",
}


@pytest.mark.parametrize("reason", BAD_ROWS)
def test_a_bad_row_is_told_with_its_line_and_how_to_mend_it(reason: str, file_of: FileOf) -> None:
    row, message = BAD_ROWS[reason]
    path = file_of(f"{HEADER}{GOOD}{row}\n")

    with pytest.raises(BadInput) as caught:
        read_trace(path, largest_gang=60)
    remedy = "correct it or leave bad rows out with --skip-bad-rows"
    assert str(caught.value) == f"{path}:3: {message}; {remedy}"


@pytest.mark.parametrize("reason", BAD_ROWS)
def test_bad_rows_can_be_skipped_and_are_counted(reason: str, file_of: FileOf) -> None:
    trace = read_trace(
        file_of(f"{HEADER}{GOOD}{BAD_ROWS[reason][0]}\n"), largest_gang=60, skip_bad_rows=True
    )

    assert trace.workload.ids == ("good",)
    assert trace.skipped == {reason: 1}
    assert trace.notices == (f"1 bad row skipped: {reason} 1 (line 3)",)


@pytest.mark.parametrize("row", UNPARSABLE, ids=lambda row: row[:20])
def test_numbers_that_cannot_be_read_are_told(row: str, file_of: FileOf) -> None:
    path = file_of(f"{HEADER}{row}\n{GOOD}")

    with pytest.raises(BadInput) as caught:
        read_trace(path)
    assert str(caught.value).startswith(f"{path}:2: {UNPARSABLE[row]}")
    field = UNPARSABLE[row].partition(" is ")[0]
    assert read_trace(path, skip_bad_rows=True).skipped == {f"unparsable {field}": 1}


def test_service_that_cannot_be_counted_is_a_bad_row(file_of: FileOf) -> None:
    path = file_of(f"{HEADER}{GOOD}x,0,1000000,4000000000\n")

    with pytest.raises(BadInput, match=r"jobs\.csv:3: 1000000 GPUs for 4e\+09 s are too much"):
        read_trace(path)


def test_bad_rows_are_counted_per_field_with_the_first_line_of_each(file_of: FileOf) -> None:
    path = file_of(f"{HEADER}a,0,0,-1\n{GOOD}b,0,1,x\nc,0,1,-3\nd,soon,1,1\ne,0,1,y\nf,0,1,\n")

    with pytest.raises(BadInput) as caught:
        read_trace(path)
    assert str(caught.value) == (
        f"{path}:2: duration is -1 s, it must be at least 0 (and 5 more bad rows: unparsable "
        "duration 3 (first in line 4), negative duration 1 (line 5), unparsable submit_time 1 "
        "(line 6)); correct them or leave bad rows out with --skip-bad-rows"
    )
    trace = read_trace(path, skip_bad_rows=True)
    assert trace.notices == (
        "6 bad rows skipped: unparsable duration 3 (first in line 4), negative duration 2 (first "
        "in line 2), unparsable submit_time 1 (line 6)",
    )
    assert trace.skipped == {
        "unparsable duration": 3,
        "negative duration": 2,
        "unparsable submit_time": 1,
    }


def test_many_kinds_of_bad_rows_do_not_make_a_long_message(file_of: FileOf) -> None:
    names = [f"c{number}" for number in range(12)]
    speeds = ",".join("1" for _ in range(5))
    header = f"{HEADER.strip()},steps,speed,speed_t0,speed_t1,speed_t2,speed_t3,speed_t4\n"
    rows = [f"{name},0,1,9,5,sync,{speeds}".split(",") for name in names]
    for number, row in enumerate(rows):
        row[1 + number % 10] = "x"
    text = header + "".join(",".join(row) + "\n" for row in rows)

    with pytest.raises(BadInput) as caught:
        read_trace(file_of(text))
    assert len(str(caught.value)) < 500 + len(str(file_of(text)))


def test_lines_are_counted_as_an_editor_counts_them(file_of: FileOf) -> None:
    text = 'job_id,submit_time,num_gpus,duration,user\n\n"a",0,1,1,"two\nlines"\n\nb,0,1,x,u\n'

    with pytest.raises(BadInput, match=r"jobs\.csv:6: duration is 'x'"):
        read_trace(file_of(text))


def test_a_bad_row_does_not_keep_its_id(file_of: FileOf) -> None:
    trace = read_trace(file_of(f"{HEADER}a,0,1,-1\na,0,1,5\n"), skip_bad_rows=True)

    assert trace.skipped == {"negative duration": 1}
    assert trace.workload.ids == ("a",)


def test_ids_of_rows_count_skipped_rows_too(file_of: FileOf) -> None:
    text = (
        "timestamp,duration,num_gpus\n"
        "2017-10-09 07:00:00,-1,1\n"
        "never,1,1\n"
        "2017-10-09 07:00:09,1,1\n"
    )
    trace = read_trace(file_of(text), skip_bad_rows=True)

    assert trace.workload.ids == ("2",)
    assert trace.workload.submit_us.tolist() == [9_000_000]


def test_nothing_left_is_an_error(file_of: FileOf) -> None:
    with pytest.raises(BadInput, match=r"no job to replay \(1 bad row skipped: negative duration"):
        read_trace(file_of(f"{HEADER}a,0,1,-1\n"), skip_bad_rows=True)
    with pytest.raises(BadInput, match="no job to replay"):
        read_trace(file_of(HEADER))


def test_a_missing_column_is_named(file_of: FileOf) -> None:
    with pytest.raises(BadInput, match=r"jobs\.csv:1: no column 'duration'; the header has job_id"):
        read_trace(file_of("job_id,submit_time,num_gpus\na,0,1\n"), skip_bad_rows=True)


def test_a_forced_format_must_have_its_columns(file_of: FileOf) -> None:
    with pytest.raises(BadInput, match="no column 'num_gpu'"):
        read_trace(file_of(HEADER + GOOD), format="tiresias")


def test_a_forced_format_wins_over_the_content(file_of: FileOf) -> None:
    text = "job_id,num_gpu,submit_time,duration,iteration_time\na,1,5,7,1\n"

    assert read_trace(file_of(text)).workload.duration_us.tolist() == [7_000]
    assert read_trace(file_of(text), "tiresias").workload.duration_us.tolist() == [7_000_000]


def test_an_unknown_format_names_the_near_ones(file_of: FileOf) -> None:
    with pytest.raises(UnknownName, match="did you mean 'tiresias'"):
        read_trace(file_of(HEADER + GOOD), format="tiresia")


@pytest.mark.parametrize("text", ["hello world\n", "{}\n", "1,2,3\n4,5,6\n", "a\tb\tc\n"])
def test_what_is_no_trace_is_told_with_the_known_formats(text: str, file_of: FileOf) -> None:
    with pytest.raises(BadInput, match=r"jobs\.csv:1: not a trace in a known format; .*swf"):
        read_trace(file_of(text))


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("123|ann|gpu|COMPLETED|2024-03-01T10:00:00\n", "print it without --noheader"),
        ('{\n "jobs": [],\n "meta": {"slurm": {}}}\n', "sacct --parsable2 instead of --json"),
        ("apiVersion: v1\nitems:\n", "kubectl -o json instead of yaml"),
        ("NAMESPACE   NAME   QUEUE   RESERVED IN\nml   a   b   c\n", "print the objects with"),
    ],
)
def test_logs_in_another_form_are_told_how_to_print_them(
    text: str, remedy: str, file_of: FileOf
) -> None:
    with pytest.raises(BadInput) as caught:
        read_trace(file_of(text))
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"\x89PNG\r\n\x00\x01", "is not text; give a trace with jobs, as text"),
        (gzip.compress(b"job_id" * 100, mtime=0)[:30], "cannot be decompressed"),
    ],
)
def test_files_that_hold_no_text_are_told(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_bytes(content)

    with pytest.raises(BadInput, match=problem):
        read_trace(path)


GERMAN = "job_id,submit_time,num_gpus,duration,user\nä1,0,1,5,Müller\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_usual_encodings_are_recognised(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv.gz"
    path.write_bytes(gzip.compress(GERMAN.encode(encoding)))

    trace = read_trace(path)

    assert (trace.workload.ids, trace.workload.users) == (("ä1",), ("Müller",))
    expected = "the file is not UTF-8: read as Windows-1252" if encoding == "cp1252" else ""
    assert " ".join(trace.notices).startswith(expected)
    assert bool(trace.notices) == bool(expected)


@pytest.mark.parametrize("encoding", ["gbk", "shift_jis", "utf-16-be"])
def test_another_encoding_is_named(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(GERMAN.replace("ä", "二").replace("ü", "u").encode(encoding))

    trace = read_trace(path, encoding=encoding)

    assert (trace.workload.ids, trace.notices) == (("二1",), ())


def test_an_encoding_that_does_not_fit_is_refused_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(GERMAN.encode("cp1252"))
    with pytest.raises(
        BadInput,
        match=r"is not utf-8 text: line 2, byte 42, .*; name the encoding .* with --encoding$",
    ):
        read_trace(path, encoding="utf-8")


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "hex", ""])
def test_what_is_no_encoding_is_refused(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(GERMAN)
    with pytest.raises(BadInput, match=f"--encoding {encoding}: no such encoding; give a name"):
        read_trace(path, encoding=encoding)


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.csv: no such file; check the path"):
        read_trace(tmp_path / "none.csv")
    with pytest.raises(BadInput, match="is a folder"):
        read_trace(tmp_path)


def test_jobs_out_of_order_are_sorted_with_a_notice(file_of: FileOf) -> None:
    trace = read_trace(file_of(f"{HEADER}a,5,1,1\nb10,3,2,1\nb9,3,3,1\n"))

    assert trace.workload.ids == ("b9", "b10", "a")
    assert trace.workload.gpus.tolist() == [3, 2, 1]
    assert trace.notices == (
        "jobs are not in the order of their submission (line 3 was submitted before line 2): "
        "sorted",
    )


def test_further_columns_stay_with_their_jobs(file_of: FileOf) -> None:
    text = "job_id,submit_time,num_gpus,duration,priority\na,5,1,1,low\nb,3,2,1,high\n"

    assert read_trace(file_of(text)).more == {"priority": ("high", "low")}


def test_a_gzipped_trace_reads_as_it_is_and_its_hash_is_that_of_the_file(tmp_path: Path) -> None:
    raw = gzip.compress(f"\ufeff{HEADER}{GOOD}".replace("\n", "\r\n").encode())
    (tmp_path / "jobs").write_bytes(raw)
    trace = read_trace(tmp_path / "jobs")

    assert (trace.format, trace.workload.ids) == ("motet", ("good",))
    assert trace.sha256 == hashlib.sha256(raw).hexdigest()


def test_times_are_exact_to_the_microsecond(file_of: FileOf) -> None:
    times = ("0.000001", "123456789.000003", "1e-6", "0.1", "4000000000.999999", " 7 ")
    rows = "".join(f"{row},{time},1,1\n" for row, time in enumerate(times))
    trace = read_trace(file_of(HEADER + rows))

    found = dict(zip(trace.workload.ids, trace.workload.submit_us.tolist(), strict=True))
    assert [found[str(row)] for row in range(len(times))] == [
        1,
        123_456_789_000_003,
        1,
        100_000,
        4_000_000_000_999_999,
        7_000_000,
    ]


def test_ids_of_any_kind_have_an_order_that_does_not_depend_on_their_lines(file_of: FileOf) -> None:
    ids = ["1" * 5000, "²", "0", "00", "job-9", "job-10"]

    def read(names: list[str]) -> tuple[str, ...]:
        return read_trace(
            file_of(HEADER + "".join(f"{each},0,1,1\n" for each in names))
        ).workload.ids

    assert read(ids) == read(ids[::-1]) == ("0", "00", "1" * 5000, "job-9", "job-10", "²")
