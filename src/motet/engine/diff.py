"""What a decision changes: which jobs shall hold other slots than they do. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from motet.domain.decision import Decision
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.engine.roles import roles_of


class SlotChange(NamedTuple):
    """A job that shall hold other GPUs than it does."""

    row: int
    number: int
    held: int
    wanted: int
    workers: int
    servers: int


def changes_of(
    decision: Decision, snapshot: Snapshot, partners: Mapping[int, int], *, has_elastic: bool
) -> list[SlotChange]:
    """In the policy's order. `has_elastic`: whether any job may be elastic."""
    jobs = snapshot.jobs
    rows = np.flatnonzero(decision.gpus != jobs.held_gpus).tolist()
    for row, place in decision.places.items():
        if snapshot.placements.get(int(jobs.number[row])) != place:
            rows.append(row)
    rows += _regrouped(decision, snapshot, partners)
    workers, servers = jobs.workers, jobs.servers
    if has_elastic:
        workers, servers = roles_of(decision, jobs)
        differs = (workers != jobs.held_workers) | (servers != jobs.held_servers)
        rows += np.flatnonzero(differs).tolist()
    if not rows:
        return []
    rows = sorted(set(rows), key=decision.reasons.position.__getitem__)
    columns = (jobs.number, jobs.held_gpus, decision.gpus, workers, servers)
    return [SlotChange(row, *(int(column[row]) for column in columns)) for row in rows]


def partners_of(decision: Decision, snapshot: Snapshot) -> dict[int, int]:
    """Which jobs share GPUs, each by the other's number."""
    if decision.group is None:
        return {}
    members: dict[int, list[int]] = {}
    for row in np.flatnonzero((decision.group != UNKNOWN) & (decision.gpus > 0)).tolist():
        members.setdefault(int(decision.group[row]), []).append(row)
    partners: dict[int, int] = {}
    for rows in members.values():
        if len(rows) == 2:
            one, other = (int(snapshot.jobs.number[row]) for row in rows)
            partners |= {one: other, other: one}
    return partners


def _regrouped(decision: Decision, snapshot: Snapshot, partners: Mapping[int, int]) -> list[int]:
    """Rows of jobs that go on running but must move to come to a partner, or away from one."""
    jobs, position = snapshot.jobs, decision.reasons.position
    if not partners and not (jobs.partner != UNKNOWN).any():
        return []
    row_of = {number: row for row, number in enumerate(jobs.number.tolist())}

    def wanted(row: int) -> int:
        return partners.get(int(jobs.number[row]), UNKNOWN)

    def comes(row: int) -> bool:
        other = wanted(row)
        is_new = other not in (UNKNOWN, int(jobs.partner[row]))
        return is_new and bool(position[row] > position[row_of[other]])

    def goes(row: int) -> bool:
        if jobs.partner[row] == UNKNOWN or wanted(row) != UNKNOWN:
            return False
        other = row_of[int(jobs.partner[row])]
        if not decision.gpus[other] or comes(other):
            return False
        return wanted(other) != UNKNOWN or bool(position[row] > position[other])

    running = np.flatnonzero((jobs.held_gpus > 0) & (decision.gpus > 0)).tolist()
    return [row for row in running if comes(row) or goes(row)]
