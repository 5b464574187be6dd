"""Which job's aggregation runs next within an Aggregator's cycle. Pure: times are arguments.

An iteration of a job is expected d = C / r after the one before. One that comes on time runs as
soon as the processor is free. One that comes late runs in this cycle only if enough of it is left
after what is still expected of other jobs, and only where it does not delay their next iteration;
else it waits for the next cycle. Source: the seed, section 4.3.3.2, "Handling outliers".

Departures: the seed reserves an amount of time. Work is not interrupted once it runs, so the time
before the next expected iteration counts too: a late tensor that needs more waits behind it. A job
whose iterations are shorter than C / r is not held back, so its next one may come D after the one
before; late work leaves that moment free too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from motet.aggregation.wire.aggregator_control import CycleShare

TOLERANCE = 0.1
"""An iteration is late by more than this share of its duration."""
DISTURBANCE = 0.02
"""Late work may delay an expected iteration by so much of its duration, before it makes room."""
OVERUSE = 2
"""An iteration that takes so many times its CPU time counts as late from then on."""
MOST_POSTPONED = 2
"""A step of which no work could run for so many cycles runs like one that came on time."""


class NextJob(NamedTuple):
    """`job`: whose first work runs now; None: none before `wake_ns` (None: before an event)."""

    job: int | None
    wake_ns: int | None = None


@dataclass
class _Rhythm:
    """A job's iterations here. `duration_ns`: C / r. `shortest_ns`: D. `expected_ns`: when the next
    one is. `is_exempt`: whether the rest of the step runs as if it had come on time.
    """

    duration_ns: int
    shortest_ns: int
    work_ns: int
    expected_ns: int | None = None
    step: int = 0
    spent_ns: int = 0
    is_late: bool = False
    is_exempt: bool = False
    waits_since_cycle: int | None = None
    is_postponed: bool = False

    @property
    def tolerance_ns(self) -> int:
        return int(self.duration_ns * TOLERANCE)

    @property
    def overdue_ns(self) -> int:
        """From when on the next iteration is late."""
        return (self.expected_ns or 0) + self.tolerance_ns + 1

    def is_overdue(self, now_ns: int) -> bool:
        return self.expected_ns is None or now_ns >= self.overdue_ns

    def is_disturbed(self, now_ns: int, cost_ns: int) -> bool:
        """Whether its next iteration may have to wait too long for work that begins now."""
        soonest_ns = (self.expected_ns or 0) - self.duration_ns + self.shortest_ns
        delay_ns = now_ns + cost_ns - max(soonest_ns, now_ns)
        return delay_ns > DISTURBANCE * self.shortest_ns


class CycleSchedule:
    """The cycle of one Aggregator; without one, work runs in the order of its arrival."""

    def __init__(self) -> None:
        self._cycle_ns = 0
        self._start_ns = 0
        self._rhythms: dict[int, _Rhythm] = {}
        self._postponed: list[int] = []

    def set_cycle(self, cycle_ns: int, shares: Sequence[CycleShare], now_ns: int) -> None:
        """Enforce a cycle from now on; what is known of jobs that stay is kept."""
        self._cycle_ns, self._start_ns = cycle_ns, now_ns
        before = self._rhythms
        self._rhythms = {}
        for share in shares:
            duration_ns = cycle_ns // max(share.runs, 1)
            shortest_ns = min(share.iteration_ns, duration_ns)
            rhythm = before.get(share.job) or _Rhythm(duration_ns, shortest_ns, share.work_ns)
            rhythm.duration_ns, rhythm.shortest_ns = duration_ns, shortest_ns
            rhythm.work_ns = share.work_ns
            rhythm.waits_since_cycle = None
            self._rhythms[share.job] = rhythm

    def arrived(self, job: int, step: int, now_ns: int) -> bool:
        """The first work of a job's step is ready; returns whether it is late."""
        rhythm = self._rhythms.get(job)
        if rhythm is None or step <= rhythm.step:
            return False
        rhythm.is_late = rhythm.expected_ns is not None and rhythm.is_overdue(now_ns)
        rhythm.step, rhythm.spent_ns = step, 0
        rhythm.is_exempt, rhythm.is_postponed, rhythm.waits_since_cycle = False, False, None
        rhythm.expected_ns = now_ns + rhythm.duration_ns
        return rhythm.is_late

    def ran(self, job: int, cost_ns: int, now_ns: int) -> None:
        """Work of a job has taken this time, and is done. Where it had to wait, the job's next
        iteration is expected so much later."""
        rhythm = self._rhythms.get(job)
        if rhythm is not None:
            rhythm.spent_ns += cost_ns
            rhythm.waits_since_cycle = None
            begins_ns = now_ns - rhythm.work_ns
            rhythm.expected_ns = max(rhythm.expected_ns or 0, begins_ns + rhythm.duration_ns)

    def choose(self, ready: Mapping[int, int], now_ns: int) -> NextJob:
        """`ready`: the expected cost of the first work of each job, in the order of arrival."""
        if not self._cycle_ns or not ready:
            return NextJob(next(iter(ready), None))
        for job in ready:
            if self.is_on_time(job, now_ns):
                return NextJob(job)
        wake_ns = self._cycle_end_ns(now_ns)
        for job, cost_ns in ready.items():
            obstacle_ns = self._obstacle_ns(job, cost_ns, now_ns)
            if obstacle_ns is None:
                return NextJob(job)
            wake_ns = min(wake_ns, obstacle_ns)
        return NextJob(None, max(wake_ns, now_ns + 1))

    def is_on_time(self, job: int, now_ns: int) -> bool:
        """Whether work of a job's step is never held back."""
        rhythm = self._rhythms.get(job)
        if rhythm is None or not self._cycle_ns:
            return True
        if self._postponed_cycles(rhythm, now_ns) >= MOST_POSTPONED:
            rhythm.is_exempt = True
        return rhythm.is_exempt or (
            not rhythm.is_late and rhythm.spent_ns < OVERUSE * rhythm.work_ns
        )

    def take_postponed(self) -> list[int]:
        """The jobs whose iterations were moved to the next cycle since the last call."""
        postponed, self._postponed = self._postponed, []
        return postponed

    def _obstacle_ns(self, job: int, cost_ns: int, now_ns: int) -> int | None:
        """None: late work can run now; else when to look again."""
        rhythm = self._rhythms[job]
        end_ns = self._cycle_end_ns(now_ns)
        others = [each for number, each in self._rhythms.items() if number != job]
        expected = [each for each in others if not each.is_overdue(now_ns)]
        disturbed = [each for each in expected if each.is_disturbed(now_ns, cost_ns)]
        if disturbed:
            self._begin_to_wait(rhythm, now_ns)
            return min(each.overdue_ns for each in disturbed)
        reserved_ns = sum(self._still_expected_ns(each, end_ns) for each in expected)
        if end_ns - now_ns - reserved_ns < cost_ns and not self._postponed_cycles(rhythm, now_ns):
            self._begin_to_wait(rhythm, now_ns)
            if not rhythm.is_postponed:
                rhythm.is_postponed = True
                self._postponed.append(job)
            return end_ns
        return None

    def _still_expected_ns(self, rhythm: _Rhythm, end_ns: int) -> int:
        """CPU time that expected iterations take before the end of the cycle."""
        expected_ns = rhythm.expected_ns
        if expected_ns is None or expected_ns >= end_ns:
            return 0
        whole, rest_ns = divmod(end_ns - expected_ns, rhythm.duration_ns)
        return whole * rhythm.work_ns + min(rest_ns, rhythm.work_ns)

    def _begin_to_wait(self, rhythm: _Rhythm, now_ns: int) -> None:
        if rhythm.waits_since_cycle is None:
            rhythm.waits_since_cycle = self._cycle(now_ns)

    def _postponed_cycles(self, rhythm: _Rhythm, now_ns: int) -> int:
        if rhythm.waits_since_cycle is None:
            return 0
        return self._cycle(now_ns) - rhythm.waits_since_cycle

    def _cycle(self, now_ns: int) -> int:
        return (now_ns - self._start_ns) // self._cycle_ns

    def _cycle_end_ns(self, now_ns: int) -> int:
        return self._start_ns + (self._cycle(now_ns) + 1) * self._cycle_ns
