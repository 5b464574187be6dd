"""Who waits for whom at a server's link, read from what workers measured.

Workers that begin a mini-batch together are served one after another where they share a server's
link. So the mini-batch waits for the last one's pull, which takes longer than the mean worker's;
but having been served one after another, workers push one after another, and the last one's push
meets an idle link. Of what a mini-batch exchanges only the pulled bytes count as many times as
workers share a link:

    P = max(max_j m_j |w| / b_j, sum_j m_j / b_j) pulled + sum_j m_j / b_j pushed

(Cruise counts both: its workers do not begin together.)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from motet.cruise.averages import MovingAverages, Queue


def measured_queue(averages: MovingAverages, link_bytes: float) -> Queue:
    """`link_bytes`: that cross the busiest link per mini-batch if both directions count."""
    pulled = _mean(averages.pulled_bytes().values())
    pushed = _mean(averages.pushed_bytes().values())
    if pulled + pushed == 0:
        return Queue()
    exchange_s = [each.mean_s for each in averages.exchange_s().values()]
    comp_s = [each.mean_s for each in averages.batch_comp_s().values()]
    # Who is done earlier waits for the slowest one, but not within an epoch's last mini-batch.
    batch_s = max((each.mean_s for each in averages.batch_s().values()), default=0.0)
    return queue_of(
        len(exchange_s),
        link_bytes / (pulled + pushed),
        pushed / (pulled + pushed),
        _mean(exchange_s),
        batch_s - max(comp_s, default=0.0),
    )


def queue_of(
    workers: int, sharing: float, pushed_part: float, comm_s: float, beyond_s: float
) -> Queue:
    """The queue of a mini-batch.

    `sharing`: how often the busiest link carries what one worker exchanges; `pushed_part`: of the
    bytes; `comm_s`: the workers' mean PULL and PUSH; `beyond_s`: what a mini-batch takes beyond
    COMP. That is the exchange and other things, so it is believed as far as a queue explains it.
    """
    if comm_s <= 0:
        return Queue()
    pulled_part = 1 - pushed_part
    last = pulled_part * max(sharing, 1.0) + pushed_part
    in_turn = max(sharing * (workers + 1) / (2 * workers), 1.0)
    mean = pulled_part * in_turn + pushed_part
    factor = float(np.clip(beyond_s / comm_s, 1.0, max(last / mean, 1.0)))
    return Queue(factor, factor * comm_s * pushed_part / last)


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return float(np.mean(listed)) if listed else 0.0
