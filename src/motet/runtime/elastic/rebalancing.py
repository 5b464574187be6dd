"""Shares of the data that follow measured speeds, without swinging. Pure.

It acts on what lasts: a gain must show in some looks in a row, each at mini-batches that the others
have not seen, and be more than what noise makes of equal speeds. Every change doubles how many
looks that takes, until it has been calm for long: where speeds depend on shares (a host that may
use more CPU for a moment looks fast with little to do), shares must not swing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

LEAST_GAIN = 0.1
LOOK_BATCHES = 5
FIRST_LOOKS, MOST_LOOKS = 2, 64
_CALM = 4


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
        self._worth_it = 0
        self._needed = FIRST_LOOKS
        self._calm = 0

    def restart(self) -> None:
        """Shares or workers have changed: measure anew."""
        self._costs.clear()
        self._worth_it = 0

    def observe(self, worker: int, comp_s: float, comm_s: float, instances: int) -> None:
        """A mini-batch of one worker; one in which it computed nothing says nothing."""
        if instances:
            self._costs.setdefault(worker, []).append((comp_s, comm_s, instances))

    def decide(self, held: Mapping[int, int]) -> dict[int, int] | None:
        """How many data blocks each worker should have; `held`: has now. None: leave it so."""
        if any(len(self._costs.get(worker, ())) < LOOK_BATCHES for worker in held):
            return None
        look = self._look(held)
        wanted = shares(look.instance_s, sum(held.values()))
        self._costs.clear()
        if gain(held, wanted, look) < LEAST_GAIN:
            self._rest()
            return None
        self._worth_it += 1
        if self._worth_it < self._needed:
            return None
        self._worth_it, self._calm = 0, 0
        self._needed = min(2 * self._needed, MOST_LOOKS)
        return wanted

    def _rest(self) -> None:
        """One more look at shares that are right."""
        self._worth_it = 0
        self._calm += 1
        if self._calm >= _CALM * self._needed:
            self._needed, self._calm = max(self._needed // 2, FIRST_LOOKS), 0

    def _look(self, held: Mapping[int, int]) -> Look:
        costs = {worker: self._costs[worker] for worker in held}
        return Look(
            {worker: _mean_s(seen) for worker, seen in costs.items()},
            median(comm_s for seen in costs.values() for _, comm_s, _ in seen),
            sum(median(count for _, _, count in seen) for seen in costs.values()),
        )


def _mean_s(seen: Sequence[tuple[float, float, int]]) -> float:
    return sum(comp_s for comp_s, _, _ in seen) / sum(count for _, _, count in seen)


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
