"""The difference between a decision and the running jobs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.snapshot import UNKNOWN, JobTable, Snapshot
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
    partners: Mapping[int, Sequence[int]],
    *,
    has_elastic: bool,
    has_shared: bool,
) -> list[SlotChange]:
    """Changes in the policy's order.

    `has_elastic`: whether any job may be elastic. `has_shared`: whether any ever shared its GPUs.
    """
    jobs = snapshot.jobs
    rows = (decision.gpus != jobs.held_gpus).nonzero()[0].tolist()
    if decision.places:
        numbers, placements = jobs.number.tolist(), snapshot.placements
        rows += [
            row for row, place in decision.places.items() if placements.get(numbers[row]) != place
        ]
    if has_shared or partners:
        rows += _regrouped(decision, snapshot, partners)
    workers, servers = jobs.workers, jobs.servers
    if has_elastic:
        workers, servers = roles_of(decision, jobs)
        differs = (workers != jobs.held_workers) | (servers != jobs.held_servers)
        rows += np.flatnonzero(differs).tolist()
    if not rows:
        return []
    if len(rows) > 1:
        rows = sorted(set(rows), key=decision.reasons.position.item)
    number, held, wanted = jobs.number.item, jobs.held_gpus.item, decision.gpus.item
    of_workers, of_servers = workers.item, servers.item
    return [
        SlotChange(row, number(row), held(row), wanted(row), of_workers(row), of_servers(row))
        for row in rows
    ]


def partners_of(decision: Decision, snapshot: Snapshot) -> dict[int, tuple[int, ...]]:
    """Jobs that share GPUs: by job number the other jobs, in the policy's order."""
    if decision.group is None:
        return {}
    grouped = np.flatnonzero((decision.group != UNKNOWN) & (decision.gpus > 0))
    in_order = grouped[np.argsort(decision.reasons.position[grouped], kind="stable")]
    members: dict[int, list[int]] = {}
    for group, number in zip(
        decision.group[in_order].tolist(), snapshot.jobs.number[in_order].tolist(), strict=True
    ):
        members.setdefault(group, []).append(number)
    return {
        number: tuple(other for other in numbers if other != number)
        for numbers in members.values()
        if len(numbers) > 1
        for number in numbers
    }


def _regrouped(
    decision: Decision, snapshot: Snapshot, partners: Mapping[int, Sequence[int]]
) -> list[int]:
    """Rows of jobs that continue to run but must move to other jobs, or away from them.

    The jobs of a group come to its first job. Of jobs that shared GPUs and part, the first one that
    is in a group keeps them, with that group, or else the first one.
    """
    jobs = snapshot.jobs
    may_move = jobs.partner != UNKNOWN
    if decision.group is not None:
        may_move |= decision.group != UNKNOWN
    rows = may_move.nonzero()[0]
    if not len(rows):
        return []
    position = decision.reasons.position[rows].tolist()
    numbers_of = jobs.number[rows].tolist()
    order = {n: (place, n) for n, place in zip(numbers_of, position, strict=True)}
    first_of = {
        number: min((number, *others), key=order.__getitem__) for number, others in partners.items()
    }
    continues = ((jobs.held_gpus[rows] > 0) & (decision.gpus[rows] > 0)).tolist()
    sets, moved = present_sets(jobs)[rows].tolist(), list[int]()
    present: dict[int, list[tuple[int, int]]] = {}
    for place, row in enumerate(rows.tolist()):
        if continues[place]:
            present.setdefault(sets[place], []).append((numbers_of[place], row))
    for together in present.values():
        numbers = {number for number, _ in together}
        comes = {n for n in numbers if first_of.get(n, n) not in numbers}
        staying = sorted(numbers - comes, key=lambda n: (n not in first_of, order[n]))
        keeper = first_of.get(staying[0], staying[0]) if staying else UNKNOWN
        moved += [
            row
            for number, row in together
            if number in comes or first_of.get(number, number) != keeper
        ]
    return moved


def present_sets(jobs: JobTable) -> Ints:
    """`(jobs,)`: the lowest number of the jobs on each job's GPUs."""
    return np.where(jobs.partner == UNKNOWN, jobs.number, np.minimum(jobs.number, jobs.partner))
