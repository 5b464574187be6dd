"""What an Aggregator measures of one job. Pure: times are arguments."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Generic, TypeVar

LATEST = 64
"""Iterations that the median is taken of."""
ASSUMED_BYTES_PER_NS = 1
"""Of the first copy."""
_WEIGHT_OF_ANY = 1 << 14


What = TypeVar("What", bound=Hashable)


class RecentCosts(Generic[What]):
    """How long something takes, by what it is: the longest of late, which is forgotten slowly."""

    def __init__(self) -> None:
        self._costs_ns: dict[What, int] = {}

    def took(self, what: What, cost_ns: int) -> None:
        """It took so long now."""
        known_ns = self._costs_ns.get(what, 0)
        self._costs_ns[what] = max(cost_ns, (3 * known_ns + cost_ns) // 4)

    def expected_ns(self, what: What) -> int:
        """0: unknown."""
        return self._costs_ns.get(what, 0)


class CostsBySize(RecentCosts[int]):
    """Of copies, by their bytes: an unknown size costs as much as the next larger one, or its share
    of the largest. The first of a job is expected to cost what a slow copy does: with no cost it
    would run just before an iteration of another job."""

    def expected_ns(self, what: int) -> int:
        """Never 0, but for no bytes."""
        if what in self._costs_ns:
            return self._costs_ns[what]
        known = self._costs_ns.copy()  # Threads that answer add to it.
        if not known:
            return what // ASSUMED_BYTES_PER_NS
        largest = max(known)
        if what > largest:
            return known[largest] * what // max(largest, 1)
        return known[min(size for size in known if size > what)]


def shares(sizes_bytes: Sequence[int], cost_ns: int) -> list[int]:
    """Of each tensor in what they took together: by size, and a constant for each."""
    weights = [size_bytes + _WEIGHT_OF_ANY for size_bytes in sizes_bytes]
    total = sum(weights)
    return [cost_ns * weight // total for weight in weights]


@dataclass
class _JointCosts:
    """CPU time of tensors that are computed together, not shared out yet."""

    sizes_bytes: Sequence[int]
    cpu_ns: int = 0
    runs: int = 0


class JobMeter:
    """Durations of a job's iterations, CPU time of its tensors, and skew of its workers.

    `work_costs`: by key of a work, how long it takes, waits included. `answer_costs`: by
    size, how long the copy of an answer takes.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.late = 0
        self.work_costs = RecentCosts[Hashable]()
        self.answer_costs = CostsBySize()
        self._last_end_ns: int | None = None
        self._durations_ns: deque[int] = deque(maxlen=LATEST)
        self._ends_ns: dict[int, dict[int, int]] = {}
        self._skew_ns: dict[int, int] = defaultdict(int)
        self._skews: dict[int, int] = defaultdict(int)
        self._cpu_ns: dict[int, int] = defaultdict(int)
        self._runs: dict[int, int] = defaultdict(int)
        self._together: dict[tuple[int, ...], _JointCosts] = {}
        self._last_step = 0

    def finished(self, rank: int, step: int, ranks: Sequence[int], now_ns: int) -> None:
        """A worker has ended its step here."""
        if step <= self._last_step:
            return
        ends_ns = self._ends_ns.setdefault(step, {})
        ends_ns.setdefault(rank, now_ns)
        if not ends_ns.keys() >= set(ranks):
            return
        first_ns = min(ends_ns.values())
        for each, end_ns in ends_ns.items():
            self._skew_ns[each] += end_ns - first_ns
            self._skews[each] += 1
        if self._last_end_ns is not None:
            self._durations_ns.append(now_ns - self._last_end_ns)
        self._last_end_ns = now_ns
        self._last_step = step
        self.steps += 1
        for done in [each for each in self._ends_ns if each <= step]:
            del self._ends_ns[done]

    def computed(self, tensor: int, cpu_ns: int, *, is_end: bool) -> None:
        """The aggregation of a tensor took CPU time."""
        self._cpu_ns[tensor] += cpu_ns
        self._runs[tensor] += is_end

    def computed_together(
        self, tensors: tuple[int, ...], sizes_bytes: Sequence[int], cpu_ns: int
    ) -> None:
        """The aggregation and the step of small tensors took CPU time."""
        costs = self._together.setdefault(tensors, _JointCosts(sizes_bytes))
        costs.cpu_ns += cpu_ns
        costs.runs += 1

    @property
    def last_step(self) -> int:
        """The last step that ended here; 0: none."""
        return self._last_step

    @property
    def iteration_ns(self) -> int:
        """The median; 0: unknown."""
        return round(median(self._durations_ns)) if self._durations_ns else 0

    @property
    def tensor_ns(self) -> Mapping[int, int]:
        """Mean CPU time of each tensor's aggregation in an iteration."""
        self._settle()
        return {n: self._cpu_ns[n] // runs for n, runs in self._runs.items() if runs}

    def _settle(self) -> None:
        together, self._together = self._together, {}
        for tensors, costs in together.items():
            shares_ns = shares(costs.sizes_bytes, costs.cpu_ns)
            for tensor, share_ns in zip(tensors, shares_ns, strict=True):
                self._cpu_ns[tensor] += share_ns
                self._runs[tensor] += costs.runs

    @property
    def skew_ns(self) -> Mapping[int, int]:
        """By rank, how long after the first worker its step ended, on average."""
        return {rank: self._skew_ns[rank] // count for rank, count in self._skews.items()}
