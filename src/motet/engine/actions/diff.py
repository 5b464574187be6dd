"""The difference between a decision and the running jobs. Pure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from motet.domain.decision import Decision
from motet.domain.snapshot import Placement, Snapshot
from motet.engine.actions.roles import roles_of
from motet.engine.state.partners import Partners


class SlotChange(NamedTuple):
    """A job whose slots change, or that starts again on the same ones to train another way.

    `held` and `wanted`: its GPUs before and after. `kept`: its slots, if nothing but the way
    in which it trains changes.
    """

    row: int
    number: int
    held: int
    wanted: int
    workers: int
    servers: int
    kept: Placement | None = None


def changes_of(
    decision: Decision,
    snapshot: Snapshot,
    partners: Partners,
    *,
    has_elastic: bool,
    has_shared: bool,
) -> list[SlotChange]:
    """Changes in the policy's order, but jobs that keep their slots first: no other job gets these.

    `has_elastic`: whether any job may be elastic. `has_shared`: whether any ever shared its GPUs.
    """
    jobs = snapshot.jobs
    rows = (decision.gpus != jobs.held_gpus).nonzero()[0].tolist()
    if decision.places:
        number, placements = jobs.number.item, snapshot.placements
        rows += [
            row for row, place in decision.places.items() if placements.get(number(row)) != place
        ]
    if has_shared or decision.group is not None:
        rows += partners.regrouped().tolist()
    workers, servers = jobs.workers, jobs.servers
    if has_elastic:
        workers, servers = roles_of(decision, jobs)
        differs = (workers != jobs.held_workers) | (servers != jobs.held_servers)
        rows += np.flatnonzero(differs).tolist()
    switched = _switched_rows(decision, snapshot)
    if not (rows or switched):
        return []
    position = decision.reasons.position.item
    staying = sorted(switched.difference(rows), key=position)
    others = sorted(set(rows), key=position)
    number, held, wanted = jobs.number.item, jobs.held_gpus.item, decision.gpus.item
    of_workers, of_servers = workers.item, servers.item
    kept = {row: snapshot.placements[number(row)] for row in staying}
    return [
        SlotChange(
            row,
            number(row),
            held(row),
            wanted(row),
            of_workers(row),
            of_servers(row),
            kept.get(row),
        )
        for row in staying + others
    ]


def _switched_rows(decision: Decision, snapshot: Snapshot) -> frozenset[int]:
    """Rows of jobs that run on and train the other way."""
    if decision.asynchronous is None:
        return frozenset()
    jobs = snapshot.jobs
    runs_on = (jobs.held_gpus > 0) & (decision.gpus > 0)
    trains_otherwise = decision.asynchronous != (jobs.is_asynchronous == 1)
    return frozenset(np.flatnonzero(runs_on & trains_otherwise).tolist())
