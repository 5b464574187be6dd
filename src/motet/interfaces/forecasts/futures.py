"""Possible futures of the live cluster: simulations from its present state, with run times,
start-ups and later submissions drawn from what is known. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Literal, TypeAlias

from motet.domain.events import Drained, Event, Submitted
from motet.domain.policy import JobInput
from motet.estimate.run_times import RunTimeForecast
from motet.interfaces.forecasts.draws.drawn_times import DrawnTimes
from motet.interfaces.forecasts.draws.future import (
    LONGEST_US,
    Check,
    Future,
    StartWatch,
    simulated_parts,
    unlimited,
)
from motet.interfaces.forecasts.draws.later_submissions import LatestSubmissions
from motet.interfaces.forecasts.draws.past_starts import PastStarts
from motet.interfaces.forecasts.draws.start_up_times import StartUpTimes
from motet.interfaces.forecasts.new_jobs import NewJobs, Releases
from motet.interfaces.forecasts.remaining_work import LEAST_US, MeasuredRuns
from motet.interfaces.forecasts.replayed_period import PolicyInForce, ReplayedPeriod
from motet.interfaces.forecasts.simulation_start import SimulationStart
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import TrainingSpec
from motet.live.master.policy_choice import policy_of
from motet.live.master.replay import ReplayedCluster
from motet.live.master.submissions.submission import arrival
from motet.live.time_limits.time_limit import left_us

Extreme: TypeAlias = Literal["at once", "never"]
"""When jobs end of whose run time nothing is known."""
_NEVER_US = 100 * LONGEST_US


class Foresight(Enum):
    """What a future contains. PRESENT: the jobs that there are now. LATER: submissions that may
    follow, too. DECLARED: as PRESENT, and what users declared is exact."""

    PRESENT = "present"
    LATER = "later"
    DECLARED = "declared"


class PossibleFutures:
    """Draws futures; the same number is the same future, also with a further job.

    `run_times`: of the active jobs, by number. `now_us`: Unix time.
    """

    def __init__(
        self,
        live: ReplayedCluster,
        now_us: int,
        seed: int,
        submitted: NewJobs | None = None,
        foresight: Foresight = Foresight.LATER,
    ) -> None:
        """`now_us`: Unix time, at least that of the last step. `submitted`: further jobs."""
        state = live.state
        self._live, self._seed, self.now_us = live, seed, now_us
        self._start = SimulationStart.of(live.engine)
        rows = self._start.rows
        self._holds = frozenset(number for number, row in rows.items() if row["held_gpus"])
        self._jobs = {number: state.jobs[number] for number in rows}
        self._runs = MeasuredRuns.of(state.jobs.values(), now_us)
        self._starts = StartUpTimes.of(state.jobs.values(), now_us)
        self._submitted = submitted
        self._happened = _ahead(live, submitted, now_us)
        if submitted is not None:
            self._jobs |= submitted.with_trial
        predictor = self._runs.predictor(state.jobs.values())
        is_exact = foresight is Foresight.DECLARED
        self.run_times: dict[int, RunTimeForecast | None] = {
            number: self._runs.forecast(predictor, job, is_exact=is_exact)
            if not job.trial_s
            else RunTimeForecast.exactly(min(job.spec.duration_s or job.trial_s, job.trial_s))
            for number, job in self._jobs.items()
        }
        self._period = self._period_with({})
        self._latest: LatestSubmissions | None = None
        self._later_run_times: dict[int, RunTimeForecast | None] = {}
        if foresight is Foresight.LATER and _may_be_overtaken(live):
            self._latest = LatestSubmissions.of(state, now_us)
            fresh = (replace(job, attempts=[]) for job in self._latest.jobs)
            forecasts = {job.number: self._runs.forecast(predictor, job) for job in fresh}
            self._later_run_times = forecasts

    @property
    def jobs(self) -> tuple[int, ...]:
        """Their numbers, by place."""
        return self._period.jobs

    @property
    def unknown(self) -> tuple[int, ...]:
        """Jobs of whose run time nothing is known, without those that never start."""
        may_run = {*self.jobs} - self.never_start.keys()
        return tuple(sorted(each for each in may_run if not self.is_known(each)))

    def is_known(self, job: int) -> bool:
        """Whether something is known of its run time."""
        return self.run_times[job] is not None

    def shares(self, job: int) -> bool:
        """Whether its run time depends on the trainings with which it will share machines."""
        spec = self._jobs[job].spec
        may_share = isinstance(spec, TrainingSpec) and spec.is_by_machine and spec.is_elastic
        return may_share and _shares_machines(self._live)

    @property
    def obstacle(self) -> str:
        """Why nothing can be foreseen; empty: it can."""
        if not any(map(self.shares, self.jobs)):
            return ""
        policy = self._live.state.policy.policy
        return f"{policy} shares machines by what trainings measure while they run"

    @property
    def are_equal(self) -> bool:
        """Whether all futures are the same: nothing in them is drawn."""
        if self._latest is not None or self._starts.take_time:
            return False
        return all(each.is_exact for each in self.run_times.values() if each is not None)

    @property
    def are_declared(self) -> bool:
        """Whether users told how long all of these jobs run of which anything is known."""
        return all(each.is_ratio for each in self.run_times.values() if each is not None)

    @property
    def keep_order(self) -> bool:
        """Whether a job that is submitted now delays none of the others: the policy starts jobs in
        their order, and takes nothing from those that run."""
        state = self._live.state
        chosen = policy_of(state.policy.policy, state.policy.settings)
        return chosen.keeps_requests and not _may_be_overtaken(self._live)

    @property
    def waiting(self) -> frozenset[int]:
        """Jobs without slots that may get some."""
        return frozenset(self.jobs) - self._holds - self._start.state.suspended.keys()

    @cached_property
    def never_start(self) -> Mapping[int, str]:
        """Why waiting jobs do not start however long they wait: those that are larger than all
        machines which take jobs, and those of queues on hold."""
        period, left = self._period, self._start.cluster.gpu_count - self._start.closed_slots
        jobs, queues = period.workload, period.queues
        columns = zip(period.jobs, jobs.gpus.tolist(), jobs.queue.tolist(), strict=True)
        waiting = [each for each in columns if each[0] not in self._holds]
        too_large = {job: self.closed for job, slots, _ in waiting if slots > left}
        on_hold = {
            job: f"queue {queues.names[queue]} is on hold"
            for job, _, queue in waiting
            if queues.limits[queue].is_held
        }
        return too_large | on_hold

    @property
    def closed(self) -> str:
        """How many slots are on machines that take no jobs, in words; empty: none."""
        state, closed = self._live.state, self._start.closed_slots
        drained = {state.machine(name) for name in state.drains.of if state.drains.has_begun(name)}
        if not closed:
            return ""
        machines = "drained machines"
        if not drained.issuperset(self._start.state.closed_machines):
            machines = "machines that are drained, closed or gone"
        are = "is" if closed == 1 else "are"
        return f"{closed} of {self._start.cluster.gpu_count} slots {are} on {machines}"

    def drawn(self, number: int, unknown: Extreme, check: Check = unlimited) -> Iterator[Future]:
        """A future, simulated further each time, until LONGEST_US or until nothing happens.

        Raises TooMuch, also for one in which the policy decides without end.
        """
        watch, times = StartWatch(check), DrawnTimes(self._runs, self._starts, self._seed, number)
        period = self._drawn_period(times, unknown)
        simulation = period.simulation(period.in_force, watch)
        simulation.take_time_to_start(
            times.start_ups(self._jobs, period.jobs, period.workload.gpus)
        )
        place_of = {job: place for place, job in enumerate(period.jobs)}
        if self._submitted is not None:
            watch.releases = Releases(self._submitted, simulation, place_of)
        places = [place_of[job] for job in self.jobs]
        return simulated_parts(
            simulation, watch, period.jobs, places, self.now_us, period.last_given_us
        )

    def _drawn_period(self, times: DrawnTimes, unknown: Extreme) -> ReplayedPeriod:
        """Remaining times count from the last step of the engine on."""
        passed_us, work_us = self.now_us - self._start.now_us, dict[int, int]()
        for number, job in self._jobs.items():
            rest_us = self._rest_us(job, times, unknown)
            work_us[number] = rest_us + (passed_us if number in self._holds else 0)
        later = [] if self._latest is None else [*self._later(self._latest, times)]
        return self._period_with(work_us, later) if later else self._period.with_work(work_us)

    def _rest_us(self, job: LiveJob, times: DrawnTimes, unknown: Extreme) -> int:
        """No longer than until the job's `max_duration`."""
        forecast, most_us = self.run_times[job.number], self._most_us(job)
        if forecast is None:
            return LEAST_US if unknown == "at once" else most_us
        return min(times.rest_us(job, forecast), most_us)

    def _most_us(self, job: LiveJob) -> int:
        return max(min(left_us(job, self.now_us), _NEVER_US), LEAST_US)

    def _later(self, latest: LatestSubmissions, times: DrawnTimes) -> Iterator[_Later]:
        """Those like jobs of which nothing is known are left out."""
        generator, first = times.generator(0, 0, 1), max(self._jobs, default=0) + 1
        for number, drawn in enumerate(latest.drawn(self.now_us, generator), first):
            share, forecast = generator.random(), self._later_run_times[drawn.like.number]
            if forecast is None:
                continue
            job = replace(drawn.like, number=number, attempts=[], array=None, progress=None)
            run_us = max(min(times.drawn_us(forecast, share), self._most_us(job)), LEAST_US)
            yield _Later(job, run_us, drawn.at_us, arrival(self._live.state, drawn.at_us, job))

    def _period_with(
        self, work_us: Mapping[int, int], later: Sequence[_Later] = ()
    ) -> ReplayedPeriod:
        """`work_us`: of jobs that have some left, by number."""
        state = self._live.state
        users = {number: job.user for number, job in self._jobs.items()}
        least_us = dict.fromkeys(self._jobs, LEAST_US)
        return ReplayedPeriod.of(
            self._start,
            [*self._happened, *((it.at_us, it.arrival) for it in later)],
            self._live.engine.state.cluster,
            state.queue_book.in_force,
            users | {each.job.number: each.job.user for each in later},
            least_us | {**work_us} | {each.job.number: each.run_us for each in later},
            PastStarts(),  # Replaced by drawn ones.
            PolicyInForce(state.policy.policy, dict(state.policy.settings)),
        )


@dataclass(frozen=True, slots=True)
class _Later:
    """A job that may follow, and how the engine gets it."""

    job: LiveJob
    run_us: int
    at_us: int
    arrival: Submitted


def _ahead(
    live: ReplayedCluster, submitted: NewJobs | None, now_us: int
) -> list[tuple[int, Event]]:
    """What is known to happen."""
    state = live.state
    drains = sorted(state.drains.of.items(), key=lambda each: each[1].from_us)
    return [
        *(submitted.happened(now_us) if submitted is not None else ()),
        *(
            (drain.from_us, Drained(state.machine(name)))
            for name, drain in drains
            if not drain.has_begun
        ),
    ]


def _may_be_overtaken(live: ReplayedCluster) -> bool:
    """Whether a job that waits may start later because others are submitted."""
    state = live.state
    chosen = policy_of(state.policy.policy, state.policy.settings)
    return state.queue_book.in_force.are_limited or not chosen.keeps_order


def _shares_machines(live: ReplayedCluster) -> bool:
    """Whether the policy may let trainings share machines, by what they measure."""
    chosen = policy_of(live.state.policy.policy, live.state.policy.settings)
    return JobInput.SUBTASKS in chosen.needed_inputs
