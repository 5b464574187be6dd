"""Cruise's cost model: the epoch time of a parameter-server job under a configuration.

Cruise (Lee et al., ICDCS 2019, section III-B; the dissertation, chapter 3), for worker i, its share
of d_i instances, and servers j with m_j bytes of what a worker exchanges per mini-batch:

    C_i = C_proc_i d_i + k_i max(max_j m_j |w| / b_ij, sum_j m_j / b_ij),    C = max_i C_i

The first term of the inner maximum is a server's link, which all workers share, the second the
worker's own link. The number k_i of mini-batches is ceil(d_i / B) if B is the batch of each worker,
as in the paper, or ceil(D / B) for every worker if B counts the instances of all workers.

Departures: instances and model are divided into whole blocks, the units of migration. A machine
without blocks is idle. A machine with blocks of both tables has both roles; its exchange with
itself crosses no link.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.errors import BadInput

ROUNDING = 1e-9
"""Relative tolerance up to which mini-batches and blocks count as a whole number."""


@dataclass(frozen=True)
class Profile:
    """Work of a job per epoch, independent of the configuration.

    `batch_size`: B, in instances. `exchange_bytes`: bytes that one worker pulls and pushes per
    mini-batch. `data_blocks`, `model_blocks`: numbers of equal blocks of instances and model.
    `touched`: for jobs whose workers exchange only the model rows that their instances need, pairs
    of a share of the data, ascending up to 1, and the fraction of `exchange_bytes` that a worker
    with this share exchanges; empty: every worker exchanges all bytes.
    """

    instances: int
    batch_size: int
    exchange_bytes: float
    data_blocks: int
    model_blocks: int
    is_batch_global: bool = True
    touched: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        for name in ("instances", "batch_size", "data_blocks", "model_blocks"):
            _require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        _require(
            0 <= self.exchange_bytes < np.inf, "exchange_bytes", self.exchange_bytes, "0 or more"
        )

    @property
    def block_instances(self) -> float:
        """Instances per data block."""
        return self.instances / self.data_blocks

    @property
    def block_bytes(self) -> float:
        """Bytes that a worker exchanges per mini-batch with the server of one model block."""
        return self.exchange_bytes / self.model_blocks

    def exchanged_part(self, data_blocks: Floats) -> Floats:
        """The fraction of `exchange_bytes` that workers with this many data blocks exchange."""
        # If B is the batch of each worker, the mini-batch does not depend on the share.
        if not self.touched or not self.is_batch_global:
            return np.ones(len(data_blocks))
        shares, parts = np.array(self.touched).T
        least = np.maximum(data_blocks, 1) / self.data_blocks
        between: Floats = np.interp(np.log(least), np.log(shares), parts)
        return between

    @property
    def global_batches(self) -> int:
        """Mini-batches per epoch if B counts the instances of all workers."""
        return -(-self.instances // self.batch_size)

    def batches(self, instances: Floats) -> Floats:
        """Numbers of mini-batches of workers with this many instances."""
        if self.is_batch_global:
            return np.full(len(instances), float(self.global_batches))
        batches: Floats = np.ceil(instances / self.batch_size * (1 - ROUNDING))
        return batches


@dataclass(frozen=True)
class MachineType:
    """`count` equal machines. `comp_s_per_instance`: C_proc, COMP time per instance."""

    name: str
    count: int
    comp_s_per_instance: float

    def __post_init__(self) -> None:
        _require(self.count >= 0, f"count of {self.name}", self.count, "0 or more")
        _require(
            0 < self.comp_s_per_instance < np.inf,
            f"comp_s_per_instance of {self.name}",
            self.comp_s_per_instance,
            "above 0",
        )


@dataclass(frozen=True)
class Fleet:
    """The machines available to a job, by type.

    `bandwidth_bytes_per_s[t][u]`: effective bandwidth between a worker of type t and a server of
    type u, as measured from COMM.
    """

    types: tuple[MachineType, ...]
    bandwidth_bytes_per_s: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        _require(self.size >= 1, "machines", self.size, "at least 1")
        size = len(self.types)
        rows = self.bandwidth_bytes_per_s
        if [len(row) for row in rows] != [size] * size:
            raise BadInput(f"bandwidths: {size} types of machines need {size} rows of {size}")
        least = min(min(row) for row in rows)
        _require(least > 0, "bandwidth", least, "above 0 bytes/s")

    @classmethod
    def uniform(
        cls, machines: int, comp_s_per_instance: float, bandwidth_bytes_per_s: float
    ) -> Fleet:
        """A fleet of equal machines."""
        kind = MachineType("machine", machines, comp_s_per_instance)
        return cls((kind,), ((bandwidth_bytes_per_s,),))

    @property
    def size(self) -> int:
        """The number of machines."""
        return sum(kind.count for kind in self.types)

    @cached_property
    def counts(self) -> Ints:
        """Machines per type."""
        return np.array([kind.count for kind in self.types], dtype=np.int64)

    @cached_property
    def comp_s(self) -> Floats:
        """Seconds per instance, per type."""
        return np.array([kind.comp_s_per_instance for kind in self.types])

    @cached_property
    def bandwidths(self) -> Floats:
        """`(types, types)`; the worker's type is the row."""
        return np.array(self.bandwidth_bytes_per_s, dtype=np.float64)

    @cached_property
    def type_of(self) -> Ints:
        """The type of every machine; machines of a type are consecutive."""
        return np.repeat(np.arange(len(self.types)), self.counts)


@dataclass(frozen=True)
class Configuration:
    """Block counts of every machine of a fleet, in fleet order: data for workers, model for
    servers.

    `data_blocks[i]`, `model_blocks[i]`: blocks on machine i.
    """

    data_blocks: tuple[int, ...]
    model_blocks: tuple[int, ...]

    @property
    def worker_count(self) -> int:
        """|w|."""
        return sum(blocks > 0 for blocks in self.data_blocks)

    @property
    def server_count(self) -> int:
        """|s|."""
        return sum(blocks > 0 for blocks in self.model_blocks)


def even_shares(blocks: int, holders: int) -> tuple[int, ...]:
    """Blocks per holder, equal up to one; the first holders have more."""
    if holders == 0:
        return ()
    share, more = divmod(blocks, holders)
    return tuple(share + (place < more) for place in range(holders))


def epoch_s(profile: Profile, fleet: Fleet, configuration: Configuration) -> float:
    """C: the slowest worker's epoch. Raises BadInput unless every block is on exactly
    one machine.
    """
    return float(worker_epochs_s(profile, fleet, configuration).max())


def worker_epochs_s(profile: Profile, fleet: Fleet, configuration: Configuration) -> Floats:
    """C_i of every machine of the fleet, `(machines,)`; 0 for machines without a worker."""
    _check(profile, fleet, configuration)
    instances = np.array(configuration.data_blocks) * profile.block_instances
    is_worker = instances > 0
    comp_s = fleet.comp_s[fleet.type_of] * instances
    comm_s = profile.batches(instances) * exchange_s(profile, fleet, configuration)
    epochs_s: Floats = np.where(is_worker, comp_s + comm_s, 0.0)
    return epochs_s


def exchange_s(profile: Profile, fleet: Fleet, configuration: Configuration) -> Floats:
    """P_i: exchange time per mini-batch of the worker on each machine, in seconds,
    `(machines,)`.
    """
    held_bytes = np.array(configuration.model_blocks) * profile.block_bytes
    data_blocks = np.array(configuration.data_blocks, dtype=np.float64)
    part = np.where(data_blocks > 0, profile.exchanged_part(data_blocks), 0.0)
    crossing_s = held_bytes / fleet.bandwidths[np.ix_(fleet.type_of, fleet.type_of)]
    np.fill_diagonal(crossing_s, 0.0)
    # Traffic of a server with the worker on its machine does not cross its link.
    servers_link_s: Floats = (crossing_s * (part.sum() - part)).max(axis=1)
    workers_link_s: Floats = crossing_s.sum(axis=1) * part
    return np.maximum(servers_link_s, workers_link_s)


def _check(profile: Profile, fleet: Fleet, configuration: Configuration) -> None:
    held = {"data": configuration.data_blocks, "model": configuration.model_blocks}
    wanted = {"data": profile.data_blocks, "model": profile.model_blocks}
    for table, blocks in held.items():
        if len(blocks) != fleet.size:
            raise BadInput(f"{table} blocks of {len(blocks)} machines; there are {fleet.size}")
        if min(blocks) < 0 or sum(blocks) != wanted[table]:
            raise BadInput(f"{sum(blocks)} {table} blocks are placed; there are {wanted[table]}")


def _require(is_good: bool, name: str, value: object, limit: str) -> None:
    if not is_good:
        raise BadInput(f"{name}={value}: must be {limit}")
