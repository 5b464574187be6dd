"""Equal machines: the paper's O(N) form (Cruise, section III-C), in whole blocks.

    C(w) = K(w) (M / b) max(1, w / (N - w)) + C_proc D / w

with K(w) = ceil(D / (w B)) mini-batches if B is each worker's batch, and ceil(D / B) if it is that
of all workers. With both roles on each of n machines the exchange takes (M / b) (n - 1) / n.
"""

from __future__ import annotations

import numpy as np

from motet.cruise.search.problem import RoleMode
from motet.domain.arrays import Floats, Ints
from motet.estimate.epoch_cost import Fleet, Profile


def homogeneous_epochs(profile: Profile, fleet: Fleet, roles: RoleMode) -> tuple[Ints, Floats]:
    """Workers w = 1, 2, ... and the epoch with each, in seconds; all other machines serve."""
    machines = fleet.size if roles is RoleMode.BOTH else fleet.size - 1
    workers = np.arange(1, min(machines, profile.data_blocks) + 1)
    full_block_s = profile.block_bytes / fleet.bandwidth_bytes_per_s[0][0]
    servers = workers if roles is RoleMode.BOTH else fleet.size - workers
    blocks = -(-profile.data_blocks // workers)
    most, mean = _parts(profile, workers, blocks)
    block_s = full_block_s * most
    # Bytes of all workers on a server's link, relative to those of a worker with the most data.
    sharers = (workers - 1 if roles is RoleMode.BOTH else workers) * (mean / most)
    own_blocks = profile.model_blocks // servers if roles is RoleMode.BOTH else 0
    fullest = -(-profile.model_blocks // servers)
    exchange_s = block_s * np.maximum(fullest * sharers, profile.model_blocks - own_blocks)
    instances = blocks.astype(np.float64) * profile.block_instances
    comp_s = fleet.types[0].comp_s_per_instance * instances
    return workers, comp_s + profile.batches(instances) * exchange_s


def _parts(profile: Profile, workers: Ints, most_blocks: Ints) -> tuple[Floats, Floats]:
    """Exchanged fraction of the model: of a worker with the most data, and the mean."""
    most = profile.exchanged_part(most_blocks.astype(np.float64))
    least = profile.exchanged_part((profile.data_blocks // workers).astype(np.float64))
    full = profile.data_blocks % workers
    return most, np.where(full > 0, (full * most + (workers - full) * least) / workers, most)
