"""How long an iteration takes if COMM runs beside COMP (Linux, root).

Two hosts of a testbed with a link each. COMP keeps a CPU busy for a given part of the time that
PULL and PUSH take on these links. Jobs with the overlap (async) and without it (ssp with a
staleness that no worker reaches, so that no worker waits for another) alternate. The bound of an
iteration is max(COMP, COMM) with the overlap and COMP + COMM without it, by the figures that the
job without it reports. PULL of the first and PUSH of the last mini-batch of an epoch have no COMP
beside them, so with n mini-batches the bound is max(COMP, COMM) + min(COMP, COMM) / n. Target: 5 %
above it.
"""

from __future__ import annotations

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
    """Pulls and pushes 262 KB; multiplies matrices for `comp_s`."""

    name: ClassVar[str] = "busy"

    def __init__(self, comp_s: float = 0.0) -> None:
        super().__init__(KEYS, BATCHES * self.batch_size)
        self.comp_s = comp_s

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
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


def measured(
    hosts: HostMachines, shape: TrainOptions, mode: Consistency, comp_s: float
) -> Iteration:
    """Of all epochs but the first, which connects."""
    app, options = Busy(comp_s), replace(shape, consistency=mode)
    cluster = hosts.cluster(range(len(hosts)), interleaves=False)
    epochs = Job(app, app.prepare(None, 0), options, cluster).run().epochs[1:]
    count = len(epochs) * BATCHES
    return Iteration(
        sum(sum(each.batch_s) for each in epochs) / count,
        sum(each.comp_s for each in epochs) / count,
        sum(each.comm_s for each in epochs) / count,
    )


def figures_of(hosts: HostMachines, workers: int, rounds: int) -> list[Figure]:
    """A figure for each ratio of COMP to COMM, medians over the rounds."""
    shape = TrainOptions(
        machines=2, workers=workers, servers=workers, epochs=EPOCHS, checkpoint_every=1000
    )
    comm_s = measured(hosts, shape, WITHOUT, 0.0).comm_s
    figures = []
    for ratio in RATIOS:
        pairs = [
            [measured(hosts, shape, mode, ratio * comm_s) for mode in (WITHOUT, WITH)]
            for _ in range(rounds)
        ]
        gain = median(over.whole_s / plain.whole_s for plain, over in pairs)
        bound = median(plain.bound for plain, _ in pairs)
        plain_s, over_s = (median(pair[i].whole_s for pair in pairs) for i in (0, 1))
        parts = median(plain.comp_s / plain.comm_s for plain, _ in pairs)
        figures.append(
            Figure(
                f"{workers} workers, COMP {parts:.2f} of COMM, bound {bound:.3f}",
                f"{over_s * 1e3:.1f} ms",
                f"{plain_s * 1e3:.1f} ms",
                gain,
                1.05 * bound,
                at_least=False,
            )
        )
    return figures


def main() -> None:
    """One worker and one server on different hosts; two of each, one on each host."""
    rounds = 1 if parser(main.__doc__ or "").parse_args().quick else 3
    unwind_when_terminated()
    shape = ("--machines", "2", "--cpus", "2", "--bandwidth", BANDWIDTH, "--no-ray")
    with hosts_up(NAME, *shape), host_machines(NAME) as hosts:
        figures = [each for workers in (1, 2) for each in figures_of(hosts, workers, rounds)]
    report("async_overlap", f"Iteration with and without overlap, links of {BANDWIDTH}", figures)


if __name__ == "__main__":
    main()
