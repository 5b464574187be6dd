"""The configuration of a job whose machines leave before any measurement."""

from __future__ import annotations

from collections.abc import Sequence

from motet.cruise.calibration.fleet_view import FleetView
from motet.estimate.epoch_cost import Configuration, Profile, even_shares


def configuration_with_kept_roles(profile: Profile, view: FleetView) -> Configuration:
    """The remaining machines keep their roles, with even shares.

    A role without a holder goes to a machine without a role if there is one, otherwise to a holder
    of the other role.
    """
    places = range(view.fleet.size)
    workers = [i for i in places if view.current.data_blocks[i]]
    servers = [i for i in places if view.current.model_blocks[i]]
    free = [i for i in places if i not in {*workers, *servers}]
    if not servers:
        servers = [free.pop() if free else workers[-1]]
        workers = [i for i in workers if i not in servers] or servers
    if not workers:
        workers = [free.pop() if free else servers[0]]
        servers = [i for i in servers if i not in workers] or workers
    return Configuration(
        _even_blocks(profile.data_blocks, workers, view.fleet.size),
        _even_blocks(profile.model_blocks, servers, view.fleet.size),
    )


def _even_blocks(blocks: int, holders: Sequence[int], machines: int) -> tuple[int, ...]:
    """Blocks of every machine; machines other than the holders have none."""
    held = dict(zip(holders, even_shares(blocks, len(holders)), strict=True))
    return tuple(held.get(place, 0) for place in range(machines))
