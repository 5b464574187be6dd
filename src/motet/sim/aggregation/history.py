"""What a simulated pool had at each time, and what that says about its use of CPU time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.units import SECOND_US
from motet.sim.aggregation.jobs import ServiceJobs

MINUTE_US = 60 * SECOND_US


class PoolStep(NamedTuple):
    """From `at_us` to the next step. `servers`: parameter servers that the running jobs would have.
    `shared`: Aggregators of the pool; `own`: of jobs that are measured or wait. Losses are
    predicted, those of jobs on own Aggregators are 0.
    """

    at_us: int
    jobs: int
    servers: int
    shared: int
    own: int
    mean_loss: float
    largest_loss: float


@dataclass(frozen=True, eq=False)
class ServiceHistory:
    """Columns of steps by time, and of jobs. `mean_loss`, `largest_loss`: of each step.

    `job_loss`, `job_largest_loss`: predicted share of its speed that each job lost, on average over
    its run and at most. `moves`: how often tensors of a placed job moved, `moved_tensors` in all.
    `spreads`: how often a job got one more Aggregator for a loss that it measured.
    """

    jobs: ServiceJobs
    at_us: Ints
    running: Ints
    servers: Ints
    shared: Ints
    own: Ints
    mean_loss: Floats
    largest_loss: Floats
    job_loss: Floats
    job_largest_loss: Floats
    moves: int
    moved_tensors: int
    spreads: int

    @classmethod
    def of(
        cls,
        jobs: ServiceJobs,
        steps: Sequence[PoolStep],
        *,
        lost_us: Floats,
        largest_loss: Floats,
        moves: int,
        moved_tensors: int,
        spreads: int = 0,
    ) -> Self:
        """From the steps of a run. `lost_us`: loss of each job times its duration."""
        columns = np.array(steps, np.float64).reshape(-1, len(PoolStep._fields)).T
        at_us, running, servers, shared, own = columns[:5].astype(np.int64)
        run_us = jobs.ends_us - jobs.arrives_us
        return cls(
            jobs,
            at_us,
            running,
            servers,
            shared,
            own,
            columns[5],
            columns[6],
            lost_us / run_us,
            largest_loss,
            moves,
            moved_tensors,
            spreads,
        )

    @property
    def aggregators(self) -> Ints:
        """All Aggregators of each step, with those of single jobs."""
        return self.shared + self.own

    def over_time(self, column: Ints | Floats, edges_us: Ints | Floats) -> Floats:
        """The mean of a column of steps between consecutive times."""
        spans = np.diff(self.at_us)
        total = np.concatenate([[0.0], np.cumsum(column[:-1] * spans)])
        means: Floats = np.diff(np.interp(edges_us, self.at_us, total)) / np.diff(edges_us)
        return means

    def minute_ratios(self) -> Floats:
        """Aggregators over parameter servers in each minute with running jobs (figure 4.12)."""
        if len(self.at_us) < 2:
            return np.zeros(0)
        edges = np.arange(self.at_us[0], self.at_us[-1] + MINUTE_US, MINUTE_US)
        used, required = (
            self.over_time(column, edges) for column in (self.aggregators, self.servers)
        )
        runs = required > 0
        return np.round(used[runs] / required[runs], 6)  # Sums of fractions of minutes are inexact.

    def server_hours(self, column: Ints) -> float:
        """The integral of a column over time."""
        return float(np.sum(column[:-1] * np.diff(self.at_us)) / (60 * MINUTE_US))
