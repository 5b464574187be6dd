"""Lists of Kueue workloads and Kubernetes jobs; fields by the Go types of v1beta2 and batch/v1."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.errors import BadInput
from motet.sim.traces import Trace, read_trace
from rendered_kueue import RenderedWorkload, rendered_list, time_text, workload

FileOf = Callable[..., Path]
JOB = RenderedWorkload("ml/train-1", 30, 60, 3600, ((1, 0), (2, 4)))
OTHER = RenderedWorkload("ml/other", 0, 0, 10, ((1, 1),))


def seconds(trace: Trace) -> dict[str, tuple[float, float, int]]:
    """(submission, duration, GPUs) by job."""
    jobs = trace.workload
    columns = (jobs.submit_us / 1e6, jobs.duration_us / 1e6, jobs.gpus)
    return dict(zip(jobs.ids, zip(*(c.tolist() for c in columns), strict=True), strict=True))


def without_conditions(item: dict[str, Any], *kinds: str) -> dict[str, Any]:
    kept = [each for each in item["status"]["conditions"] if each["type"] not in kinds]
    return item | {"status": item["status"] | {"conditions": kept}}


def read(file_of: FileOf, *items: dict[str, Any], **options: Any) -> Trace:
    return read_trace(file_of(json.dumps({"items": items, "kind": "List"})), **options)


def test_a_workload_runs_from_its_admission_to_its_end(file_of: FileOf) -> None:
    trace = read(file_of, workload(JOB), workload(OTHER))
    jobs = trace.workload

    assert trace.format == "kueue"
    assert seconds(trace) == {"ml/other": (0, 10, 1), "ml/train-1": (30, 3600, 8)}
    assert (set(jobs.users), jobs.queue_names) == ({"ml"}, ("team-a",))
    assert jobs.cpus.tolist() == [2, 5]
    assert jobs.memory_bytes.tolist() == [2 * 2**30, 6 * 2**30]
    assert trace.more["start_time"] == ("0", "90")
    assert trace.more["end_time"] == ("10", "3690")
    assert trace.notices == ("jobs are not in the order of their submission: sorted",)


def test_evicted_runs_count_in_both_versions_of_the_api(file_of: FileOf) -> None:
    new = workload(RenderedWorkload("a/new", 0, 0, 100, ((1, 1),), past_s=50))
    old = json.loads(
        json.dumps(new)
        .replace("accumulatedPastExecution", "accumulatedPastExexcution")
        .replace('"name": "new"', '"name": "old"')
    )
    trace = read(file_of, new, old)

    assert seconds(trace) == {"a/new": (0, 150, 1), "a/old": (0, 150, 1)}
    assert trace.notices == (
        "2 jobs ran several times (requeued): the duration is the sum of the runs",
    )


def test_pending_running_and_failed_workloads(file_of: FileOf) -> None:
    pending = without_conditions(workload(JOB), "Finished", "Admitted", "QuotaReserved")
    running = without_conditions(workload(OTHER), "Finished")
    failed = workload(RenderedWorkload("ml/failed", 5, 0, 600, ((1, 1),)))
    failed["status"]["conditions"][-1]["reason"] = "Failed"
    cpu_only = workload(RenderedWorkload("ml/cpu", 5, 0, 600, ((3, 0),)))
    trace = read(file_of, pending, running, failed, cpu_only)

    assert seconds(trace) == {"ml/other": (0, 605, 1), "ml/failed": (5, 600, 1)}
    assert trace.more["state"] == ("Running", "Failed")
    assert trace.notices[:3] == (
        "1 job did not complete (Failed 1): the duration is the time until then",
        "1 job had not ended (Running 1): the duration is the time so far",
        "2 of 4 jobs never started (Pending 1) or ask for no GPU (1): left out",
    )


def test_requests_count_where_the_admission_is_missing(file_of: FileOf) -> None:
    item = workload(RenderedWorkload("ml/a", 0, 0, 5, ((2, 4),), is_admitted=False))
    trace = read(file_of, item)

    assert (seconds(trace), trace.workload.queue_names) == ({"ml/a": (0, 5, 8)}, ("local",))


def batch_job(**status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "j",
            "namespace": "ml",
            "creationTimestamp": time_text(0),
            "labels": {"kueue.x-k8s.io/queue-name": "q"},
        },
        "spec": {
            "parallelism": 2,
            "template": {
                "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 3}}}]}
            },
        },
        "status": status,
    }


def test_batch_jobs_run_from_their_start_to_their_completion(file_of: FileOf) -> None:
    failure = {"type": "Failed", "status": "True", "lastTransitionTime": time_text(70)}
    done = batch_job(startTime=time_text(20), completionTime=time_text(50))
    failed = batch_job(startTime=time_text(20), conditions=[failure])
    failed["metadata"] = failed["metadata"] | {"name": "f"}
    trace = read(file_of, done, failed)

    assert seconds(trace) == {"ml/j": (0, 30, 6), "ml/f": (0, 50, 6)}
    assert trace.workload.queue_names == ("q",)
    assert set(trace.more["state"]) == {"Complete", "Failed"}


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize("form", ["list", "array", "lines"])
def test_lists_arrays_and_single_objects_are_read(
    form: str, indent: int | None, file_of: FileOf
) -> None:
    items = [workload(JOB), workload(OTHER)]
    texts = {
        "list": rendered_list([JOB, OTHER], indent),
        "array": json.dumps(items, indent=indent),
        "lines": "\n".join(json.dumps(item, indent=indent) for item in items),
    }
    assert len(read_trace(file_of(texts[form])).workload) == 2


def test_bad_objects_are_told_with_their_line_and_counted_per_field(file_of: FileOf) -> None:
    good, soon, pod, none = (workload(OTHER) for _ in range(4))
    soon["metadata"]["creationTimestamp"] = "soon"
    pod["kind"] = "Pod"
    del none["spec"]["podSets"]
    text = ",\n".join(json.dumps(item) for item in (good, soon, pod, none))
    path = file_of(f'{{"items": [\n{text}\n]}}')

    name = f"{soon['metadata']['namespace']}/{soon['metadata']['name']}"
    problem = (
        rf"jobs.csv:3: {name}: creationTimestamp is 'soon', which is not a time .*"
        rf"unparsable kind 1 \({name}\)"
    )
    with pytest.raises(BadInput, match=problem):
        read_trace(path)
    assert read_trace(path, skip_bad_rows=True).skipped == {
        "unparsable creationTimestamp": 1,
        "unparsable kind": 1,
        "unparsable workload": 1,
    }


def test_a_list_that_is_cut_short_is_told(file_of: FileOf) -> None:
    text = rendered_list([JOB, OTHER])
    for end in (len(text) // 2, text.rindex("]") - 1):
        with pytest.raises(BadInput, match="the file may be cut short"):
            read_trace(file_of(text[:end]))


def test_another_resource_may_count_as_gpus(file_of: FileOf) -> None:
    assert read(file_of, workload(JOB), columns={"num_gpus": "cpu"}).workload.gpus.tolist() == [5]
    with pytest.raises(BadInput, match=r"no job to replay .*--columns num_gpus=cpu"):
        read(file_of, workload(JOB), columns={"num_gpus": "example.com/npu"})
    with pytest.raises(BadInput, match="Kubernetes objects have no columns; only num_gpus"):
        read(file_of, workload(JOB), columns={"queue": "x"})


WORKLOADS = st.lists(
    st.builds(
        RenderedWorkload,
        id=st.just(""),
        submit_s=st.integers(0, 10**7),
        wait_s=st.integers(0, 10**5),
        run_s=st.integers(0, 10**6),
        pod_sets=st.lists(
            st.tuples(st.integers(1, 16), st.integers(1, 8)), min_size=1, max_size=3
        ).map(tuple),
        past_s=st.sampled_from([0, 0, 7200]),
        queue=st.sampled_from(["team-a", "team-b"]),
        is_admitted=st.booleans(),
    ),
    min_size=1,
    max_size=6,
).map(
    lambda jobs: [
        RenderedWorkload(**{**vars(job), "id": f"ns-{number % 2}/job-{number}"})
        for number, job in enumerate(jobs)
    ]
)


@settings(max_examples=examples(100))
@given(jobs=WORKLOADS, indent=st.sampled_from([None, 2, 4]))
def test_a_rendered_workload_reads_back(jobs, indent, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "workloads.json"
    path.write_text(rendered_list(jobs, indent))
    first_s = min(job.submit_s for job in jobs)

    assert seconds(read_trace(path)) == {
        job.id: (job.submit_s - first_s, job.duration_s, job.gpus) for job in jobs
    }
