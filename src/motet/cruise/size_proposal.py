"""How many workers and servers a job would like to have, by Cruise's cost model. Pure.

Cruise (Lee et al., ICDCS 2019, section III) chooses roles for given machines. Here the number of
machines is free within bounds: the proposal is the smallest size whose epoch is within LEAST_GAIN
of the shortest one. So a job that has grown proposes no smaller size at once, and the reverse: the
present size stays unless another one gains LEAST_GAIN, or frees machines for less than that.
Machines count as equal, with the mean of the measured costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motet.cruise.decision import LEAST_GAIN, SizeProposal
from motet.cruise.search.homogeneous import homogeneous_epochs
from motet.cruise.search.problem import RoleMode
from motet.domain.reconfiguration import RoleCounts
from motet.estimate.epoch_cost import Fleet, Profile


@dataclass(frozen=True)
class SizeBounds:
    """The fewest and the most workers and servers; every machine has one role."""

    least: RoleCounts
    most: RoleCounts

    @property
    def sizes(self) -> range:
        """Numbers of machines."""
        return range(self.least.executors, self.most.executors + 1)


def propose_size(
    profile: Profile,
    fleet: Fleet,
    bounds: SizeBounds,
    now_s: float,
    overhead_s: float = 0.0,
    error: float = 0.0,
) -> SizeProposal | None:
    """A better size than the present machines of `fleet`, whose epoch takes `now_s`; None: none.

    `overhead_s`: of an epoch, beyond the cost model, equal for all sizes. `error`: bound of the
    relative error of an epoch; a larger size has to gain more than that.
    """
    comp_s = float(np.average(fleet.comp_s, weights=fleet.counts))
    bandwidth = float(np.average(fleet.bandwidths.mean(axis=1), weights=fleet.counts))
    best = {
        size: _best_roles(profile, Fleet.uniform(size, comp_s, bandwidth), bounds)
        for size in bounds.sizes
    }
    possible = {size: found for size, found in best.items() if found is not None}
    if not possible:
        return None
    shortest_s = min(epoch_s for _, epoch_s in possible.values()) + overhead_s
    size, (roles, epoch_s) = next(
        (size, found)
        for size, found in possible.items()
        if found[1] + overhead_s <= shortest_s / (1 - LEAST_GAIN)
    )
    proposal = SizeProposal(roles, fleet.size, now_s, epoch_s + overhead_s)
    if size > fleet.size:
        return proposal if proposal.gain >= max(LEAST_GAIN, error) else None
    return proposal if size < fleet.size and proposal.gain > -LEAST_GAIN else None


def _best_roles(
    profile: Profile, fleet: Fleet, bounds: SizeBounds
) -> tuple[RoleCounts, float] | None:
    """The roles with the shortest epoch on these machines; None: none are within the bounds."""
    workers, epochs_s = homogeneous_epochs(profile, fleet, RoleMode.SEPARATE)
    servers = fleet.size - workers
    least, most = bounds.least, bounds.most
    allowed = (workers >= least.workers) & (workers <= most.workers)
    allowed &= (servers >= least.servers) & (servers <= most.servers)
    if not allowed.any():
        return None
    place = int(np.argmin(np.where(allowed, epochs_s, np.inf)))
    return RoleCounts(int(workers[place]), int(servers[place])), float(epochs_s[place])
