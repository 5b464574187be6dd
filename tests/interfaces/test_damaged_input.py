"""Random damage to small valid files: every reader succeeds or raises a MotetError.

Data sets have their own target in tests/datasets/formats/test_damaged_files.py.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from motet.apps import load_model
from motet.apps.nmf import NMF
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import MotetError
from motet.interfaces.cli.plan.fields import read_fields
from motet.interfaces.cli.train.reconfigure_entry import read_entries
from motet.interfaces.simulation_runs import run_output
from motet.report.cluster_run.decision_reader import held_gpus_during, story_events_of
from motet.report.simulation.folder import SimulationFolder
from motet.report.simulation.job_story import job_ids
from motet.report.simulation.stored_run import read_runs
from motet.sim.cluster_file import open_cluster
from motet.sim.profiles.reading import open_profiles
from motet.sim.replay.machine_events import read_machine_events
from motet.sim.traces import read_trace
from motet.sim.traces.curve_files import read_curve
from motet.sim.traces.source import Source
from motet.testbed.hosts import Limits
from motet.testbed.types_file import read_types
from rendered_kueue import RenderedWorkload, rendered_list
from rendered_sacct import RenderedJob, rendered
from small_traces import QUEUE_OF_THREE, result_of

SCRAPS = (
    *(b"", b"nan", b"-1", b"1e400", b"9" * 25, b"9" * 5000, b"abc", b"'", b'"', b":", b": ", b","),
    *(b"\t", b"\n", b"\n\n", b"\r", b"#", b"\0", b"\xff", b"\xc3\x28", b"[" * 300, b"{" * 300),
    *(b'"a\nb"', b'"a', b"=1+1", b"0" * 400 + b"1", b"1" + b"0" * 400),
    *(b"&a ", b"*a", b"!!int ", b"<<: ", b"- ", b"null", b"true", b"{}", b"[]", b"2020-13-01"),
)
ATTEMPT = {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23"}
PHILLY_JOB = {
    "jobid": "a",
    "user": "u",
    "vc": "q",
    "status": "Pass",
    "submitted_time": "2017-10-07 01:11:39",
    "attempts": [{**ATTEMPT, "detail": [{"ip": "m", "gpus": ["gpu0"]}]}],
}
TRACES = {
    "motet.csv": b"job_id,user,queue,submit_time,num_gpus,duration\na,x,p,0,1,12.5\nb,y,,1,4,60\n",
    "tiresias.csv": b"job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
    b"0,1,0,606,vgg19,164,30\n1,8,30,133,vgg11,147,23\n",
    "philly.json": json.dumps([PHILLY_JOB, PHILLY_JOB | {"jobid": "b"}], indent=1).encode(),
    "muri.csv": b"job_id,num_gpu,submit_time,duration,model_name,iteration_time,priority\n"
    b"0,8,0,5095001,gpt2,437,0\n1,8,1534000,281000,vgg16,214,1\n",
    "philly.csv": b"timestamp,duration,num_gpus,gpu_time,cluster\n"
    b"2017-10-09 07:01:55,66.0,1,66.0,11cb48\n2017-10-09 06:13:03,2951.0,2,5902.0,6214e9\n",
    "helios.csv": b"job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,"
    b"duration,queue\n11,u,v,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:02,"
    b"2020-06-10 04:55:10,36848,1\n12,u,v,4,16,1,FAILED,2020-06-09 18:41:27,"
    b"2020-06-09 18:41:27,2020-06-09 18:45:36,249,0\n",
    "gavel.tsv": b"A3C\tpython3 a3c.py\t--max-steps\t0\t1000\t0.000000\t1\n"
    b"A3C\tpython3 a3c.py\t--num_steps\t1\t300\t12.500000\t1\n",
    "elastic.csv": b"job_id,submit_time,num_gpus,duration,steps,max_workers,servers,speed,speed_t0,"
    b"curve,target_loss,cancel_time\na,0,4,,100,8,,sync,2.5,svm-sgd-a9a,,\nb,1,1,60,,,,,,,,70\n",
    "site.csv": b"Job;Owner;GPUs;Submitted;Began;Ended;Elapsed\na;x;2;2024-03-31T01:30:00;"
    b"2024-03-31T03:30:00;2024-03-31T04:00:00;1-02:03:04\nb;y;1;2024-10-27T02:30:00Z;;;PT1H30M\n",
    "log.swf": b"; Version: 2.2\n1 0 5 100 4 -1 -1 8 3600 -1 1 7 1 -1 2 -1 -1 -1\n",
}
TRACES["sacct.txt"] = rendered(
    [
        RenderedJob("7", 0, (60, 5), (2,)),
        RenderedJob("8_1", 5, (90_000,), (1, 4), state="CANCELLED by 7"),
        RenderedJob("9", 9, (1,), (1,), has_steps=False),
    ],
    zone=UTC,
).encode()
TRACES["kueue.json"] = rendered_list(
    [
        RenderedWorkload("a/b", 0, 1, 60, ((2, 4), (1, 0)), past_s=9),
        RenderedWorkload("a/c", 5, 0, 9, ((1, 1),), is_admitted=False),
    ],
    indent=1,
).encode()
OPTIONS: dict[str, dict[str, Any]] = {
    "site.csv": {
        "columns": {
            "job_id": "Job",
            "num_gpus": "GPUs",
            "submit_time": "Submitted",
            "start_time": "Began",
            "end_time": "Ended",
            "duration": "Elapsed",
        },
        "timezone": "Europe/Berlin",
    }
}
"""Arguments of `read_trace` by file."""
YAML = {
    "cluster.yaml": b"machines:\n- {name: a, gpus: 4, rack: r, cpus: 8}\n- {name: b, gpus: 2}\n",
    "entries.yaml": b"- {at_epoch: 3, workers: 3, servers: 1}\n- {at_s: 2.5, workers: 1}\n",
    "fields.yaml": b"name: job\ncount: 3\nlist: [{a: 1}, {b: [2, &x 3, *x]}]\n",
}
GAVEL_SPEEDS = b"worker_type,model,scale_factor,steps_per_s\nv100,A3C,1,8\nk80,A3C,1,2\n"
CLUSTER_CSV = b"name,gpus,rack,type,cpus,memory_gb\na,4,r,v100,8,64\nb,2,r,,,\n"
MACHINE_EVENTS = b"time,machine,event\n10,m0,drains\n20.5,m0,comes\n30,m1,leaves\n"
PROFILES = b"model,type,gpus,beside,steps_per_s,spread_steps_per_s\nvgg16,v100,1,,4,3\n"
CURVE = b"epoch,loss\n1,2.5\n2,1.25\n3,1\n"
TYPES = {
    "types.csv": b"name,count,cpus,bandwidth,memory\nfast,2,0.4,100mbit,1gb\nslow,6,0.1,50mbit,\n",
    "types.yaml": b"machines:\n- {name: fast, count: 2, cpus: 0.4}\n- {name: slow, memory: 1gb}\n",
}
DECISIONS = b"\n".join(
    json.dumps(line).encode()
    for line in (
        {"time": 0, "job": "a", "event": "start", "gpus": 2},
        {"time": 1, "job": "a", "event": "wait", "gpus": 4, "reason": "too_few_gpus"},
        {"time": 5.5, "job": "a", "event": "resize", "gpus": 4},
        {"time": 9, "job": "a", "event": "preempt", "gpus": 4},
        {"time": 12.5, "job": "a", "event": "finish", "gpus": 4, "overhead": 1.5},
    )
)
EXAMPLES = pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 2000), marks=pytest.mark.soak)], ids=str
)


def damaged(content: bytes, random: Random) -> bytes:
    for _ in range(random.randint(1, 4)):
        start = random.randint(0, len(content))
        length = random.choice((0, 1, 3, 20, 10**6))
        content = content[:start] + random.choice(SCRAPS) + content[start + length :]
    return content


def flipped(content: bytes, random: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(random.randint(1, 6)):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed[: random.choice((None, random.randint(0, len(changed))))])


def succeeds_or_explains(read: Callable[[], object], seed: int) -> None:
    try:
        with suppress(MotetError):
            read()
    except Exception as error:
        raise AssertionError(f"seed {seed}: {error!r}") from error


@pytest.mark.parametrize("name", TRACES)
@EXAMPLES
def test_damaged_traces(tmp_path: Path, name: str, seeds: range) -> None:
    path, options = tmp_path / name, OPTIONS.get(name, {})
    for seed in seeds:
        random = Random(seed)
        content = damaged(TRACES[name], random)
        if random.random() < 0.2:
            content = flipped(gzip.compress(content), random)
        path.write_bytes(content)
        speeds = tmp_path / "gavel_isolated_steps_per_s.csv"
        speeds.write_bytes(random.choice((GAVEL_SPEEDS, damaged(GAVEL_SPEEDS, random))))
        succeeds_or_explains(lambda: read_trace(path, **options), seed)
        succeeds_or_explains(lambda: read_trace(path, skip_bad_rows=True, **options), seed)


@EXAMPLES
def test_damaged_inputs_of_simulations(tmp_path: Path, seeds: range) -> None:
    path = tmp_path / "file.csv"
    cluster = ClusterSpec.uniform(2, 4)
    readers: dict[bytes, Callable[[], object]] = {
        CLUSTER_CSV: lambda: open_cluster(str(path)),
        MACHINE_EVENTS: lambda: read_machine_events(path, cluster),
        PROFILES: lambda: open_profiles(path),
        CURVE: lambda: read_curve(Source.open(path)),
    }
    for seed in seeds:
        for number, (content, read) in enumerate(readers.items()):
            path.write_bytes(damaged(content, Random(f"{seed} {number}")))
            succeeds_or_explains(read, seed)


def test_the_inputs_of_simulations_are_read_undamaged(tmp_path: Path) -> None:
    """So the tests above damage what would be accepted."""
    for name, content in TRACES.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / "gavel_isolated_steps_per_s.csv").write_bytes(GAVEL_SPEEDS)
        trace = read_trace(tmp_path / name, **OPTIONS.get(name, {}))
        assert len(trace.workload) >= 1, name
    path = tmp_path / "file.csv"
    for content, read in (
        (CLUSTER_CSV, lambda: open_cluster(str(path))),
        (MACHINE_EVENTS, lambda: read_machine_events(path, ClusterSpec.uniform(2, 4))),
        (PROFILES, lambda: open_profiles(path)),
        (CURVE, lambda: read_curve(Source.open(path))),
    ):
        path.write_bytes(content)
        assert read() is not None


@pytest.mark.parametrize("name", YAML)
@EXAMPLES
def test_damaged_yaml(tmp_path: Path, name: str, seeds: range) -> None:
    path = tmp_path / name
    readers: dict[str, Callable[[], object]] = {
        "cluster.yaml": lambda: open_cluster(str(path)),
        "entries.yaml": lambda: [entry.has("workers") for entry in read_entries(path)],
        "fields.yaml": lambda: read_fields(path).entries("list"),
    }
    for seed in seeds:
        path.write_bytes(damaged(YAML[name], Random(seed)))
        succeeds_or_explains(readers[name], seed)


@pytest.mark.parametrize("name", TYPES)
@EXAMPLES
def test_damaged_machine_types(tmp_path: Path, name: str, seeds: range) -> None:
    path = tmp_path / name
    for seed in seeds:
        path.write_bytes(damaged(TYPES[name], Random(seed)))
        succeeds_or_explains(lambda: read_types(path, Limits()), seed)


@EXAMPLES
def test_damaged_decision_logs(tmp_path: Path, seeds: range) -> None:
    path = tmp_path / "decisions.jsonl"
    for seed in seeds:
        path.write_bytes(damaged(DECISIONS, Random(seed)))
        succeeds_or_explains(lambda: story_events_of(path, "a"), seed)
        succeeds_or_explains(lambda: list(held_gpus_during(path, 0, None)), seed)


@EXAMPLES
def test_damaged_models(tmp_path: Path, seeds: range) -> None:
    path = tmp_path / "model.npz"
    NMF(rank=2, epochs=1, random_state=0).fit(np.eye(4) + 1).save(path)
    whole = path.read_bytes()
    for seed in seeds:
        random = Random(seed)
        path.write_bytes(random.choice((damaged, flipped))(whole, random))
        succeeds_or_explains(lambda: load_model(path), seed)


@EXAMPLES
def test_damaged_model_headers(tmp_path: Path, seeds: range) -> None:
    path = tmp_path / "model.npz"
    NMF(rank=2, epochs=1, random_state=0).fit(np.eye(4) + 1).save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = str(arrays["motet"]).encode()
    for seed in seeds:
        text = damaged(header, Random(seed)).decode("latin-1")
        buffer = io.BytesIO()
        np.savez(buffer, **{**arrays, "motet": np.array(text)})
        path.write_bytes(buffer.getvalue())
        succeeds_or_explains(lambda: load_model(path), seed)


@pytest.mark.parametrize("name", ["summary.json", "jobs.csv", "fairness.csv", "timeline.csv"])
@pytest.mark.usefixtures("undrawn")
@EXAMPLES
def test_damaged_results(tmp_path: Path, name: str, seeds: range) -> None:
    run = run_output("fifo", result_of(QUEUE_OF_THREE), {"policy": "fifo", "seed": 0})
    SimulationFolder(tmp_path, ["fifo"], overwrite=False).write([run], {"gpus": 2})
    path = tmp_path / name
    whole = path.read_bytes()
    for seed in seeds:
        path.write_bytes(damaged(whole, Random(seed)))
        succeeds_or_explains(lambda: read_runs(tmp_path), seed)
        succeeds_or_explains(lambda: list(job_ids(tmp_path)), seed)
