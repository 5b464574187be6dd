"""Every format, from a sample small enough to check by eye."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.sim.traces import Trace, read_trace

FileOf = Callable[..., Path]

MOTET = """\
job_id,user,queue,submit_time,num_gpus,num_cpus,num_nodes,duration,model,batch_size,iterations,priority,state,start_time,end_time
a,ann,prod,0,1,8,1,12.5,vgg16,32,100,2,COMPLETED,3,15.5
b,bob,,1.000001,4,,,60,,,,,,,
"""
TIRESIAS = """\
job_id,num_gpu,submit_time,iterations,model_name,duration,interval
0,1,0,606,vgg19,164,30
1,8,30,133,vgg11,147,23
"""
MURI = """\
job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,resource_time_1,resource_time_2,priority
0,8,0,10956,gpt2,4,5095001,91000,437,0.6,419,49,0
1,8,1534000,1463,vgg16,16,281000,28000,214,82,75,66,1
"""
PHILLY = """\
timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,11cb48
2017-10-09 06:13:03,2951.0,2,5902.0,6214e9
"""
HELIOS = """\
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
11,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:02,2020-06-10 04:55:10,36848,1
12,uVMrF,vchbv,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0
13,uVMrF,vchbv,0,16,1,FAILED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-09 18:45:37,249,0
"""
SWF = """\
; Version: 2.2
; MaxProcs: 128
1 0 5 100 4 -1 -1 8 3600 -1 1 7 1 -1 2 -1 -1 -1
2 10 -1 50.5 2 -1 -1 -1 -1 -1 0 -1 -1 -1 -1 -1 -1 -1
3 20 7 -1 -1 -1 -1 4 600 -1 5 7 1 -1 2 -1 -1 -1
"""
GAVEL = """\
A3C\tpython3 a3c.py\t--max-steps\t0\t1000\t0.000000\t1
ResNet-18 (batch size 32)\tpython3 main.py\t--num_steps\t1\t300\t12.500000\t8
"""
SPEEDS = """\
worker_type,model,scale_factor,steps_per_s
v100,A3C,1,8
k80,A3C,1,2
v100,ResNet-18 (batch size 32),1,4
v100,ResNet-18 (batch size 32),4,3
"""
ATTEMPTS = [
    {
        "start_time": "2017-10-07 01:12:09",
        "end_time": "2017-10-07 01:13:23",
        "detail": [{"ip": "m47", "gpus": ["gpu0", "gpu1"]}, {"ip": "m48", "gpus": ["gpu0"]}],
    },
    {
        "start_time": "2017-10-07 01:13:30",
        "end_time": "2017-10-07 01:13:40",
        "detail": [{"ip": "m47", "gpus": ["gpu0"]}],
    },
    {"start_time": "2017-10-07 01:14:00", "end_time": None, "detail": []},
]


def philly_job(number: int, attempts: list[object], submitted: str) -> dict[str, object]:
    return {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": f"application_{number}",
        "attempts": attempts,
        "submitted_time": submitted,
        "user": "ce2f4c",
    }


PHILLY_JSON = json.dumps(
    [
        philly_job(1, [], "2017-10-07 01:11:00"),
        philly_job(2, list(ATTEMPTS), "2017-10-07 01:11:39"),
    ],
    indent=4,
)


def rows(trace: Trace) -> list[tuple[object, ...]]:
    """(id, submission, duration, GPUs, queue, user, model) of every job, times in microseconds."""
    jobs = trace.workload
    models = (*jobs.model_names, "")
    return [
        (
            jobs.ids[row],
            int(jobs.submit_us[row]),
            int(jobs.duration_us[row]),
            int(jobs.gpus[row]),
            jobs.queue_names[jobs.queue[row]],
            jobs.users[row],
            models[jobs.model[row]],
        )
        for row in range(len(jobs))
    ]


def test_motet_csv(file_of: FileOf) -> None:
    trace = read_trace(file_of(MOTET))

    assert trace.format == "motet"
    assert rows(trace) == [
        ("a", 0, 12_500_000, 1, "prod", "ann", "vgg16"),
        ("b", 1_000_001, 60_000_000, 4, "default", "bob", ""),
    ]
    assert trace.more["state"] == ("COMPLETED", "")
    assert trace.more["end_time"] == ("15.5", "")


def test_motet_csv_needs_four_columns_in_any_order(file_of: FileOf) -> None:
    trace = read_trace(file_of("Duration, num_gpus,job_id,submit_time\n7,2,x,5\n"))

    assert rows(trace) == [("x", 5_000_000, 7_000_000, 2, "default", "", "")]


def test_tiresias_csv(file_of: FileOf) -> None:
    trace = read_trace(file_of(TIRESIAS))

    assert trace.format == "tiresias"
    assert rows(trace) == [
        ("0", 0, 164_000_000, 1, "default", "", "vgg19"),
        ("1", 30_000_000, 147_000_000, 8, "default", "", "vgg11"),
    ]
    assert trace.more == {"iterations": ("606", "133")}


def test_muri_csv_is_in_milliseconds(file_of: FileOf) -> None:
    trace = read_trace(file_of(MURI))

    assert trace.format == "muri"
    assert rows(trace) == [
        ("0", 0, 5_095_001_000, 8, "default", "", "gpt2"),
        ("1", 1_534_000_000, 281_000_000, 8, "default", "", "vgg16"),
    ]
    assert trace.more["priority"] == ("0", "1")


def test_philly_csv_counts_rows_as_ids_and_seconds_from_the_first_submission(
    file_of: FileOf,
) -> None:
    trace = read_trace(file_of(PHILLY))

    assert trace.format == "philly"
    assert rows(trace) == [
        ("1", 0, 2_951_000_000, 2, "6214e9", "", ""),
        ("0", 2_932_000_000, 66_000_000, 1, "11cb48", "", ""),
    ]


def test_philly_json_adds_up_attempts_and_leaves_out_jobs_that_never_ran(file_of: FileOf) -> None:
    trace = read_trace(file_of(PHILLY_JSON, "cluster_job_log"))

    assert trace.format == "philly-json"
    assert rows(trace) == [("application_2", 39_000_000, 84_000_000, 3, "ee9e8c", "ce2f4c", "")]
    assert trace.notices == ("1 of 2 jobs have no attempt with a start, an end and GPUs: left out",)
    assert trace.more["num_nodes"] == ("2",)
    assert (trace.more["start_time"], trace.more["end_time"]) == (("69",), ("160",))


def test_helios_csv_takes_vc_as_the_queue_and_leaves_out_jobs_without_gpus(file_of: FileOf) -> None:
    trace = read_trace(file_of(HELIOS))

    assert trace.format == "helios"
    assert rows(trace) == [
        ("11", 0, 36_848_000_000, 1, "vcJkd", "uXBbc", ""),
        ("12", 26_000_000, 249_000_000, 4, "vchbv", "uVMrF", ""),
    ]
    assert trace.notices == ("1 of 3 jobs ask for no GPU: left out",)
    assert trace.more["start_time"] == ("1", "26")


def test_swf_takes_requested_processors_and_leaves_out_jobs_that_never_ran(file_of: FileOf) -> None:
    trace = read_trace(file_of(SWF, "log.swf"))

    assert trace.format == "swf"
    assert rows(trace) == [
        ("1", 0, 100_000_000, 8, "2", "7", ""),
        ("2", 10_000_000, 50_500_000, 2, "default", "", ""),
    ]
    assert trace.notices == ("1 of 3 jobs have no run time or processors: left out",)
    assert trace.more["end_time"] == ("105", "")


def test_gavel_durations_follow_from_steps_and_isolated_speeds(file_of: FileOf) -> None:
    speeds = file_of(SPEEDS, "speeds.csv")
    trace = read_trace(file_of(GAVEL, "gavel.trace"), throughputs=speeds)

    assert trace.format == "gavel"
    assert rows(trace) == [
        ("0", 0, 125_000_000, 1, "default", "", "A3C"),
        ("1", 12_500_000, 100_000_000, 8, "default", "", "ResNet-18 (batch size 32)"),
    ]
    assert trace.more == {"batch_size": ("", "32"), "iterations": ("1000", "300")}
    (notice,) = trace.notices
    assert notice.startswith("1 jobs ask for a number of GPUs that speeds.csv lacks")


def test_a_table_of_speeds_beside_a_gavel_trace_is_found(file_of: FileOf) -> None:
    file_of(SPEEDS, "gavel_isolated_steps_per_s.csv")
    assert len(read_trace(file_of(GAVEL, "gavel.trace")).workload) == 2


def test_a_gavel_trace_without_speeds_names_the_needed_file(file_of: FileOf) -> None:
    with pytest.raises(BadInput, match=r"counts steps, not seconds; .* --throughputs"):
        read_trace(file_of(GAVEL, "gavel.trace"))


def test_a_type_of_job_without_a_speed_is_a_bad_row(file_of: FileOf) -> None:
    speeds = file_of(SPEEDS, "speeds.csv")
    path = file_of(GAVEL.replace("A3C", "GPT", 1), "gavel.trace")

    with pytest.raises(BadInput, match=r"gavel\.trace:1: speeds\.csv has no speed of job type"):
        read_trace(path, throughputs=speeds)
    assert read_trace(path, throughputs=speeds, skip_bad_rows=True).skipped == {"unknown speed": 1}


@pytest.mark.parametrize(
    ("attempt", "problem"),
    [
        (dict(ATTEMPTS[0], end_time="2017-10-07 01:00:00"), "an attempt ends 729 s before"),
        (dict(ATTEMPTS[0], end_time="soon"), "end_time is 'soon', which is not a time"),
        ("what", "this is not a job like"),
    ],
)
def test_a_bad_attempt_of_a_philly_job_is_told_with_its_line(
    attempt: object, problem: str, file_of: FileOf
) -> None:
    good = philly_job(1, [ATTEMPTS[0]], "2017-10-07 01:11:00")
    bad = philly_job(2, [attempt], "2017-10-07 01:11:00")
    path = file_of(f"[\n{json.dumps(good)},\n{json.dumps(bad)}]\n", "cluster_job_log")

    with pytest.raises(BadInput, match=f"cluster_job_log:3: {problem}"):
        read_trace(path)
    assert len(read_trace(path, skip_bad_rows=True).workload) == 1


def test_json_that_is_cut_short_is_told_with_its_line(file_of: FileOf) -> None:
    with pytest.raises(BadInput, match=r"cluster_job_log:\d+: is not JSON"):
        read_trace(file_of(PHILLY_JSON[:-200], "cluster_job_log"))


@pytest.mark.parametrize(
    ("value", "reason"),
    [("9" * 5000, "a number is too long"), ("[" * 100_000, "nested too deeply")],
    ids=["number", "depth"],
)
def test_odd_json_is_told_with_its_line(file_of: FileOf, value: str, reason: str) -> None:
    path = file_of(f'[\n{{"jobid": "a", "attempts": {value}}}]', "log.json")
    with pytest.raises(BadInput, match=rf"log.json:2: is not JSON \({reason}\)"):
        read_trace(path)


def test_dates_in_a_log_of_numbers_are_told_their_format(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submit_time,num_gpus,duration\na,2026-03-01T08:03:54,1,0:30:00\n")
    with pytest.raises(BadInput, match="which is not a number; give --format table"):
        read_trace(path)
    assert len(read_trace(path, "table").workload) == 1
