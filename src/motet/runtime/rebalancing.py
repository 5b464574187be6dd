"""Shares of the data that follow measured speeds, without swinging. Pure.

It acts on what lasts: a gain must show in two looks in a row, each at mini-batches that the other
has not seen, and be worth more than what noise makes of equal speeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

LEAST_GAIN = 0.1
LOOK_BATCHES = 5


@dataclass(frozen=True)
class Look:
    """What each worker took over some mini-batches.

    `instance_s`: seconds per instance; `comm_s`: of a mini-batch; `instances`: of a mini-batch,
    over all workers.
    """

    instance_s: Mapping[int, float]
    comm_s: float
    instances: float


class Rebalancer:
    """Told what mini-batches cost, it says when the data should be shared in another way."""

    def __init__(self) -> None:
        self._costs: dict[int, list[tuple[float, float, int]]] = {}
        self._was_worth_it = False

    def restart(self) -> None:
        """Shares or workers have changed: measure anew."""
        self._costs.clear()
        self._was_worth_it = False

    def observe(self, worker: int, comp_s: float, comm_s: float, instances: int) -> None:
        """A mini-batch of one worker; one in which it computed nothing says nothing."""
        if instances:
            self._costs.setdefault(worker, []).append((comp_s / instances, comm_s, instances))

    def decide(self, held: Mapping[int, int]) -> dict[int, int] | None:
        """How many data blocks each worker should have; `held`: has now. None: leave it so."""
        if any(len(self._costs.get(worker, ())) < LOOK_BATCHES for worker in held):
            return None
        look = self._look(held)
        wanted = shares(look.instance_s, sum(held.values()))
        is_worth_it = gain(held, wanted, look) >= LEAST_GAIN
        is_lasting, self._was_worth_it = is_worth_it and self._was_worth_it, is_worth_it
        self._costs.clear()
        return wanted if is_lasting else None

    def _look(self, held: Mapping[int, int]) -> Look:
        costs = {worker: self._costs[worker] for worker in held}
        return Look(
            {worker: median(each for each, _, _ in seen) for worker, seen in costs.items()},
            median(comm_s for seen in costs.values() for _, comm_s, _ in seen),
            sum(median(count for _, _, count in seen) for seen in costs.values()),
        )


def shares(instance_s: Mapping[int, float], blocks: int) -> dict[int, int]:
    """Blocks in proportion to speeds, at least one for everybody: who has none is not measured."""
    spare = blocks - len(instance_s)
    rate = sum(1 / each_s for each_s in instance_s.values())
    exact = {worker: max(blocks / each_s / rate - 1, 0.0) for worker, each_s in instance_s.items()}
    scale = spare / max(sum(exact.values()), 1e-300)
    whole = {worker: 1 + int(scale * wanted) for worker, wanted in exact.items()}
    missing = blocks - sum(whole.values())
    fractions = {worker: scale * exact[worker] + 1 - whole[worker] for worker in whole}
    for worker in sorted(whole, key=lambda one: (-fractions[one], one))[:missing]:
        whole[worker] += 1
    return whole


def gain(held: Mapping[int, int], wanted: Mapping[int, int], look: Look) -> float:
    """The part of a mini-batch's time that other shares would save if nobody helped anybody."""
    per_block = look.instances / sum(held.values())

    def batch_s(counts: Mapping[int, int]) -> float:
        slowest_s = max(counts[worker] * look.instance_s[worker] for worker in counts)
        return slowest_s * per_block + look.comm_s

    before_s = batch_s(held)
    return 1 - batch_s(wanted) / before_s if before_s > 0 else 0.0
