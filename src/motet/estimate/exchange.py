"""How long workers and parameter servers exchange a model, by who of them is on which machine.

Peng et al., EuroSys 2018, section 4.2: with p servers each holds S/p of a model of size S. In a
step every worker sends that much to every server and gets it back; what stays within a machine
costs next to nothing. On a machine with w_i of the w workers and p_i of the p servers, a server
exchanges S/p with w - w_i workers elsewhere, a worker with p - p_i servers elsewhere, and the
slowest of all decides.

Every worker and every server has a bandwidth of its own, as in Optimus' model: its share of a
machine's link, on machines that are full of workers and servers of this and other jobs. A whole
link for the job alone would make two machines worse than eight, which have more links.

A speed function's term of w/p is taken to hold where every worker and every server is on a machine
of its own: the slowest then exchanges S/p with max(w, p) others. Elsewhere, and nowhere longer, it
takes the part of that time that the slowest has of these others elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

WITHIN_A_MACHINE = 0.01
"""Of the time: through memory, a hundred times as fast as 1 Gbit/s. Our choice; so an exchange
always takes some time."""


class Gang(NamedTuple):
    """Workers and servers of a job, and the GPUs that one of them takes."""

    workers: int
    servers: int
    worker_gpus: int
    server_gpus: int


class Share(NamedTuple):
    """Of one machine. Parts of one that lies on several machines count on each of them."""

    workers: float
    servers: float


def exchange_factor(shares: Sequence[Share]) -> float:
    """The part of the time of an exchange with everybody on a machine of their own, up to 1.

    `shares`: of every machine; in all at least one worker and one server.
    """
    workers = sum(share.workers for share in shares)
    servers = sum(share.servers for share in shares)
    by_servers = max(workers - share.workers for share in shares if share.servers > 0)
    by_workers = max(servers - share.servers for share in shares if share.workers > 0)
    return max(max(by_servers, by_workers) / max(workers, servers), WITHIN_A_MACHINE)


def shares_of(counts: Sequence[int], gang: Gang) -> list[Share]:
    """Who is where, of a gang that has so many GPUs on each machine.

    Every machine has servers in proportion to its GPUs, whole ones: those that are left over go
    where most is missing, of equal machines to the first. Workers have the other GPUs. Servers that
    take no GPU go with the workers. Where no whole server fits, all are divided in proportion.
    """
    servers = _whole_servers(counts, gang)
    if sum(servers) < gang.servers:
        parts = [count / sum(counts) for count in counts]
        return [Share(gang.workers * part, gang.servers * part) for part in parts]
    return [
        Share((count - own * gang.server_gpus) / gang.worker_gpus, own)
        for count, own in zip(counts, servers, strict=True)
    ]


def _whole_servers(counts: Sequence[int], gang: Gang) -> list[int]:
    """By machine, no more than have room."""
    total = sum(counts)
    dealt = [gang.servers * count // total for count in counts]
    by_lack = sorted(
        (dealt[machine] * total - gang.servers * count, machine)
        for machine, count in enumerate(counts)
        if (dealt[machine] + 1) * gang.server_gpus <= count
    )
    for _, machine in by_lack[: gang.servers - sum(dealt)]:
        dealt[machine] += 1
    return dealt
