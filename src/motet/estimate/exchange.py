"""Exchange time between workers and parameter servers as a function of their placement.

Peng et al., EuroSys 2018, section 4.2: with p servers each holds S/p of a model of size S. In a
step every worker sends S/p to every server and receives it back; traffic within a machine costs
almost nothing. On a machine with w_i of the w workers and p_i of the p servers, a server exchanges
S/p with w - w_i workers on other machines, a worker with p - p_i servers on other machines, and the
slowest of all determines the time.

Every worker and every server has its own bandwidth, as in Optimus' model: its share of a machine's
link, on machines that are full of workers and servers of this and other jobs. If the job had whole
links to itself, two machines would be worse than eight, which have more links.

A speed function's term of w/p is assumed to hold for one worker or server per machine: the slowest
then exchanges S/p with max(w, p) others. For other placements the exchange takes the fraction of
that time that corresponds to the slowest member's peers on other machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

WITHIN_A_MACHINE = 0.01
"""Relative to the time between machines: memory is taken as 100 times as fast as 1 Gbit/s. An
assumption; it keeps every exchange time above 0.
"""


class Gang(NamedTuple):
    """Workers and servers of a job, and the GPUs of each."""

    workers: int
    servers: int
    worker_gpus: int
    server_gpus: int


class Share(NamedTuple):
    """Workers and servers on one machine; fractional if one of them spans machines."""

    workers: float
    servers: float


def exchange_factor(shares: Sequence[Share]) -> float:
    """Exchange time relative to a placement with one member per machine, at most 1.

    `shares`: of every machine; in total at least one worker and one server.
    """
    workers = sum(share.workers for share in shares)
    servers = sum(share.servers for share in shares)
    by_servers = max(workers - share.workers for share in shares if share.servers > 0)
    by_workers = max(servers - share.servers for share in shares if share.workers > 0)
    return max(max(by_servers, by_workers) / max(workers, servers), WITHIN_A_MACHINE)


def gang_shares(counts: Sequence[int], gang: Gang) -> list[Share]:
    """Workers and servers on each machine of a gang with these GPU counts.

    Every machine gets whole servers in proportion to its GPUs: the remainder goes to the machines
    with the largest deficit, ties to the first. Workers take the other GPUs. Servers without GPUs
    follow the workers. If no whole server fits, all are divided in proportion.
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
    """Whole servers by machine, limited by its GPUs."""
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
