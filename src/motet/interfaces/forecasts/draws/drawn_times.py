"""Run times and start-ups of one possible future, drawn from what is known of the jobs. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from zlib import crc32

import numpy as np
from numpy.random import Generator

from motet.domain.arrays import Floats, Ints
from motet.domain.units import SECOND_US
from motet.estimate.run_times import RunTimeForecast
from motet.interfaces.forecasts.draws.start_up_times import StartUpTimes
from motet.interfaces.forecasts.remaining_work import LEAST_US, MeasuredRuns
from motet.live.jobs.attempt import MOVES
from motet.live.jobs.job import LiveJob
from motet.sim.replay.attempts.start_ups import StartUpTime


class DrawnTimes:
    """The same future draws the same for a job, also beside other jobs. Not for two threads."""

    def __init__(self, runs: MeasuredRuns, starts: StartUpTimes, seed: int, future: int) -> None:
        self._runs, self._starts, self._seed, self._future = runs, starts, seed, future
        self._weights_of: dict[Hashable, Floats] = {}

    def generator(self, *stream: int) -> Generator:
        """Of a stream of random numbers of this future."""
        return np.random.default_rng([self._seed, self._future, *stream])

    def rest_us(self, job: LiveJob, forecast: RunTimeForecast) -> int:
        """For how long a job will hold slots from now on, if it holds them; without the start-ups
        that follow."""
        shares = self.generator(job.number).random(2)
        rest_us = max(self.drawn_us(forecast, shares[0]) - self._runs.worked_us(job), LEAST_US)
        return rest_us + self._rest_of_start_us(job, shares[1])

    def _rest_of_start_us(self, job: LiveJob, share: float) -> int:
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
        return 0 if start_up is None else max(self.drawn_us(start_up, share) - took_us, 0)

    def drawn_us(self, forecast: RunTimeForecast, share: float) -> int:
        """The time within which this share of such jobs end, in this future."""
        weights = self._weights(forecast)
        return round(float(forecast.quantile(share, weights)) * SECOND_US)

    def start_ups(
        self, jobs: Mapping[int, LiveJob], numbers: Sequence[int], processes: Ints
    ) -> StartUpTime:
        """Of the starts of a simulation. `jobs`: those that are known, by number; `numbers`,
        `processes`: of all, by place."""
        generators: dict[int, Generator] = {}

        def time_us(place: int) -> int:
            number = numbers[place]
            has_run = place in generators or (number in jobs and bool(jobs[number].attempts))
            start_up = self._starts.forecast(int(processes[place]), is_first=not has_run)
            generator = generators.setdefault(place, self.generator(number, 1))
            return 0 if start_up is None else self.drawn_us(start_up, generator.random())

        return time_us

    def _weights(self, forecast: RunTimeForecast) -> Floats:
        """The same for all jobs that are predicted from the same jobs: that run times may have
        another distribution than those known matters most where many add up."""
        if forecast.basis not in self._weights_of:
            generator = self.generator(0, crc32(repr(forecast.basis).encode()))
            size = len(forecast.sample.times)
            self._weights_of[forecast.basis] = generator.exponential(size=size)
        return self._weights_of[forecast.basis]
