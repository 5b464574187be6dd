"""How long an iteration takes if COMM runs beside COMP (Linux, root).

Two hosts of a testbed with a link each. COMP keeps a CPU busy for a given part of the time that
PULL and PUSH take on these links. Jobs with the overlap (async) and without it (ssp with a
staleness that no worker reaches, so that no worker waits for another) alternate. The bound of an
iteration is max(COMP, COMM) with the overlap and COMP + COMM without it, by the figures that the
job without it reports. PULL of the first and PUSH of the last mini-batch of an epoch have no COMP
beside them, so with n mini-batches the bound is max(COMP, COMM) + min(COMP, COMM) / n. Target: 5 %
above it.

A link that was idle passes the bytes of its bucket (32 KB) without delay. `--bucket 4000`: smaller
buckets, so that COMM with idle links takes as long as with busy ones. `--sleep`: COMP sleeps, so
that its length does not depend on what else the CPUs have to do.
"""

from __future__ import annotations

import re
import subprocess
import time
from dataclasses import dataclass, replace
from statistics import median
from typing import ClassVar

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.controller.job import Job
from motet.runtime.core.application import Batch, Step, Update
from motet.runtime.core.consistency import Async, Consistency, Ssp
from motet.runtime.core.options import TrainOptions
from support.figures import Figure, parser, report
from support.host_cluster import HostMachines, host_machines
from support.hosts import hosts_up, unwind_when_terminated
from support.traffic_app import Traffic

NAME, BANDWIDTH = "asyncoverlap", "50mbit"
KEYS, BATCHES, EPOCHS = 1 << 15, 24, 3
WITHOUT, WITH = Ssp(1 << 30), Async()
RATIOS = (0.5, 1.0, 2.0)


class Busy(Traffic):
    """Pulls and pushes 262 KB; multiplies matrices for `comp_s`, or sleeps."""

    name: ClassVar[str] = "busy"

    def __init__(self, comp_s: float = 0.0, *, sleeps: bool = False) -> None:
        super().__init__(KEYS, BATCHES * self.batch_size)
        self.comp_s, self.sleeps = comp_s, sleeps

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        if self.sleeps:
            time.sleep(self.comp_s)
            return super().compute(batch, model, step)
        until_s, matrix = time.perf_counter() + self.comp_s, np.ones((128, 128))
        while time.perf_counter() < until_s:
            matrix @ matrix
        return super().compute(batch, model, step)


@dataclass(frozen=True)
class Iteration:
    """Means per mini-batch of a job, in seconds."""

    whole_s: float
    comp_s: float
    comm_s: float

    @property
    def bound(self) -> float:
        """Of the same iteration with the overlap, as a part of COMP + COMM."""
        short_s, long_s = sorted((self.comp_s, self.comm_s))
        return (long_s + short_s / BATCHES) / (long_s + short_s)


def measured(hosts: HostMachines, shape: TrainOptions, mode: Consistency, app: Busy) -> Iteration:
    """Of all epochs but the first, which connects; of the slowest worker of each.

    Not the sum of the slowest workers of each mini-batch: workers do not wait for each other here.
    """
    options = replace(shape, consistency=mode)
    cluster = hosts.cluster(range(len(hosts)), interleaves=False)
    epochs = Job(app, app.prepare(None, 0), options, cluster).run().epochs[1:]
    count = len(epochs) * BATCHES
    return Iteration(
        sum(each.wall_s for each in epochs) / count,
        sum(each.comp_s for each in epochs) / count,
        sum(each.comm_s for each in epochs) / count,
    )


def figures_of(hosts: HostMachines, workers: int, rounds: int, *, sleeps: bool) -> list[Figure]:
    """A figure for each ratio of COMP to COMM, medians over the rounds."""
    shape = TrainOptions(
        machines=2, workers=workers, servers=workers, epochs=EPOCHS, checkpoint_every=1000
    )
    comm_s = measured(hosts, shape, WITHOUT, Busy()).comm_s
    figures = []
    for ratio in RATIOS:
        pairs = [
            [
                measured(hosts, shape, mode, Busy(ratio * comm_s, sleeps=sleeps))
                for mode in (WITHOUT, WITH)
            ]
            for _ in range(rounds)
        ]
        gain = median(over.whole_s / plain.whole_s for plain, over in pairs)
        bound = median(plain.bound for plain, _ in pairs)
        plain_ms, over_ms = (
            [1e3 * median(getattr(pair[i], key) for pair in pairs) for key in ("whole_s", "comm_s")]
            for i in (0, 1)
        )
        parts = median(plain.comp_s / plain.comm_s for plain, _ in pairs)
        figures.append(
            Figure(
                f"{workers} workers, COMP {parts:.2f} of COMM, bound {bound:.3f}",
                f"{over_ms[0]:.1f} ms, COMM {over_ms[1]:.1f} ms",
                f"{plain_ms[0]:.1f} ms, COMM {plain_ms[1]:.1f} ms",
                gain,
                1.05 * bound,
                at_least=False,
            )
        )
    return figures


def set_buckets(bucket_bytes: int) -> None:
    """Of all links of the hosts."""
    spaces = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True)
    for space in re.findall(rf"^\S*-{NAME}\.\S+", spaces.stdout, re.MULTILINE):
        shown = ["tc", "-n", space, "qdisc", "show"]
        links = subprocess.run(shown, check=True, capture_output=True, text=True).stdout
        for link in re.findall(r"^qdisc tbf \S+ dev (\S+) root", links, re.MULTILINE):
            limits = ["rate", BANDWIDTH, "burst", f"{bucket_bytes}b", "latency", "400ms"]
            change = ["tc", "-n", space, "qdisc", "change", "dev", link, "root", "tbf", *limits]
            subprocess.run(change, check=True)


def main() -> None:
    """One worker and one server on different hosts; two of each, one on each host."""
    known = parser(main.__doc__ or "")
    known.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    known.add_argument("--bucket", type=int, help="bytes (those of the testbed)")
    known.add_argument("--sleep", action="store_true", help="COMP needs no CPU")
    arguments = known.parse_args()
    rounds = 1 if arguments.quick else 3
    unwind_when_terminated()
    shape = ("--machines", "2", "--cpus", "2", "--bandwidth", BANDWIDTH, "--no-ray")
    with hosts_up(NAME, *shape), host_machines(NAME) as hosts:
        if arguments.bucket:
            set_buckets(arguments.bucket)
        figures = [
            each
            for workers in arguments.workers
            for each in figures_of(hosts, workers, rounds, sleeps=arguments.sleep)
        ]
    report("async_overlap", f"Iteration with and without overlap, links of {BANDWIDTH}", figures)


if __name__ == "__main__":
    main()
