"""Jobs that a dry run adds to the cluster: some arrive now, others when jobs before them end. Pure.

What the simulated cluster lets arrive, and when, is what the live one would: see HeldJobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from motet.domain.events import Submitted
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import NEVER_US
from motet.live.jobs.job import JobArray, LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.master.intake import intake
from motet.live.master.state import LiveState
from motet.live.master.submissions.submission import Submit, SubmitArray, arrival
from motet.live.trials.trial_spec import needs_trial, trial_of
from motet.sim.replay.simulation import Simulation


@dataclass(frozen=True, eq=False)
class NewJobs:
    """`arrivals`: how the engine gets each of `jobs`, and of the trial, by number. `most_open`: how
    many of them may be unfinished at a time; None: all. `after`: jobs that have to succeed before
    the first one. `trial`: the job that runs before all of `jobs`; None: there is none."""

    jobs: Mapping[int, LiveJob]
    arrivals: Mapping[int, Submitted]
    most_open: int | None
    after: frozenset[int]
    trial: LiveJob | None = None

    @classmethod
    def of(cls, state: LiveState, now_us: int, wanted: Submit | SubmitArray) -> NewJobs:
        """Raises BadInput as the submission would."""
        first = intake(state, now_us, wanted).reply
        assert isinstance(first, int)
        if isinstance(wanted, Submit):
            found, most_open = [LiveJob(first, wanted.spec, wanted.user, now_us)], None
        else:
            spec, user = wanted.spec, wanted.user
            array = JobArray(first, spec.name, user, now_us, spec.most_open)
            numbered = enumerate(spec.jobs, start=first + 1)
            found = [
                LiveJob(number, each, user, now_us, array=array, index=index)
                for number, (index, each) in numbered
            ]
            most_open = spec.most_open
        trial = _trial(state, now_us, found[0])
        arriving = [*([] if trial is None else [trial]), *found]
        arrivals = {job.number: arrival(state, now_us, job) for job in arriving}
        after = frozenset(_unfinished(state, found[0].spec.after))
        return cls({job.number: job for job in found}, arrivals, most_open, after, trial)

    @property
    def with_trial(self) -> Mapping[int, LiveJob]:
        """All that arrive, by number."""
        return self.jobs if self.trial is None else {self.trial.number: self.trial, **self.jobs}

    @property
    def arrive_now(self) -> int:
        """How many of `jobs` are not held."""
        if self.after or self.trial is not None:
            return 0
        return len(self.jobs) if self.most_open is None else min(self.most_open, len(self.jobs))

    def happened(self, now_us: int) -> list[tuple[int, Submitted]]:
        """The arrivals; those of held jobs are never, until Releases makes them."""
        times_us = [now_us] * self.arrive_now + [NEVER_US] * (len(self.jobs) - self.arrive_now)
        if self.trial is not None:
            times_us.insert(0, NEVER_US if self.after else now_us)
        return [*zip(times_us, self.arrivals.values(), strict=True)]

    def obstacle(self, state: LiveState) -> str:
        """Why it cannot be foreseen when they start or arrive; empty: it can."""
        if because := cluster_obstacle(state):
            return because
        for number in sorted(self.after):
            job = state.jobs[number]
            if job.is_held:
                return f"job {number} waits for other jobs itself"
            if job.is_suspended:
                return f"job {number} is suspended"
        return ""


def cluster_obstacle(state: LiveState) -> str:
    """Why nothing is predicted; empty: something is."""
    if state.refusal:
        return "the cluster is out of reach"
    return "the policy has failed" if state.policy_failure else ""


def _trial(state: LiveState, now_us: int, job: LiveJob) -> LiveJob | None:
    """The trial of a job, or of the array that begins with it."""
    spec = job.spec
    if not needs_trial(spec):
        return None
    return LiveJob(state.next_job, trial_of(spec), job.user, now_us, trial_s=spec.trial_s)


def _unfinished(state: LiveState, after: tuple[int, ...]) -> list[int]:
    """Jobs, also of arrays, that have not succeeded."""
    jobs = [job for number in after for job in state.jobs_of(number)]
    return [job.number for job in jobs if job.state is not JobState.SUCCEEDED]


class Releases:
    """Lets held jobs arrive in one simulation. `place_of`: its numbers of the jobs; those that are
    larger than the cluster have none."""

    def __init__(self, new: NewJobs, simulation: Simulation, place_of: Mapping[int, int]) -> None:
        self._simulation, self._most_open = simulation, new.most_open
        self._unmet = {place_of.get(number, UNKNOWN) for number in new.after}
        self._trial: Mapping[str, int] | None = None
        if new.trial is not None and not new.after:
            self._unmet = {place_of.get(new.trial.number, UNKNOWN)}
        elif new.trial is not None:
            self._trial = new.arrivals[new.trial.number].columns
            self._trial_place = place_of.get(new.trial.number, UNKNOWN)
        known = [number for number in new.jobs if number in place_of]
        self._own = {place_of[number] for number in known}
        self._held = [new.arrivals[number].columns for number in known[new.arrive_now :]][::-1]
        self._open, self._since_us = new.arrive_now, None if self._unmet else 0

    def finished(self, now_us: int, place: int) -> None:
        """A job has ended: it counts as a success."""
        self._unmet.discard(place)
        self._open -= place in self._own
        if self._unmet:
            return
        if self._trial is not None:
            self._simulation.release(now_us, {**self._trial})
            self._unmet, self._trial = {self._trial_place}, None
            return
        while self._held and (self._most_open is None or self._open < self._most_open):
            columns = self._held.pop()
            if self._since_us is None:
                self._since_us = now_us
            # All jobs of an array have the place in line of the first one that arrived.
            submit_us = self._since_us or columns["submit_us"]
            self._simulation.release(now_us, {**columns, "submit_us": submit_us})
            self._open += 1
