"""Work that trainings did while they held slots, in steps of their measured speeds. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from motet.domain.units import SECOND_US, seconds
from motet.estimate.colocation.group_time import SubtaskTimes, group_iteration_s
from motet.estimate.colocation.subtask_profile import SubtaskProfile
from motet.interfaces.forecasts.sizes.held_spans import HeldSpan
from motet.sim.workload.measured_work import KnownSpeeds, steps_per_s


class DoneWork:
    """Steps of one job by time. `whole`: in all of its spans."""

    def __init__(
        self, job: int, spans: Sequence[HeldSpan], speeds: Mapping[int, KnownSpeeds]
    ) -> None:
        self._job, self._own = job, speeds[job]
        self._spans = [(span, _speed(job, span, speeds)) for span in spans]
        self._begins_us = [span.from_us for span in spans]
        done = (seconds(span.to_us - span.from_us) * speed for span, speed in self._spans)
        self._before = [*accumulate(done, initial=0.0)]
        self.whole = self._before[-1]

    def until(self, at_us: int) -> float:
        """Steps that were done until then."""
        place = bisect_right(self._begins_us, at_us) - 1
        if place < 0:
            return 0.0
        span, speed = self._spans[place]
        return self._before[place] + seconds(min(span.to_us, at_us) - span.from_us) * speed

    def lost_us(self, from_us: int, to_us: int) -> float:
        """How much longer the work of this time took than at the speed after it."""
        after = next((speed for span, speed in self._spans if span.from_us >= to_us), None)
        if after is None:
            return 0.0
        did_us = (self.until(to_us) - self.until(from_us)) / after * SECOND_US
        return to_us - from_us - did_us

    def ahead(self, rest_us: int, until_us: int, roles: Mapping[str, int]) -> float:
        """Steps in a further time: at the speed that a running job has, else at that on its last
        size, or on its request."""
        if not self._spans:
            return seconds(rest_us) * steps_per_s(self._own, roles["workers"], roles["servers"])
        last, speed = self._spans[-1]
        if last.to_us < until_us:
            speed = _speed(self._job, replace(last, partners=()), {self._job: self._own})
        return seconds(rest_us) * speed


def _speed(job: int, span: HeldSpan, speeds: Mapping[int, KnownSpeeds]) -> float:
    """Steps per second, as the simulator has them."""
    numbers = (job, *span.partners)
    times = [_times(number, span, speeds.get(number)) for number in numbers]
    known = [each for each in times if each is not None]
    if len(known) == len(numbers):
        return 1 / group_iteration_s(known)
    alone = steps_per_s(speeds[job], span.workers, span.servers)
    if times[0] is not None:
        alone = 1 / group_iteration_s([times[0]])
    return alone / len(numbers)


def _times(job: int, span: HeldSpan, speeds: KnownSpeeds | None) -> SubtaskTimes | None:
    """COMP and COMM of an iteration of one of the jobs of a span; None: it has no profile."""
    if not isinstance(speeds, SubtaskProfile):
        return None
    times = speeds.at(span.workers)
    return times._replace(overlaps=True) if job in span.asynchronous else times
