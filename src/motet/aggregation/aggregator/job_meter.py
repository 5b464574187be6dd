"""What an Aggregator measures of one job. Pure: times are arguments."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from statistics import median

LATEST = 64
"""Iterations that the median is taken of."""
ASSUMED_BYTES_PER_NS = 1
"""Of the first copy."""


class RecentCosts:
    """How long something takes, by what it is: the longest of late, which is forgotten slowly."""

    def __init__(self) -> None:
        self._costs_ns: dict[int, int] = {}

    def took(self, what: int, cost_ns: int) -> None:
        """It took so long now."""
        known_ns = self._costs_ns.get(what, 0)
        self._costs_ns[what] = max(cost_ns, (3 * known_ns + cost_ns) // 4)

    def expected_ns(self, what: int) -> int:
        """0: unknown."""
        return self._costs_ns.get(what, 0)


class CostsBySize(RecentCosts):
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


class JobMeter:
    """Durations of a job's iterations, CPU time of its tensors, and skew of its workers.

    `work_costs`: by tensor, how long its aggregation takes, waits included. `answer_costs`: by
    size, how long the copy of an answer takes.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.late = 0
        self.work_costs = RecentCosts()
        self.answer_costs = CostsBySize()
        self._last_end_ns: int | None = None
        self._durations_ns: deque[int] = deque(maxlen=LATEST)
        self._ends_ns: dict[int, dict[int, int]] = {}
        self._skew_ns: dict[int, int] = defaultdict(int)
        self._skews: dict[int, int] = defaultdict(int)
        self._cpu_ns: dict[int, int] = defaultdict(int)
        self._runs: dict[int, int] = defaultdict(int)
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
        return {n: self._cpu_ns[n] // runs for n, runs in self._runs.items() if runs}

    @property
    def skew_ns(self) -> Mapping[int, int]:
        """By rank, how long after the first worker its step ended, on average."""
        return {rank: self._skew_ns[rank] // count for rank, count in self._skews.items()}
