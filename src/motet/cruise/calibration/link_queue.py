"""The queue of workers at a server's link, estimated from measurements.

Workers that begin a mini-batch together and share a server's link are served one after another. The
mini-batch therefore waits for the last worker's pull, which takes longer than the mean pull.
Workers then also push one after another, and the last push finds an idle link. Of the exchanged
bytes only the pulled ones count once per worker on a link:

    P = max(max_j m_j |w| / b_j, sum_j m_j / b_j) pulled + sum_j m_j / b_j pushed

(Cruise counts both, since its workers do not begin together.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from motet.cruise.calibration.averages import MovingAverages, means_of


@dataclass(frozen=True)
class LinkQueue:
    """The effect of a server's link on a mini-batch.

    `factor`: exchange of the worker that is served last over that of the mean worker. `latency_s`:
    the part of the last worker's exchange that depends neither on bandwidths nor on sharing.
    """

    factor: float = 1.0
    latency_s: float = 0.0


NO_QUEUE = LinkQueue()


def measured_queue(averages: MovingAverages, link_bytes: float) -> LinkQueue:
    """The queue behind the present averages.

    `link_bytes`: bytes per mini-batch on the busiest link if both directions count.
    """
    pulled = _mean(averages.pulled_bytes().values())
    pushed = _mean(averages.pushed_bytes().values())
    if pulled + pushed == 0:
        return NO_QUEUE
    exchange_s = means_of(averages.exchange_s()).values()
    comp_s = means_of(averages.batch_comp_s()).values()
    # The longest mean: in an epoch's last mini-batch fast workers do not wait for the slowest one.
    batch_s = max(means_of(averages.batch_s()).values(), default=0.0)
    return queue_of(
        workers=len(exchange_s),
        sharing=link_bytes / (pulled + pushed),
        pushed_part=pushed / (pulled + pushed),
        comm_s=_mean(exchange_s),
        beyond_s=batch_s - max(comp_s, default=0.0),
    )


def queue_of(
    workers: int, sharing: float, pushed_part: float, comm_s: float, beyond_s: float
) -> LinkQueue:
    """The queue of one mini-batch.

    `sharing`: bytes on the busiest link over the bytes that one worker exchanges; `pushed_part`: of
    the exchanged bytes; `comm_s`: the workers' mean PULL and PUSH; `beyond_s`: the mini-batch
    without COMP. `beyond_s` also holds other costs, so only the part that a queue explains counts.
    """
    if comm_s <= 0:
        return NO_QUEUE
    pulled_part = 1 - pushed_part
    last = pulled_part * max(sharing, 1.0) + pushed_part
    mean_wait = max(sharing * (workers + 1) / (2 * workers), 1.0)
    mean = pulled_part * mean_wait + pushed_part
    factor = float(np.clip(beyond_s / comm_s, 1.0, max(last / mean, 1.0)))
    return LinkQueue(factor, factor * comm_s * pushed_part / last)


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return float(np.mean(listed)) if listed else 0.0
