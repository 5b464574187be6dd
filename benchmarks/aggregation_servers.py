"""One job on two Aggregators against two parameter servers with its tensors in turn, in one run.

The models of the dissertation's table 4.2, with random tensors of their sizes; two workers that do
not compute, so an iteration is the exchange alone. Parameter servers have tensor n on server n
modulo 2 and no replicas. Aggregators have the largest tensors first, each where the fewest bytes
are; then also a replica of each tensor on the other one, as in a pool. All are the same processes.
A complete run writes the record.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

from motet.aggregation.agent.routes import FixedRoutes
from motet.aggregation.control.aggregator_process import AggregatorProcess
from motet.aggregation.control.remote_aggregator import RemoteAggregator
from motet.aggregation.wire.aggregator_control import JobAccess
from motet.domain.errors import MotetError
from motet.sim.aggregation.models import MODELS, AggregatedModel
from motet.transport import Endpoint, new_secret, write_secret
from support.figures import Figure, parser, report
from support.hosts import ROOT
from support.records import report_and_keep
from support.timed_job import RoundRobinRoutes, TimedJob, iterations

SERVERS, WORKERS = 2, 2
QUOTA_BYTES = 16 << 30
COPIES = {"in turn": 7, "balanced": 7, "with replicas": 10}
"""Memory as multiples of the model: gradients and values of two workers, values, momentum, the
largest mean; replicas of values and momentum, means on their way."""
MOST_REPLICATED_BYTES = 1 << 30
"""The first copy of a model that is never quiet takes minutes beyond."""
BASE_BYTES = 1 << 30
"""Of all processes, without a model."""
MEMORY_SHARE = 0.8
"""Of the memory that is free: other programs need some, too."""
NOT_SLOWER = 1.0


class Measured(NamedTuple):
    """`step_s`: median iteration. `cpu_s`, `memory_bytes`: of all processes; time per iteration."""

    step_s: float
    cpu_s: float
    memory_bytes: int


def measured(model: AggregatedModel, kind: str, steps: int) -> Measured:
    """Of workers and Aggregators of their own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        pool_secret, secret = new_secret(), new_secret()
        write_secret(folder / "secret", pool_secret)
        servers = [
            stack.enter_context(AggregatorProcess(folder / "secret")) for _ in range(SERVERS)
        ]
        controls = [RemoteAggregator(each.endpoint, pool_secret) for each in servers]
        for control in controls:
            stack.callback(control.close)
            control.open_job(JobAccess(1, model.name, secret, QUOTA_BYTES))
        jobs = [
            TimedJob(
                *(model.name, rank, WORKERS, model.tensors, 0.0),
                str(folder / f"{rank}.out"),
                str(folder / "end"),
                servers=tuple(each.endpoint.encode() for each in servers),
                number=1,
                secret=secret.hex(),
                is_balanced=kind != "in turn",
            )
            for rank in range(WORKERS)
        ]
        workers = []
        for job in jobs:
            command = [sys.executable, "-m", "support.timed_job", str(job.write(folder))]
            workers.append(subprocess.Popen(command, cwd=ROOT / "benchmarks"))
            stack.callback(workers[-1].kill)
        out = Path(jobs[0].out)
        _await(out, 3, workers)
        if kind == "with replicas":
            endpoints = [each.endpoint for each in servers]
            places = FixedRoutes(1, secret, endpoints).routes(jobs[0].specs()).aggregator_of
            for number, control in enumerate(controls):
                own = [tensor for tensor, place in enumerate(places) if place == number]
                control.replicate(1, own, endpoints[1 - number].encode())
        done = len(iterations(out))
        processes = [psutil.Process(each.process.pid) for each in servers]
        processes += [psutil.Process(each.pid) for each in workers]
        _await(out, done + 2, workers)
        before_s, done = _cpu_s(processes), len(iterations(out))
        _await(out, done + steps, workers)
        cpu_s = _cpu_s(processes) - before_s
        found = iterations(out)[done:, 1]
        memory_bytes = sum(each.memory_full_info().pss for each in processes)
        return Measured(float(np.median(found)), cpu_s / len(found), memory_bytes)


def kinds_that_fit(model: AggregatedModel) -> list[str]:
    """Into the memory that is free; none: not even two can be compared."""
    free_bytes = MEMORY_SHARE * psutil.virtual_memory().available - BASE_BYTES
    found = [kind for kind, copies in COPIES.items() if copies * model.size_bytes < free_bytes]
    if model.size_bytes > MOST_REPLICATED_BYTES:
        print(f"{model.name}, with replicas, is left out: to copy it takes minutes")
        return [kind for kind in found if kind != "with replicas"]
    for kind in COPIES.keys() - found:
        needed = (BASE_BYTES + COPIES[kind] * model.size_bytes) / MEMORY_SHARE / 1e9
        print(f"{model.name}, {kind}, is left out: it needs {needed:.0f} GB of free memory")
    return found


def compare(model: AggregatedModel, kinds: list[str], steps: int) -> list[Figure]:
    """In turn. `kinds`: tensors in turn, and what is compared with that."""
    sizes = [4 * size for size in model.tensors]
    shares = [
        max(sum(sizes[n] for n in range(len(sizes)) if places[n] == server) for server in (0, 1))
        / sum(sizes)
        for places in (_places(model, RoundRobinRoutes), _places(model, FixedRoutes))
    ]
    found = {kind: measured(model, kind, steps) for kind in kinds}
    base = found.pop("in turn")
    name = f"{model.name}, {model.size_bytes / 2**20:.0f} MiB in {len(sizes)} tensors"
    figures = [Figure(name, f"{max(shares[1:]):.0%} of bytes", f"{shares[0]:.0%} in turn")]
    for kind, own in found.items():
        target = NOT_SLOWER if kind == "balanced" else None
        figures += [
            Figure(
                f"{model.name}, {kind}: step",
                f"{own.step_s * 1e3:.0f} ms",
                f"{base.step_s * 1e3:.0f} ms",
                own.step_s / base.step_s,
                target,
                at_least=False,
            ),
            Figure(
                f"{model.name}, {kind}: CPU time",
                f"{own.cpu_s * 1e3:.0f} ms",
                f"{base.cpu_s * 1e3:.0f} ms",
                own.cpu_s / base.cpu_s,
            ),
            Figure(
                f"{model.name}, {kind}: memory",
                f"{own.memory_bytes / 1e9:.1f} GB",
                f"{base.memory_bytes / 1e9:.1f} GB",
            ),
        ]
    print(figures, flush=True)
    return figures


def _places(model: AggregatedModel, kind: type[FixedRoutes]) -> tuple[int, ...]:
    specs = TimedJob("", 0, 1, model.tensors, 0.0, "", "").specs()
    return kind(1, b"", [Endpoint("", 0)] * SERVERS).routes(specs).aggregator_of


def _await(out: Path, count: int, workers: list[subprocess.Popen[bytes]]) -> None:
    while len(iterations(out)) < count:
        if ended := [each.returncode for each in workers if each.poll() is not None]:
            raise MotetError(f"a worker ended with status {ended[0]}")
        time.sleep(0.05)


def _cpu_s(processes: list[psutil.Process]) -> float:
    return float(sum(sum(each.cpu_times()[:2]) for each in processes))


def main() -> None:
    """All models that fit into memory, or one."""
    names = {each.name: each for each in sorted(MODELS, key=lambda each: each.size_bytes)}
    flags = parser(__doc__)
    flags.add_argument("--model", choices=[*names, "all"], default="all")
    given = flags.parse_args()
    chosen = [*names][: 1 if given.quick else None] if given.model == "all" else [given.model]
    figures = []
    for name in chosen:
        if kinds := kinds_that_fit(names[name]):
            figures += compare(names[name], kinds, 8 if given.quick else 15)
    print(f"load average: {os.getloadavg()}")
    title = "One job on Aggregators against parameter servers (2 of each, 2 workers)"
    if given.model == "all" and not given.quick:
        report_and_keep("aggregation_servers", title, figures)
    else:
        report("aggregation_servers", title, figures, plot=False)


if __name__ == "__main__":
    main()
