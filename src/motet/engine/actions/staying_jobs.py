"""Jobs on machines that take no jobs: they run on, outside of the policy's choice. Pure.

GPUs of a machine that drains are of no use to other jobs, so no job is preempted for them, and none
of them is free. The policy plans with the other machines: it sees neither these machines' GPUs nor
the jobs that hold any of them. A job that also holds GPUs of other machines keeps these, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Bools, Ints, read_only
from motet.domain.cluster import ClusterSpec
from motet.domain.decision import Decision, Reasons
from motet.domain.snapshot import JOB_COLUMNS, UNKNOWN, JobTable, Placement, Snapshot
from motet.domain.units import NEVER_US
from motet.domain.wait import Wait
from motet.engine.actions.roles import roles_of
from motet.engine.state.partners import present_sets

Number = TypeVar("Number", np.int64, np.float64, np.bool_)
T = TypeVar("T")
_WHOLE_GPU = 100
_NAN = float("nan")


class StayingJobs(NamedTuple):
    """`whole`: all jobs and machines. `rows`: the jobs of `whole` that stay where they are;
    `seen_rows`: the others, which the policy sees in this order. Both ascending, and empty if no
    machine is `closed`.
    """

    whole: Snapshot
    closed: Ints
    rows: Ints
    seen_rows: Ints

    @classmethod
    def of(cls, whole: Snapshot, closed: Ints) -> StayingJobs:
        """`closed`: machines that take no jobs."""
        if not len(closed):
            return cls(whole, closed, closed, closed)
        machines = frozenset(closed.tolist())
        there = [
            job
            for job, place in whole.placements.items()
            if not machines.isdisjoint(place.machines)
        ]
        stays = np.isin(whole.jobs.number, there)
        return cls(whole, closed, np.flatnonzero(stays), np.flatnonzero(~stays))

    # -- the input of the policy -------------------------------------------------------------------

    def hidden(self) -> Snapshot:
        """The snapshot without these jobs and without the machines that take none."""
        if not len(self.closed):
            return self.whole
        whole, cluster = self.whole, self._open_machines()
        memory = whole.memory
        if len(self.rows):
            memory = {name: read_only(each[self.seen_rows]) for name, each in memory.items()}
        return replace(
            whole,
            jobs=self._seen_jobs(),
            cluster=cluster,
            gpu_count=cluster.gpu_count,
            placements=self._seen_placements(),
            memory=memory,
        )

    def _seen_jobs(self) -> JobTable:
        jobs = self.whole.jobs
        if not len(self.rows):
            return jobs
        columns = (getattr(jobs, name) for name in JOB_COLUMNS)
        return JobTable(*(read_only(column[self.seen_rows]) for column in columns))

    def _seen_placements(self) -> Mapping[int, Placement]:
        placements = dict(self.whole.placements)
        for number in self.whole.jobs.number[self.rows].tolist():
            del placements[number]
        return placements

    def _open_machines(self) -> ClusterSpec:
        """Machines as large as what jobs of the policy's choice can hold there."""
        cluster, jobs = self.whole.cluster, self.whole.jobs
        gpus, cpus, memory_bytes = (
            column.copy() for column in (cluster.gpus, cluster.cpus, cluster.memory_bytes)
        )
        _, first = np.unique(present_sets(jobs)[self.rows], return_index=True)
        for number in jobs.number[self.rows[first]].tolist():  # One of those that share GPUs.
            place = self.whole.placements[number]
            gpus[list(place.machines)] -= place.counts
        for column in (gpus, cpus, memory_bytes):
            column[self.closed] = 0
        return replace(
            cluster,
            gpus=read_only(gpus),
            cpus=read_only(cpus),
            memory_bytes=read_only(memory_bytes),
        )

    # -- the decision of the engine ----------------------------------------------------------------

    def joined(self, decision: Decision, seen: JobTable) -> Decision:
        """A decision about the jobs that the policy saw, and about these: they stay as they are.

        They come last in the order. `seen`: the jobs of the decision.
        """
        if not len(self.rows):
            return decision
        jobs, workers, servers = self.whole.jobs, decision.workers, decision.servers
        if workers is None and self._has_own_roles():
            workers, servers = roles_of(decision, seen)
        return replace(
            decision,
            gpus=self._with(decision.gpus, jobs.held_gpus),
            reasons=self._reasons(decision.reasons),
            places=self._by_row(decision.places),
            workers=None if workers is None else self._with(workers, jobs.held_workers),
            servers=None if servers is None else self._with(servers, jobs.held_servers),
            share=None if decision.share is None else self._with(decision.share, _WHOLE_GPU),
            group=self._group(decision.group),
            memory={
                name: self._with(values, self.whole.memory[name])
                for name, values in decision.memory.items()
            },
            exclude=self._by_row(decision.exclude),
            spill=None if decision.spill is None else self._with(decision.spill, 0.0),
            asynchronous=self._asynchronous(decision.asynchronous),
            forecasts=self._by_row(decision.forecasts),
        )

    def _asynchronous(self, column: Bools | None) -> Bools | None:
        return None if column is None else self._with(column, self.whole.jobs.is_asynchronous == 1)

    def _has_own_roles(self) -> bool:
        """Whether one of these elastic jobs runs with other workers or servers than it requests."""
        jobs, rows = self.whole.jobs, self.rows
        differs = (jobs.held_workers != jobs.workers) | (jobs.held_servers != jobs.servers)
        return bool((differs & jobs.is_elastic)[rows].any())

    def _reasons(self, reasons: Reasons) -> Reasons:
        after = int(reasons.position.max(initial=UNKNOWN)) + 1
        position = self._with(reasons.position, UNKNOWN)
        position[self.rows] = after + np.arange(len(self.rows))
        measure, bar, usable = reasons.measure, reasons.bar, reasons.usable_gpus
        until_us = reasons.until_us
        return Reasons(
            self._with(reasons.code, int(Wait.RUNS)),
            self._with(reasons.free_gpus, 0),
            position,
            None if measure is None else self._with(measure, _NAN),
            self._with(bar, _NAN) if isinstance(bar, np.ndarray) and bar.shape else bar,
            None if usable is None else self._with(usable, UNKNOWN),
            None if until_us is None else self._with(until_us, NEVER_US),
        )

    def _group(self, group: Ints | None) -> Ints | None:
        """Jobs that share GPUs here go on to do so."""
        jobs = self.whole.jobs
        shares = self.rows[jobs.partner[self.rows] != UNKNOWN]
        if group is None and not len(shares):
            return None
        known = np.full(len(self.seen_rows), UNKNOWN) if group is None else group
        joined = self._with(known, UNKNOWN)
        _, own = np.unique(present_sets(jobs)[shares], return_inverse=True)
        joined[shares] = own + max(int(known.max(initial=UNKNOWN)), UNKNOWN) + 1
        return joined

    def _with(self, column: NDArray[Number], of_all: Any) -> NDArray[Number]:
        """`column`: of the jobs that the policy saw; `of_all`: a column of all jobs, or one value
        for those that stay."""
        joined: NDArray[Number] = np.empty(len(self.whole.jobs), dtype=column.dtype)
        joined[self.seen_rows] = column
        joined[self.rows] = np.broadcast_to(of_all, joined.shape)[self.rows]
        return joined

    def _by_row(self, values: Mapping[int, T]) -> Mapping[int, T]:
        return {int(self.seen_rows[row]): value for row, value in values.items()}
