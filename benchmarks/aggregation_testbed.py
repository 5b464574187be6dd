"""Several jobs on a testbed: a shared pool of Aggregators against parameter servers of their own.

Every Aggregator, every parameter server and every worker is on a host of its own (network and
address); a job has two workers and, without the pool, two servers with its tensors in turn.
Workers wait in place of computing, for the iterations of the dissertation's models, since two cores
hold no eight workers; gradients are there one after the other, as in a backward pass. Tensors have
the models' shapes, shrunk so that the transfer fits too.

Parts: `packing`: for some sets of jobs, all with servers of their own and then all on the pool:
Aggregators that are used, and iterations. `case`: jobs arrive and end; a plot over time. `real`:
two jobs that compute (PyTorch, with `attach`). Each part writes its record. Needs root.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from motet.aggregation.wire.pool_views import PoolView
from motet.domain.errors import MotetError
from motet.sim.aggregation.models import MODELS, known_model
from motet.testbed.layout import HostLayout
from motet.testbed.state import read_state
from motet.transport import new_secret
from support.aggregation_figure import save_case_figure
from support.figures import RESULTS, Figure, parser, report
from support.host_cluster import on_front
from support.hosts import ROOT, hosts_up, unwind_when_terminated
from support.records import report_and_keep
from support.testbed_pool import TestbedPool, wait_for
from support.timed_job import TimedJob, iterations

SCALE = 64
"""Tensors are so many times smaller than those of the models."""
SERVERS, WORKERS = 2, 2
MOST_JOBS = 4
SLOWDOWN = 1.05
PACKINGS = {
    "2 VGG19": ("VGG19", "VGG19"),
    "VGG19, AWD-LM": ("VGG19", "AWD-LM"),
    "AlexNet, VGG19": ("AlexNet", "VGG19"),
    "AlexNet, VGG19, AWD-LM, VGG19": ("AlexNet", "VGG19", "AWD-LM", "VGG19"),
}
ARRIVALS = ((0, "VGG19"), (25, "AWD-LM"), (50, "AlexNet"), (75, "VGG19"))
ENDS = ((110, 0), (125, 2), (140, 1), (150, 3))
"""Of the case: seconds and models; seconds and jobs."""
PERIOD_S = 10.0
REAL_TIMEOUT_S = 600.0
"""Of a job that computes; on two idle cores it takes a minute."""
RECORDS_OF = {
    "packing": "aggregation_testbed",
    "case": "aggregation_case",
    "real": "aggregation_real",
}
"""By part."""


def job_on(pool: TestbedPool, name: str, model: str, **where: object) -> list[TimedJob]:
    """Descriptions of the workers of a job."""
    found = known_model(model)
    assert found is not None, model
    sizes = tuple(max(size // SCALE, 1) for size in MODELS[found].tensors)
    return [
        TimedJob(
            *(name, rank, WORKERS, sizes, MODELS[found].iteration_ms / 1e3),
            str(pool.folder / f"{name}-{rank}.out"),
            str(pool.folder / f"{name}.end"),
            wanted_servers=SERVERS,
            **where,  # type: ignore[arg-type]
        )
        for rank in range(WORKERS)
    ]


def measured_s(job: TimedJob, since_s: float) -> np.ndarray:
    """Iterations of a worker that began since then."""
    found = iterations(Path(job.out))
    durations: np.ndarray = found[found[:, 0] - found[:, 1] >= since_s, 1]
    return durations


# -- packing ---------------------------------------------------------------------------------------


def with_own_servers(
    pool: TestbedPool, tag: str, models: Sequence[str], seconds: float
) -> list[float]:
    """Median iteration of each job."""
    jobs = []
    for number, model in enumerate(models):
        secret = new_secret()
        servers = pool.own_servers(SERVERS, number, secret)
        jobs.append(
            job_on(
                *(pool, f"own{tag}{number}", model),
                servers=servers,
                number=number,
                secret=secret.hex(),
            )
        )
    return _run(pool, jobs, seconds, lambda: True)


def on_pool(
    pool: TestbedPool, tag: str, models: Sequence[str], seconds: float
) -> tuple[list[float], PoolView]:
    """The same, and what the pool looked like at the end."""
    pool.start_pool(SERVERS * MOST_JOBS, PERIOD_S)
    jobs = [
        job_on(pool, f"pool{tag}{number}", model, address=str(pool.address))
        for number, model in enumerate(models)
    ]
    views: list[PoolView] = []

    def is_settled() -> bool:
        with pool.client() as client:
            view = client.describe()
        views.append(view)
        places = {
            tuple(sorted((job.name, *job.aggregators) for job in each.jobs)) for each in views[-24:]
        }
        return (
            len(view.jobs) == len(models)
            and all(job.phase == "placed" for job in view.jobs)
            and len(views) >= 24
            and len(places) == 1
        )

    found = _run(pool, jobs, seconds, is_settled)
    with_jobs = [view for view in views if len(view.jobs) == len(models)]
    pool.end_pool()
    return found, with_jobs[-1]


def _run(
    pool: TestbedPool, jobs: list[list[TimedJob]], seconds: float, is_settled: object
) -> list[float]:
    assert callable(is_settled)
    processes = [pool.start_worker(worker) for job in jobs for worker in job]
    wait_for(
        lambda: all(len(iterations(Path(job[0].out))) > 20 for job in jobs),
        "20 iterations of each job",
    )
    wait_for(is_settled, "a plan that stays")
    began_s = time.time()
    time.sleep(seconds)
    found = [float(np.median(measured_s(job[0], began_s))) for job in jobs]
    for job in jobs:
        Path(job[0].end_file).touch()
    for process in processes:
        end(process, is_patient=bool(jobs[0][0].address))
    pool.end_servers()
    return found


def end(process: subprocess.Popen[bytes], *, is_patient: bool) -> None:
    """Without a pMaster, a worker may wait for another one that has ended."""
    if is_patient:
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)
    process.kill()
    process.wait()


def packing(pool: TestbedPool, names: Sequence[str], seconds: float) -> list[Figure]:
    """Both in turn, for each set of jobs."""
    figures = []
    for name in names:
        models, tag = PACKINGS[name], f"{[*PACKINGS].index(name)}."
        own_s = with_own_servers(pool, tag, models, seconds)
        shared_s, view = on_pool(pool, tag, models, seconds)
        servers, used = SERVERS * len(models), len(view.aggregators)
        serving = sum(1 for each in view.aggregators if each.tensors)
        figures.append(
            Figure(
                f"Aggregators, with replicas': {name}",
                f"{used} ({serving} serve)",
                f"{servers} servers",
                used / servers,
                0.75,
                at_least=False,
            )
        )
        found = zip(models, shared_s, own_s, view.jobs, strict=True)
        for number, (model, ours_s, theirs_s, job) in enumerate(found, 1):
            loss = job.predicted_loss
            share = "" if loss is None else f", predicted loss {loss:.1%}"
            figures.append(
                Figure(
                    f"{name}, job {number} ({model}): iteration",
                    f"{ours_s * 1e3:.0f} ms{share}",
                    f"{theirs_s * 1e3:.0f} ms",
                    ours_s / theirs_s,
                    SLOWDOWN,
                    at_least=False,
                )
            )
        print(figures[-len(models) - 1 :], flush=True)
    return figures


# -- arrivals and ends -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """The pool at a moment. `servers`: that the jobs would have of their own."""

    at_s: float
    aggregators: int
    serving: int
    servers: int


def case(pool: TestbedPool) -> list[Figure]:
    """Jobs arrive and end; draws the plot."""
    pool.start_pool(SERVERS * MOST_JOBS, PERIOD_S)
    events = sorted(
        [(at_s, "begin", number) for number, (at_s, _) in enumerate(ARRIVALS)]
        + [(at_s, "end", number) for at_s, number in ENDS]
    )
    samples: list[Sample] = []
    jobs: dict[int, list[TimedJob]] = {}
    running: set[int] = set()
    began_s = time.time()
    with pool.client() as client:
        while events or running:
            now_s = time.time() - began_s
            while events and events[0][0] <= now_s:
                _, what, number = events.pop(0)
                if what == "begin":
                    model = ARRIVALS[number][1]
                    jobs[number] = job_on(pool, f"case{number}", model, address=str(pool.address))
                    for worker in jobs[number]:
                        pool.start_worker(worker)
                    running.add(number)
                else:
                    Path(jobs[number][0].end_file).touch()
                    running.discard(number)
            view = client.describe()
            alive = [each for each in view.aggregators if each.is_running]
            serving = sum(1 for each in alive if each.tensors)
            samples.append(Sample(now_s, len(alive), serving, SERVERS * len(running)))
            time.sleep(0.5)
        for _ in range(20):
            view = client.describe()
            now_s = time.time() - began_s
            alive = [each for each in view.aggregators if each.is_running]
            samples.append(Sample(now_s, len(alive), sum(1 for a in alive if a.tensors), 0))
            time.sleep(0.5)
    pool.end_pool()
    curves = {}
    for number, (_, model) in enumerate(ARRIVALS):
        found = iterations(Path(jobs[number][0].out))
        found[:, 0] -= began_s
        curves[f"{number + 1}: {model}"] = found
    RESULTS.mkdir(exist_ok=True)
    document = {
        "samples": [asdict(each) for each in samples],
        "iterations": {name: each.round(4).tolist() for name, each in curves.items()},
    }
    (RESULTS / "aggregation_case_samples.json").write_text(json.dumps(document))
    save_case_figure(
        [[each.at_s, each.aggregators, each.serving, each.servers] for each in samples],
        curves,
        RESULTS / "aggregation_case.png",
    )
    return list(_case_figures(samples, curves))


def _case_figures(samples: list[Sample], curves: dict[str, np.ndarray]) -> Iterator[Figure]:
    steps_s = np.diff([each.at_s for each in samples])
    used, servers = (
        float(sum(steps_s * [getattr(each, name) for each in samples[:-1]]))
        for name in ("aggregators", "servers")
    )
    yield Figure(
        "arrivals and ends: Aggregator-seconds", f"{used:.0f}", f"{servers:.0f}", used / servers
    )
    yield Figure(
        "arrivals and ends: most at a time",
        str(max(each.aggregators for each in samples)),
        str(max(each.servers for each in samples)),
    )
    for name, found in curves.items():
        usual_s = float(np.median(found[:, 1]))
        longest_s = float(np.max(found[10:, 1]))
        yield Figure(
            f"  {name}: longest iteration", f"{longest_s * 1e3:.0f} ms", f"{usual_s * 1e3:.0f} ms"
        )


# -- real computation ------------------------------------------------------------------------------


def real(pool: TestbedPool, steps: int) -> list[Figure]:
    """Two jobs that train a network on scikit-learn's digits."""
    found: dict[str, list[float]] = {}
    for kind in ("own", "pool"):
        if kind == "pool":
            pool.start_pool(SERVERS * MOST_JOBS, PERIOD_S)
        processes, outs, ready = [], [], []
        begin = pool.folder / f"begin-{kind}"
        for number in range(2):
            secret = new_secret()
            servers = pool.own_servers(SERVERS, number, secret) if kind == "own" else ()
            outs.append(pool.folder / f"real-{kind}{number}.out")
            for rank in range(WORKERS):
                ready.append(pool.folder / f"ready-{kind}{number}-{rank}")
                described = {
                    "name": f"real{number}",
                    "rank": rank,
                    "workers": WORKERS,
                    "servers": servers,
                    "number": number,
                    "secret": secret.hex(),
                    "out": str(outs[-1]) if rank == 0 else "",
                    "steps": steps,
                    "ready": str(ready[-1]),
                    "begin": str(begin),
                }
                command = [sys.executable, "-m", "support.real_job", json.dumps(described)]
                processes.append(pool.start(command, {"MOTET_AGGREGATION": str(pool.address)}))
        wait_for(lambda files=tuple(ready): all(map(Path.exists, files)), "all workers")
        begin.touch()
        for process in processes:
            if process.wait(REAL_TIMEOUT_S):
                raise MotetError(f"a worker ended with status {process.returncode}")
        found[kind] = [float(np.median(iterations(out)[steps // 2 :, 1])) for out in outs]
        if kind == "pool":
            pool.end_pool()
        else:
            pool.end_servers()
    return [
        Figure(
            f"real computation, job {number + 1}: iteration",
            f"{ours_s * 1e3:.1f} ms",
            f"{theirs_s * 1e3:.1f} ms",
            ours_s / theirs_s,
            SLOWDOWN,
            at_least=False,
        )
        for number, (ours_s, theirs_s) in enumerate(zip(found["pool"], found["own"], strict=True))
    ]


@contextmanager
def testbed() -> Iterator[TestbedPool]:
    """Hosts for all Aggregators of an experiment, and for all workers."""
    name = f"b{uuid.uuid4().hex[:8]}"
    count = SERVERS * MOST_JOBS + 2 + WORKERS * MOST_JOBS
    with hosts_up(name, "--machines", str(count), "--no-ray") as bed, ExitStack() as stack:
        layout = HostLayout(bed.name)
        machines = list(read_state(layout).blueprint.machines)
        stack.enter_context(on_front(layout))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield TestbedPool(layout, machines, SERVERS * MOST_JOBS + 2, folder, stack)


def main() -> None:
    """All parts, or one."""
    flags = parser(__doc__)
    flags.add_argument("--part", choices=[*RECORDS_OF, "all"], default="all")
    given = flags.parse_args()
    unwind_when_terminated()
    parts = {
        "packing": lambda pool: packing(pool, [*PACKINGS][: 1 if given.quick else None], 15.0),
        "case": case,
        "real": lambda pool: real(pool, 60 if given.quick else 300),
    }
    write = partial(report, plot=False) if given.quick else report_and_keep
    print(f"load average at the beginning: {os.getloadavg()}, {ROOT.name}")
    with testbed() as pool:
        for part, measure in parts.items():
            if given.part in (part, "all"):
                write(RECORDS_OF[part], "Jobs that share Aggregators", measure(pool))
    print(f"load average at the end: {os.getloadavg()}")


if __name__ == "__main__":
    main()
