"""Entries of the decision log about waits, from a decision. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan
from typing import Self

import numpy as np

from motet.domain.decision import Decision, Reasons
from motet.domain.log_entry import NOWHERE, LogEntry
from motet.domain.snapshot import UNKNOWN, JobTable, Snapshot
from motet.domain.units import NEVER_US
from motet.domain.wait import COMPARISONS, QUEUE_WAITS, WAITS
from motet.engine.journal.blockers import NewWait, wait_of

_NAN = float("nan")
_KEYS = {int(wait): wait.key for wait in WAITS}
_TIMED = frozenset(int(wait) for wait in WAITS if wait.reason.is_timed)
_COMPARED = frozenset(map(int, COMPARISONS))
_OF_QUEUES = frozenset(map(int, QUEUE_WAITS))
_USED_COLUMNS = (
    *("number", "gpus", "queue"),
    *("min_workers", "max_workers", "min_servers", "max_servers", "worker_gpus", "server_gpus"),
)
"""Of the jobs, in entries about waits."""


@dataclass(frozen=True, eq=False)
class LatestDecision:
    """The waits of the jobs in a decision, also when later events have changed the jobs."""

    snapshot: Snapshot
    decision: Decision

    @classmethod
    def of(cls, snapshot: Snapshot, decision: Decision) -> Self:
        """`snapshot`: of the decision; of its jobs only the columns are kept that are used."""
        jobs = snapshot.jobs
        copies = {name: getattr(jobs, name).copy() for name in _USED_COLUMNS}
        for column in copies.values():
            # As in a snapshot: for other types the kernels would be compiled once more.
            column.flags.writeable = False
        return cls(replace(snapshot, jobs=replace(jobs, **copies)), decision)

    def entry(self, job: int, level: int) -> LogEntry | None:
        """Why a job waited; None: it did not. `level`: its queue in the policy."""
        rows = np.flatnonzero(self.snapshot.jobs.number == job)
        if not len(rows):
            return None
        wait = wait_of(int(rows[0]), self.snapshot, self.decision)
        if wait is None:
            return None
        return wait_entry(self.snapshot.now_us, wait, self.snapshot, self.decision, level)


def wait_entry(
    now_us: int, wait: NewWait, snapshot: Snapshot, decision: Decision, level: int
) -> LogEntry:
    """`level`: the queue of the job in the policy."""
    row, job, gpus, code, free_gpus, before, blockers = wait
    jobs, reasons = snapshot.jobs, decision.reasons
    until_us = _until_us(decision, row) if code in _TIMED else NEVER_US
    measure, bar = _comparison(reasons, row) if code in _COMPARED else (_NAN, _NAN)
    usable_gpus = UNKNOWN if reasons.usable_gpus is None else int(reasons.usable_gpus[row])
    entry = LogEntry(
        now_us,
        job,
        _KEYS[code],
        gpus,
        free_gpus,
        before,
        NOWHERE,
        blockers,
        level,
        until_us,
        0,
        measure,
        bar,
        None,
        usable_gpus,
        _least_gpus(jobs, row) if is_elastic(jobs, row) else UNKNOWN,
    )
    if code in _OF_QUEUES:
        return entry._replace(job_queue=snapshot.queues.names[jobs.queue[row]])
    return entry


def is_elastic(jobs: JobTable, row: int) -> bool:
    """Whether a job may have other numbers of workers or servers."""
    if jobs.min_workers.item(row) != jobs.max_workers.item(row):
        return True
    return jobs.min_servers.item(row) != jobs.max_servers.item(row)


def _comparison(reasons: Reasons, row: int) -> tuple[float, float]:
    if reasons.measure is None:
        return _NAN, _NAN
    bars = np.broadcast_to(reasons.bar, reasons.measure.shape)
    measure, bar = float(reasons.measure[row]), float(bars[row])
    return (_NAN, _NAN) if isnan(measure) or isnan(bar) else (measure, bar)


def _until_us(decision: Decision, row: int) -> int:
    known_us = decision.reasons.until_us
    until_us = NEVER_US if known_us is None else int(known_us[row])
    return decision.recheck_at_us if until_us == NEVER_US else until_us


def _least_gpus(jobs: JobTable, row: int) -> int:
    workers_gpus = int(jobs.min_workers[row] * jobs.worker_gpus[row])
    return workers_gpus + int(jobs.min_servers[row] * jobs.server_gpus[row])
