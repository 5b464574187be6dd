"""The figures of a simulated pool: CPU time saved, ratio in each minute, predicted losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from motet.domain.arrays import Ints
from motet.sim.aggregation.history import ServiceHistory


@dataclass(frozen=True)
class ServiceSummary:
    """Servers are parameter servers of each job's own; a server and an Aggregator have the same
    CPUs. `saved`: share of the servers' CPU time that the pool does not take.

    Ratios are Aggregators over servers in a minute; `below_one` is the share of minutes in which
    there are fewer Aggregators. Losses are shares of a job's speed: the mean over jobs, weighted by
    their durations, and the largest that any job had at any time; `queue_losses`: the same two of
    the jobs of each queue.
    """

    jobs: int
    most_jobs: int
    server_hours: float
    aggregator_hours: float
    own_hours: float
    saved: float
    mean_servers: float
    mean_aggregators: float
    most_servers: int
    most_aggregators: int
    below_one: float
    median_ratio: float
    p99_ratio: float
    largest_ratio: float
    mean_loss: float
    largest_loss: float
    moves: int
    moved_tensors: int
    spreads: int
    queue_losses: Mapping[str, tuple[float, float]]

    def document(self) -> dict[str, Any]:
        """The fields for JSON."""
        return asdict(self)


def summarise_service(history: ServiceHistory) -> ServiceSummary:
    """The summary of a run with at least one job."""
    servers, aggregators = history.servers, history.aggregators
    server_hours, used_hours = history.server_hours(servers), history.server_hours(aggregators)
    hours = history.server_hours(np.ones_like(servers))
    ratios = history.minute_ratios()
    run_us = history.jobs.ends_us - history.jobs.arrives_us
    return ServiceSummary(
        jobs=len(history.jobs),
        most_jobs=int(history.running.max()),
        server_hours=server_hours,
        aggregator_hours=used_hours,
        own_hours=history.server_hours(history.own),
        saved=1 - used_hours / server_hours,
        mean_servers=server_hours / hours,
        mean_aggregators=used_hours / hours,
        most_servers=int(servers.max()),
        most_aggregators=int(aggregators.max()),
        below_one=float(np.mean(ratios < 1)),
        median_ratio=float(np.median(ratios)),
        p99_ratio=float(np.quantile(ratios, 0.99)),
        largest_ratio=float(ratios.max()),
        mean_loss=float(np.average(history.job_loss, weights=run_us)),
        largest_loss=float(history.job_largest_loss.max()),
        moves=history.moves,
        moved_tensors=history.moved_tensors,
        spreads=history.spreads,
        queue_losses=_queue_losses(history, run_us),
    )


def _queue_losses(history: ServiceHistory, run_us: Ints) -> dict[str, tuple[float, float]]:
    names, queue = np.unique(history.jobs.queues, return_inverse=True)
    mean = np.bincount(queue, history.job_loss * run_us) / np.bincount(queue, run_us)
    largest = np.zeros(len(names))
    np.maximum.at(largest, queue, history.job_largest_loss)
    both = zip(mean.tolist(), largest.tolist(), strict=True)
    return dict(zip(names.tolist(), both, strict=True))
