"""Run times and start-ups of one possible future, drawn from what is known of the jobs. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from hashlib import blake2b
from itertools import count
from struct import pack
from zlib import crc32

import numpy as np
from numpy.random import Generator

from motet.domain.arrays import Floats, Ints
from motet.domain.units import SECOND_US
from motet.estimate.run_times import RunTimeCurve, RunTimeForecast
from motet.interfaces.forecasts.draws.start_up_times import StartUpTimes
from motet.interfaces.forecasts.remaining_work import LEAST_US, MeasuredRuns
from motet.live.jobs.attempt import MOVES
from motet.live.jobs.job import LiveJob
from motet.sim.replay.attempts.start_ups import StartUpTime

_RUN, _START, _START_UP = range(3)
"""What a job draws."""
_SHARE_BITS = 53


class DrawnTimes:
    """The same future draws the same for a job, also beside other jobs. Not for two threads."""

    def __init__(self, runs: MeasuredRuns, starts: StartUpTimes, seed: int, future: int) -> None:
        self._runs, self._starts, self._seed, self._future = runs, starts, seed, future
        self._weights_of: dict[Hashable, Floats] = {}
        self._curves: dict[Hashable, RunTimeCurve] = {}

    def generator(self, *stream: int) -> Generator:
        """Of a stream of random numbers of this future."""
        return np.random.default_rng([self._seed, self._future, *stream])

    def rest_us(self, job: LiveJob, forecast: RunTimeForecast) -> int:
        """For how long a job will hold slots from now on, if it holds them; without the start-ups
        that follow."""
        drawn_us = self.drawn_us(forecast, self._share(job.number, _RUN))
        rest_us = max(drawn_us - self._runs.worked_us(job), LEAST_US)
        return rest_us + self._rest_of_start_us(job)

    def _rest_of_start_us(self, job: LiveJob) -> int:
        """How long it takes until a job runs that is being started, or stopped in order to move."""
        last = job.attempts[-1] if job.attempts else None
        if last is None or last.ended_us is not None:
            return 0
        moves = last.stop_cause in MOVES
        if last.running_us is not None and not moves:
            return 0
        took_us = 0 if moves else max(self._runs.until_us - last.requested_us, 0)
        is_first = last.number == 1 and not moves
        start_up = self._starts.forecast(last.processes, is_first=is_first, took_us=took_us)
        if start_up is None:
            return 0
        return max(self.drawn_us(start_up, self._share(job.number, _START)) - took_us, 0)

    def drawn_us(self, forecast: RunTimeForecast, share: float) -> int:
        """The time within which this share of such jobs end, in this future."""
        key = forecast.basis, forecast.ran_s, forecast.unit_s
        if key not in self._curves:
            self._curves[key] = forecast.curve(self._weights(forecast))
        return round(float(self._curves[key].at(share)) * SECOND_US)

    def start_ups(
        self, jobs: Mapping[int, LiveJob], numbers: Sequence[int], processes: Ints
    ) -> StartUpTime:
        """Of the starts of a simulation. `jobs`: those that are known, by number; `numbers`,
        `processes`: of all, by place."""
        begun: dict[int, count[int]] = {}
        forecasts: dict[tuple[int, bool], RunTimeForecast | None] = {}

        def forecast(processes: int, *, is_first: bool) -> RunTimeForecast | None:
            key = processes, is_first
            if key not in forecasts:
                forecasts[key] = self._starts.forecast(processes, is_first=is_first)
            return forecasts[key]

        def time_us(place: int) -> int:
            number = numbers[place]
            has_run = place in begun or (number in jobs and bool(jobs[number].attempts))
            start_up = forecast(int(processes[place]), is_first=not has_run)
            which = next(begun.setdefault(place, count(_START_UP)))
            return 0 if start_up is None else self.drawn_us(start_up, self._share(number, which))

        return time_us

    def _share(self, job: int, what: int) -> float:
        """At least 0 and below 1. A random generator for each job would take most of the time."""
        key = pack("=4q", self._seed, self._future, job, what)
        hashed = int.from_bytes(blake2b(key, digest_size=8).digest())
        return float(hashed >> 64 - _SHARE_BITS) / (1 << _SHARE_BITS)

    def _weights(self, forecast: RunTimeForecast) -> Floats:
        """The same for all jobs that are predicted from the same jobs: that run times may have
        another distribution than those known matters most where many add up."""
        if forecast.basis not in self._weights_of:
            generator = self.generator(0, crc32(repr(forecast.basis).encode()))
            size = len(forecast.sample.times)
            self._weights_of[forecast.basis] = generator.exponential(size=size)
        return self._weights_of[forecast.basis]
