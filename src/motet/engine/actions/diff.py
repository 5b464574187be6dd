"""The difference between a decision and the running jobs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from motet.domain.decision import Decision
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.engine.actions.roles import roles_of


class SlotChange(NamedTuple):
    """A job whose slots change. `held` and `wanted`: its GPUs before and after."""

    row: int
    number: int
    held: int
    wanted: int
    workers: int
    servers: int


def changes_of(
    decision: Decision,
    snapshot: Snapshot,
    partners: Mapping[int, int],
    *,
    has_elastic: bool,
    has_shared: bool,
) -> list[SlotChange]:
    """Changes in the policy's order.

    `has_elastic`: whether any job may be elastic. `has_shared`: whether any ever shared its GPUs.
    """
    jobs = snapshot.jobs
    rows = (decision.gpus != jobs.held_gpus).nonzero()[0].tolist()
    for row, place in decision.places.items():
        if snapshot.placements.get(int(jobs.number[row])) != place:
            rows.append(row)
    if has_shared or partners:
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
    return [SlotChange(row, *[column.item(row) for column in columns]) for row in rows]


def partners_of(decision: Decision, snapshot: Snapshot) -> dict[int, int]:
    """Jobs that share GPUs: the partner's number by job number."""
    if decision.group is None:
        return {}
    grouped = (decision.group != UNKNOWN) & (decision.gpus > 0)
    members: dict[int, list[int]] = {}
    for group, number in zip(
        decision.group[grouped].tolist(), snapshot.jobs.number[grouped].tolist(), strict=True
    ):
        members.setdefault(group, []).append(number)
    partners: dict[int, int] = {}
    for numbers in members.values():
        if len(numbers) == 2:
            one, other = numbers
            partners[one], partners[other] = other, one
    return partners


def _regrouped(decision: Decision, snapshot: Snapshot, partners: Mapping[int, int]) -> list[int]:
    """Rows of jobs that continue to run but must move to a partner, or away from one."""
    jobs = snapshot.jobs
    if not partners and not (jobs.partner != UNKNOWN).any():
        return []
    numbers, present = jobs.number.tolist(), jobs.partner.tolist()
    position, gpus = decision.reasons.position.tolist(), decision.gpus.tolist()
    row_of = {number: row for row, number in enumerate(numbers)}
    wanted = [partners.get(number, UNKNOWN) for number in numbers]

    def comes(row: int) -> bool:
        other = wanted[row]
        return other not in (UNKNOWN, present[row]) and position[row] > position[row_of[other]]

    def goes(row: int) -> bool:
        if present[row] == UNKNOWN or wanted[row] != UNKNOWN:
            return False
        other = row_of[present[row]]
        if not gpus[other] or comes(other):
            return False
        return wanted[other] != UNKNOWN or position[row] > position[other]

    running = np.flatnonzero((jobs.held_gpus > 0) & (decision.gpus > 0)).tolist()
    return [row for row in running if comes(row) or goes(row)]
