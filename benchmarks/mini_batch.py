"""The empty mini-batch: what the loop itself costs (no compute, a model of 4 KB).

Executors are real processes (without Ray, which has no part in the mini-batch loop).
Target: at most 3 ms median with 4 workers and 1 server on 2 cores.
"""

from __future__ import annotations

import numpy as np

from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from support.figures import Figure, parser, report
from support.process_cluster import ProcessCluster
from support.traffic_app import Traffic

KEYS, INSTANCES = 512, 100_000


def measure(workers: int, servers: int, epochs: int) -> tuple[float, float]:
    """Median and 95th percentile of a mini-batch in milliseconds, over all but the first epoch."""
    app = Traffic(KEYS, INSTANCES)
    options = TrainOptions(
        machines=workers + servers,
        workers=workers,
        servers=servers,
        epochs=epochs,
        checkpoint_every=1000,
    )
    with ProcessCluster(options.machines) as cluster:
        result = Job(app, app.prepare(None, 0), options, cluster).run()
    times_ms = np.concatenate([each.batch_s for each in result.epochs[1:]]) * 1e3
    return float(np.median(times_ms)), float(np.percentile(times_ms, 95))


def main() -> None:
    """Measure several shapes; only 4 workers and 1 server has a target."""
    arguments = parser(main.__doc__ or "").parse_args()
    epochs = 2 if arguments.quick else 4
    figures = []
    for workers, servers in [(1, 1), (2, 1), (4, 1), (4, 2)]:
        median_ms, tail_ms = measure(workers, servers, epochs)
        has_target = (workers, servers) == (4, 1)
        figures.append(
            Figure(
                f"empty mini-batch, {workers} workers, {servers} servers",
                f"{median_ms:.2f} ms",
                f"p95 {tail_ms:.2f} ms",
                median_ms if has_target else None,
                3.0 if has_target else None,
                at_least=False,
            )
        )
    report("mini_batch", "Empty mini-batch (4 KB model, BSP), median", figures)


if __name__ == "__main__":
    main()
