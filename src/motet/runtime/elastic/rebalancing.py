"""Shares of the data that follow measured speeds, without oscillation. Pure.

Shares change for a lasting gain only: it must show in several rounds in a row, each of mini-batches
that the others have not seen, and exceed what noise makes of equal speeds. Every change doubles the
number of rounds, until enough rounds without a gain halve it again: where speeds depend on shares
(a host that may use more CPU for a moment looks fast with little to do), shares must not oscillate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

LEAST_GAIN = 0.1
ROUND_BATCHES = 5
FEWEST_ROUNDS, MOST_ROUNDS = 2, 64
_QUIET_FACTOR = 4
"""So many times the needed rounds without a gain halve the needed rounds."""


class _Batch(NamedTuple):
    """One mini-batch of one worker."""

    comp_s: float
    comm_s: float
    instances: int


@dataclass(frozen=True)
class MeasuredRound:
    """The costs of some mini-batches.

    `instance_s`: seconds per instance of every worker; `comm_s`: of a mini-batch; `instances`: of a
    mini-batch, over all workers.
    """

    instance_s: Mapping[int, float]
    comm_s: float
    instances: float


class Rebalancer:
    """Decides on shares of the data by the costs of mini-batches."""

    def __init__(self) -> None:
        self._batches: dict[int, list[_Batch]] = {}
        self._rounds_with_gain = 0
        self._needed_rounds = FEWEST_ROUNDS
        self._quiet_rounds = 0

    def restart(self) -> None:
        """Shares or workers have changed: drop all measurements."""
        self._batches.clear()
        self._rounds_with_gain = 0

    def observe(self, worker: int, comp_s: float, comm_s: float, instances: int) -> None:
        """Add a mini-batch of one worker; one without instances is ignored."""
        if instances:
            self._batches.setdefault(worker, []).append(_Batch(comp_s, comm_s, instances))

    def decide(self, held: Mapping[int, int]) -> dict[int, int] | None:
        """How many data blocks each worker should have; None: no change.

        `held`: data blocks that each worker has now.
        """
        if any(len(self._batches.get(worker, ())) < ROUND_BATCHES for worker in held):
            return None
        measured = self._round(held)
        wanted = proportional_shares(measured.instance_s, sum(held.values()))
        self._batches.clear()
        if saved_part(held, wanted, measured) < LEAST_GAIN:
            self._end_quiet_round()
            return None
        self._rounds_with_gain += 1
        if self._rounds_with_gain < self._needed_rounds:
            return None
        self._rounds_with_gain, self._quiet_rounds = 0, 0
        self._needed_rounds = min(2 * self._needed_rounds, MOST_ROUNDS)
        return wanted

    def _end_quiet_round(self) -> None:
        """One more round in which the present shares were right."""
        self._rounds_with_gain = 0
        self._quiet_rounds += 1
        if self._quiet_rounds >= _QUIET_FACTOR * self._needed_rounds:
            self._needed_rounds = max(self._needed_rounds // 2, FEWEST_ROUNDS)
            self._quiet_rounds = 0

    def _round(self, workers: Iterable[int]) -> MeasuredRound:
        batches = {worker: self._batches[worker] for worker in workers}
        return MeasuredRound(
            {worker: _instance_s(of_worker) for worker, of_worker in batches.items()},
            median(batch.comm_s for of_worker in batches.values() for batch in of_worker),
            sum(median(batch.instances for batch in each) for each in batches.values()),
        )


def _instance_s(batches: Sequence[_Batch]) -> float:
    return sum(batch.comp_s for batch in batches) / sum(batch.instances for batch in batches)


def proportional_shares(instance_s: Mapping[int, float], blocks: int) -> dict[int, int]:
    """Blocks in proportion to speeds; at least one, since a worker without data is not measured."""
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


def saved_part(
    held: Mapping[int, int], wanted: Mapping[int, int], measured: MeasuredRound
) -> float:
    """The part of a mini-batch's time that other shares save if no worker helps another."""
    per_block = measured.instances / sum(held.values())

    def batch_s(counts: Mapping[int, int]) -> float:
        slowest_s = max(counts[worker] * measured.instance_s[worker] for worker in counts)
        return slowest_s * per_block + measured.comm_s

    before_s = batch_s(held)
    return 1 - batch_s(wanted) / before_s if before_s > 0 else 0.0
