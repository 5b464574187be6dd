"""Possible futures of the live cluster: simulations from its present state, with run times drawn
from what is known of the jobs. Pure, but for the time that simulating takes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from motet.domain.actions import Action, Start
from motet.domain.arrays import Floats
from motet.domain.decision import Decision
from motet.domain.events import Drained, Event, Finished
from motet.domain.snapshot import Snapshot
from motet.domain.units import SECOND_US
from motet.estimate.run_times import RunTimeForecast
from motet.interfaces.forecasts.new_jobs import NewJobs, Releases
from motet.interfaces.forecasts.remaining_work import LEAST_US, MeasuredRuns
from motet.interfaces.forecasts.replayed_period import PolicyInForce, ReplayedPeriod
from motet.interfaces.forecasts.simulation_start import SimulationStart
from motet.live.jobs.job import LiveJob
from motet.live.master.replay import ReplayedCluster
from motet.sim.replay.outcome import Outcome

Extreme: TypeAlias = Literal["at once", "never"]
"""When jobs end of whose run time nothing is known."""

FIRST_HORIZON_US = 3600 * SECOND_US
LONGEST_US = 4096 * FIRST_HORIZON_US
"""Half a year: what does not happen until then is unknown."""
_NEVER_US = 100 * LONGEST_US


@dataclass(eq=False)
class StartWatch:
    """A journal that notes when jobs start for the first time. `started`: Unix time by place.

    `releases`: hears of jobs that have ended.
    """

    started: dict[int, int] = field(default_factory=dict)
    releases: Releases | None = None

    def received(self, now_us: int, events: Sequence[Event]) -> None:
        """See Journal."""
        if self.releases is not None:
            for event in events:
                if isinstance(event, Finished):
                    self.releases.finished(now_us, event.job)

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """See Journal."""
        for action in actions:
            if isinstance(action, Start):
                self.started.setdefault(action.job, now_us)


@dataclass(frozen=True, eq=False)
class Future:
    """One of them. `starts_us`: the next starts of jobs that wait now, by number; a job without
    one does not start within the time that was simulated. `outcome`: of all, by place."""

    starts_us: Mapping[int, int]
    outcome: Outcome


class PossibleFutures:
    """Draws futures; the same number is the same future, also with a further job.

    `run_times`: of the active jobs, by number.
    """

    def __init__(
        self,
        live: ReplayedCluster,
        now_us: int,
        seed: int,
        submitted: NewJobs | None = None,
    ) -> None:
        """`now_us`: Unix time, at least that of the last step. `submitted`: further jobs."""
        state, engine = live.state, live.engine
        self._seed, self._now_us = seed, now_us
        self._weights_of: dict[tuple[int, Hashable], Floats] = {}
        self._bases: dict[Hashable, int] = {}
        self._start = SimulationStart.of(engine)
        rows = self._start.rows
        self._holds = frozenset(number for number, row in rows.items() if row["held_gpus"])
        self._jobs = {number: state.jobs[number] for number in rows}
        self._runs = MeasuredRuns.of(state.jobs.values(), now_us)
        happened: list[tuple[int, Event]] = []
        self._submitted = submitted
        if submitted is not None:
            self._jobs |= submitted.jobs
            happened += submitted.happened(now_us)
        happened += [
            (drain.from_us, Drained(state.machine(name)))
            for name, drain in sorted(state.drains.of.items(), key=lambda each: each[1].from_us)
            if not drain.has_begun
        ]
        predictor = self._runs.predictor(state.jobs.values())
        self.run_times: dict[int, RunTimeForecast | None] = {
            number: self._runs.forecast(predictor, job) for number, job in self._jobs.items()
        }
        self._period = ReplayedPeriod.of(
            self._start,
            happened,
            engine.state.cluster,
            state.queue_book.in_force,
            {number: job.user for number, job in self._jobs.items()},
            dict.fromkeys(self._jobs, LEAST_US),
            self._runs.start_up_us,
            PolicyInForce(state.policy.policy, dict(state.policy.settings)),
        )

    @property
    def jobs(self) -> tuple[int, ...]:
        """Their numbers, by place."""
        return self._period.jobs

    @property
    def unknown(self) -> tuple[int, ...]:
        """Jobs of whose run time nothing is known."""
        return tuple(sorted(each for each in self.jobs if self.run_times[each] is None))

    @property
    def are_equal(self) -> bool:
        """Whether all futures are the same: no run time is uncertain."""
        return all(each.is_exact for each in self.run_times.values() if each is not None)

    @property
    def waiting(self) -> frozenset[int]:
        """Jobs without slots that may get some."""
        return frozenset(self.jobs) - self._holds - self._start.state.suspended.keys()

    def drawn(self, number: int, unknown: Extreme) -> Iterator[Future]:
        """A future, simulated twice as far each time, until LONGEST_US."""
        watch, work_us = StartWatch(), self._work_us(number, unknown)
        period = self._period.with_work(work_us)
        simulation = period.simulation(period.in_force, watch)
        if self._submitted is not None:
            place_of = {job: place for place, job in enumerate(self.jobs)}
            watch.releases = Releases(self._submitted, simulation, place_of)
        horizon_us = FIRST_HORIZON_US
        while horizon_us <= LONGEST_US:
            outcome = simulation.run(until_us=self._now_us + horizon_us)
            starts_us = {self.jobs[place]: at_us for place, at_us in watch.started.items()}
            yield Future(starts_us, outcome)
            horizon_us *= 2

    def _work_us(self, future: int, unknown: Extreme) -> dict[int, int]:
        """Remaining times from the last step of the engine on."""
        passed_us = self._now_us - self._start.now_us
        found = {}
        for number, job in self._jobs.items():
            rest_us = self._rest_us(job, future, unknown)
            found[number] = rest_us + (passed_us if number in self._holds else 0)
        return found

    def _rest_us(self, job: LiveJob, future: int, unknown: Extreme) -> int:
        """Of a job, from now on."""
        forecast = self.run_times[job.number]
        if forecast is None:
            return LEAST_US if unknown == "at once" else _NEVER_US
        share = np.random.default_rng([self._seed, future, job.number]).random()
        weights = self._weights(future, forecast)
        total_us = round(float(forecast.quantile(share, weights)) * SECOND_US)
        return min(max(total_us - self._runs.run_us(job), LEAST_US), _NEVER_US)

    def _weights(self, future: int, forecast: RunTimeForecast) -> Floats | None:
        """The same for all jobs of a future that are predicted from the same jobs: that run times
        may have another distribution than those known matters most where many add up."""
        if forecast.is_exact:
            return None
        key = future, forecast.basis
        if key not in self._weights_of:
            stream = self._bases.setdefault(forecast.basis, len(self._bases))
            generator = np.random.default_rng([self._seed, future, 0, stream])
            self._weights_of[key] = generator.exponential(size=len(forecast.sample.times))
        return self._weights_of[key]
