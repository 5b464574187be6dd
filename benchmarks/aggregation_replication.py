"""How long the first replica of a large job takes, and what it does to the job's steps.

A worker trains on an Aggregator while all its tensors are copied to another one, which holds their
replicas from then on. The worker waits as if it computed, or sends all the time. Steps during the
copy are compared with those after it: each of them is done by the replicas too, the more of them
the further the copy is. A complete run writes the record.
"""

from __future__ import annotations

import argparse
import gc
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.routes import FixedRoutes
from motet.aggregation.wire.tensor_spec import OptimizerSpec, TensorSpec
from support.aggregation_pool import Pool, ms
from support.figures import Figure, report
from support.records import report_and_keep

OPTIONS = {"lr": 0.01, "momentum": 0.9}
TENSOR_BYTES = 4 << 20
LEAST_STEPS = 10
COMPUTES_S = {"computes for 250 ms": 0.25, "never computes": 0.0}


class Worker:
    """The only one of a job with tensors of 4 MB."""

    def __init__(self, pool: Pool, size_bytes: int, compute_s: float, stack: ExitStack) -> None:
        self._agent = NumpyAgent(FixedRoutes(1, pool.secret, pool.endpoints[:1]), 0, 1)
        stack.callback(self._agent.close)
        self._compute_s = compute_s
        self.count = size_bytes // TENSOR_BYTES
        shape = (TENSOR_BYTES // 4,)
        self._own = [self._agent.empty(shape, np.float32) for _ in range(self.count)]
        self._values = [self._agent.empty(shape, np.float32) for _ in range(self.count)]
        for each in (*self._own, *self._values):
            each[...] = 1e-3
        specs = [TensorSpec(str(n), shape) for n in range(self.count)]
        self._agent.initialise(specs, OptimizerSpec("sgd", (OPTIONS,)), self._values)
        self.step()  # The momentum is there from now on, and is copied too.

    def step(self) -> None:
        """One iteration."""
        time.sleep(self._compute_s)
        for tensor, gradient in enumerate(self._own):
            self._agent.push(tensor, gradient)
        self._agent.finish_step([OPTIONS])
        for pending in [self._agent.pull(n, into) for n, into in enumerate(self._values)]:
            pending.wait()

    def steps_while(self, is_wanted: Callable[[], bool]) -> list[float]:
        """Seconds of each, at least some."""
        durations: list[float] = []
        while is_wanted() or len(durations) < LEAST_STEPS:
            began_s = time.perf_counter()
            self.step()
            durations.append(time.perf_counter() - began_s)
        return durations


def measure(case: str, size_bytes: int) -> list[Figure]:
    """One copy of a job's values and momentum."""
    with ExitStack() as stack:
        pool = Pool(2, stack)
        worker = Worker(pool, size_bytes, COMPUTES_S[case], stack)
        gc.collect()
        before = worker.steps_while(lambda: False)
        taken_s: list[float] = []

        def replicate() -> None:
            began_s = time.perf_counter()
            pool.controls[0].replicate(1, range(worker.count), pool.endpoints[1].encode())
            taken_s.append(time.perf_counter() - began_s)

        copying = threading.Thread(target=replicate)
        copying.start()
        during = worker.steps_while(copying.is_alive)
        copying.join()
        after = worker.steps_while(lambda: False)
    rate = 2 * size_bytes / taken_s[0] / 1e9
    name = f"{size_bytes / 1e6:.0f} MB and momentum, a worker that {case}"
    steady_s = float(np.median(after))
    return [
        Figure(f"{name}: first replica", f"{taken_s[0]:.2f} s", f"{rate:.2f} GB/s"),
        Figure("  a step before it: median", ms(float(np.median(before)))),
        _compared(f"  a step during it ({len(during)}): median", np.median(during), steady_s),
        _compared("  ... the longest", max(during), max(after)),
    ]


def _compared(name: str, found_s: float, peer_s: float) -> Figure:
    return Figure(name, ms(float(found_s)), f"after: {ms(peer_s)}", float(found_s) / peer_s)


def main() -> None:
    """Both cases, or one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=[*COMPUTES_S, "all"], default="all")
    parser.add_argument("--mb", type=int, default=400, help="values of the job")
    options = parser.parse_args()
    cases = [*COMPUTES_S] if options.case == "all" else [options.case]
    figures = [figure for case in cases for figure in measure(case, options.mb * 10**6)]
    title = "The first replica of a job"
    if options.case == "all":
        report_and_keep("aggregation_replication", title, figures)
    else:
        report("aggregation_replication", title, figures, plot=False)


if __name__ == "__main__":
    main()
